"""Workflow datasets in Python: load and check one, look at what a run of a workflow left behind, assert and score.

Keys of files stay as they are written (`workflowName`, `nodeId`); names in Python are in snake_case. Running a dataset
is not done here: `evalharness.evaluate("dataset.json", target)` does it, as for every other suite.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from pydantic import BaseModel

from evalharness.contracts.model import Llm
from evalharness.contracts.store import JudgeCache
from evalharness.documents.artifact import (
    Artifact,
    EvalArtifact,
    RecordingParts,
    RunSnapshot,
    generate_recording_id,
    parse_recording_id,
)
from evalharness.documents.artifact_view import ArtifactView, create_artifact_view
from evalharness.documents.assertions import Assertion, AssertionResult, evaluate_assertions
from evalharness.documents.recording import ProviderRecording, RecordingMetadata, RecordingStore
from evalharness.documents.scores import (
    Algorithm,
    Score,
    Scorer,
    SimilarityScorer,
    create_cost_scorer,
    create_latency_scorer,
    create_tokens_scorer,
    made_scorer,
)
from evalharness.documents.scores import create_similarity_scorer as create_plain_similarity_scorer
from evalharness.domain.problem import Problem
from evalharness.domain.suite import Variant
from evalharness.errors import DatasetValidationError, InvalidFile
from evalharness.formats.workflow_datasets.reader import check_dataset, repeated_ids
from evalharness.formats.workflow_datasets.records import EvalCase, EvalDataset
from evalharness.graders.judges.question import InMemoryCache, cache_key
from evalharness.harness import run_sync
from evalharness.settings import Settings
from evalharness.steps.judge_outputs import OutputJudge
from evalharness.syntax.source import Source, parse_text, read_source
from evalharness.values.json_value import MISSING, Json

__all__ = [
    "ArtifactView",
    "Assertion",
    "AssertionResult",
    "DatasetIssue",
    "DatasetValidationError",
    "EvalArtifact",
    "EvalCase",
    "EvalDataset",
    "EvalVariant",
    "JudgeCache",
    "LlmJudgeScorer",
    "ProviderRecording",
    "RecordingMetadata",
    "RecordingParts",
    "RecordingStore",
    "RunSnapshot",
    "RuntimeEvent",
    "Score",
    "Scorer",
    "ValidationResult",
    "Variant",
    "create_artifact_view",
    "create_cost_scorer",
    "create_in_memory_cache",
    "create_latency_scorer",
    "create_llm_judge_scorer",
    "create_similarity_scorer",
    "create_tokens_scorer",
    "discover_datasets",
    "evaluate_assertions",
    "generate_judge_cache_key",
    "generate_recording_id",
    "load_dataset",
    "load_dataset_from_file",
    "parse_recording_id",
    "validate_dataset",
]

EvalVariant = Variant


class RuntimeEvent(TypedDict, total=False):
    """One event, such as `agent:complete`; which other keys it has depends on its type."""

    type: str
    timestamp: float
    nodeId: str


@dataclass(frozen=True, slots=True)
class DatasetIssue:
    """`path` leads to the place with dots (`cases.0.id`); `file` and `line` are there for what was read from a file."""

    path: str
    message: str
    line: int = 0
    file: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (place, self.path, self.message) if part)


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """Warnings make nothing invalid."""

    errors: tuple[DatasetIssue, ...]
    warnings: tuple[DatasetIssue, ...]

    @property
    def valid(self) -> bool:
        return not self.errors


def load_dataset(data: Any) -> EvalDataset:
    """A dataset from JSON data; raises DatasetValidationError with every issue."""
    dataset, errors, _ = _check(data)
    if dataset is None:
        raise DatasetValidationError(errors)
    return dataset


def load_dataset_from_file(path: str | Path) -> EvalDataset:
    """A dataset from a JSON or YAML file; the issues know their lines."""
    try:
        dataset, findings = check_dataset(read_source(Path(path)))
    except InvalidFile as error:
        raise DatasetValidationError(_issues(error.problems, "error", of_file=True)) from None
    if dataset is None:
        raise DatasetValidationError(_issues(findings.problems, "error", of_file=True))
    return dataset


def validate_dataset(data: Any) -> ValidationResult:
    """What is wrong with a dataset, whatever the object: data that is no JSON is one more thing that can be wrong."""
    _, errors, warnings = _check(data)
    return ValidationResult(errors, warnings)


def discover_datasets(folder: str | Path) -> list[Path]:
    """The JSON files of a folder, hidden ones and those below it left out; none where there is no such folder."""
    return sorted(path for path in Path(folder).glob("*.json") if path.is_file() and not path.name.startswith("."))


def create_similarity_scorer(
    output_path: str = MISSING, expected_value: Json = MISSING, algorithm: Algorithm = "exact", **spelled: Any
) -> SimilarityScorer:
    """`semantic` compares meanings offline, as `local/wordllama` sees them; in a run it asks the model that is set."""
    if algorithm != "semantic":
        return create_plain_similarity_scorer(output_path, expected_value, algorithm, **spelled)
    # Lazy: what is compared by its letters needs no model.
    from evalharness.llms.local_embeddings import OfflineSimilarityScorer

    given = {"output_path": output_path, "expected_value": expected_value, "algorithm": algorithm}
    return made_scorer(OfflineSimilarityScorer, given, spelled)


class LlmJudgeScorer(OutputJudge):
    """Scores like the others do, also in a list with them; a model is asked when it is enabled."""

    def score(self, artifact: Artifact) -> Score:
        return run_sync(self.judged(artifact))


def create_llm_judge_scorer(
    output_path: str = MISSING,
    criteria: str | Sequence[str] = MISSING,
    *,
    model: str | Llm = "",
    cache: JudgeCache | None = None,
    enabled: bool = False,
    settings: Settings | None = None,
    **spelled: Any,
) -> LlmJudgeScorer:
    """Raises UsageError for criteria that are none, or whose weights do not add up.

    `settings` replace the environment and the `.env` file, which are read once, here.
    """
    given = {"output_path": output_path, "criteria": criteria, "model": model, "cache": cache, "enabled": enabled}
    return made_scorer(LlmJudgeScorer, {**given, "settings": settings or Settings.here()}, spelled)


def create_in_memory_cache() -> JudgeCache:
    """Verdicts for as long as the program runs; those of a run are kept in its store."""
    return InMemoryCache()


def generate_judge_cache_key(path: str, criteria: str, value: Json, *, model: str = "", prompt: str = "") -> str:
    """`judge:` and a SHA-256. Without the model, and the prompt if it may change, one gets the verdicts of another."""
    return cache_key("python", path, criteria, json.dumps(value, sort_keys=True, default=str), model, prompt)


def _check(data: Any) -> tuple[EvalDataset | None, tuple[DatasetIssue, ...], tuple[DatasetIssue, ...]]:
    try:
        source = _as_source(data)
    except InvalidFile as error:
        return None, _issues(error.problems, "error"), ()
    dataset, findings = check_dataset(source)
    warnings = _issues(findings.problems, "warning")
    return dataset, _issues(findings.problems, "error"), (*warnings, *_repetitions(source.data))


def _as_source(data: Any) -> Source:
    """The data as a file would hold it, so that both are checked alike."""
    place = Path("dataset")
    try:
        text = json.dumps(data, default=_plain, indent=0)
    except (TypeError, ValueError, RecursionError) as error:
        message = str(error) if isinstance(error, TypeError | ValueError) else "nested too deeply"
        raise InvalidFile([Problem(str(place), 0, "", f"is not JSON: {message}")]) from None
    return parse_text(text, ".json", place)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of type {type(value).__name__}")


def _repetitions(data: Any) -> tuple[DatasetIssue, ...]:
    """As documented, a repeated id is listed among the warnings as well; `validate` tells it once."""
    cases: Any = data.get("cases") if isinstance(data, Mapping) else None
    return tuple(
        DatasetIssue(f"cases.{index}.id", f"duplicate case id: {cases[index]['id']}")
        for index, _ in repeated_ids(cases)
    )


def _issues(problems: Iterable[Problem], severity: str, *, of_file: bool = False) -> tuple[DatasetIssue, ...]:
    return tuple(
        DatasetIssue(_dotted(problem.field), _message_of(problem), *((problem.line, problem.file) if of_file else ()))
        for problem in problems
        if problem.severity == severity
    )


def _dotted(field: str) -> str:
    return re.sub(r"\[(\d+)\]", r".\1", field).lstrip(".")


def _message_of(problem: Problem) -> str:
    """The message with what is allowed and what was meant, but not the place; other places as `path` writes them."""
    alone = Problem("", 0, "", problem.message, problem.allowed, problem.suggestion)
    return re.sub(r"\b(cases|variants)\[(\d+)\]", r"\1.\2", str(alone))
