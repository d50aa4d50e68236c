"""The records of a task suite, in files and in Python: suite, task, expected file; results and their summary.

Everything that one value can be wrong in is checked here; what they become is decided in `reader.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel, to_snake

from evalharness import registry
from evalharness.domain.case import CaseFile, Name
from evalharness.domain.invalid_values import each_place_once, message_of
from evalharness.domain.problem import quoted
from evalharness.domain.record import Record
from evalharness.domain.report import CaseState
from evalharness.domain.specification import TargetSpec, Weight
from evalharness.domain.suite import Trials
from evalharness.values.json_value import Json

TaskCategory = Literal[
    "code_generation",
    "bug_fix",
    "refactoring",
    "code_review",
    "shell_command",
    "file_operation",
    "search_retrieval",
    "tool_use_sequence",
]
TASK_CATEGORIES: tuple[str, ...] = get_args(TaskCategory)


class TaskRecord(Record):
    """Read from camelCase or snake_case; `model_dump(by_alias=True)` gives camelCase."""

    model_config = ConfigDict(alias_generator=to_camel)


def _accepted_by(kind: str) -> AfterValidator:
    """One of what a grader takes as a list, checked where it stands."""

    def accepted(written: str) -> str:
        try:
            registry.load("grader", kind).Options.model_validate([written])
        except ValidationError as error:
            raise ValueError(message_of(next(each_place_once(error.errors())))) from None
        return written

    return AfterValidator(accepted)


class ExpectedFile(TaskRecord):
    """A file in the trial's workspace that must exist and, with `should_contain`, hold a text (in any case).

    May be written as its path alone.
    """

    path: Annotated[str, _accepted_by("files")]
    should_contain: str = ""

    @model_validator(mode="before")
    @classmethod
    def _bare_path(cls, written: Any) -> Any:
        return {"path": written} if isinstance(written, str) else written


class EvalTask(TaskRecord):
    id: Name
    category: TaskCategory
    description: str = ""
    prompt: str
    expected_patterns: tuple[Annotated[str, _accepted_by("expected_patterns")], ...] = ()
    expected_files: tuple[ExpectedFile, ...] = ()
    expected_exit_code: StrictInt | None = None
    expected_tool_sequence: Json = None
    """Tools by name or as {name, arguments}, in order; or {calls: […], mode: subsequence | exact | any_order}."""
    tool_sequence_mode: str = ""
    max_rounds: Annotated[StrictInt, Field(ge=0)] | None = None
    required_tools: tuple[Name, ...] = ()
    timeout_ms: Annotated[StrictFloat, Field(gt=0, allow_inf_nan=False)] | None = None
    files: dict[str, CaseFile] = Field(default_factory=dict)
    reference: Json = None
    tags: tuple[str, ...] = ()
    weight: Weight = 1.0
    metadata: dict[str, Json] = Field(default_factory=dict)

    @field_validator("id", mode="before")
    @classmethod
    def _numbers_are_names(cls, written: Any) -> Any:
        return str(written) if isinstance(written, int) and not isinstance(written, bool) else written

    @field_validator("id")
    @classmethod
    def _no_braces(cls, id_: str) -> str:
        if "{{" in id_:
            raise ValueError("must not contain {{")
        return id_

    @field_validator("expected_patterns", "expected_files", mode="before")
    @classmethod
    def _one_alone(cls, written: Any) -> Any:
        return (written,) if isinstance(written, str) else written

    @field_validator("tool_sequence_mode")
    @classmethod
    def _one_mode(cls, mode: str, info: ValidationInfo) -> str:
        sequence = info.data["expected_tool_sequence"]
        if mode and sequence is None:
            raise ValueError("says how to compare expectedToolSequence, which is missing")
        other = sequence.get("mode") if isinstance(sequence, Mapping) else None
        if mode and isinstance(other, str) and to_snake(other) != to_snake(mode):
            raise ValueError(f"{quoted(mode)} contradicts the mode {quoted(other)} of expectedToolSequence")
        return mode


class EvalSuite(TaskRecord):
    name: Name
    description: str = ""
    tasks: tuple[EvalTask, ...]
    target: TargetSpec | None = None
    targets: dict[str, TargetSpec] = Field(default_factory=dict)
    trials: Trials = 1


# The records of what became of a task suite: checks, results, the summary of a run, and how a score changed.


class CheckDetail(TaskRecord):
    """One thing that was checked, with what was expected and what was found."""

    check: str
    passed: bool
    expected: str = ""
    actual: str = ""


class ResponseScore(TaskRecord):
    passed: bool
    score: float
    details: tuple[CheckDetail, ...]


class RetrievalResult(TaskRecord):
    """What was retrieved for a query, by rank. Figures are None where nothing says which documents are right.

    `ranks` has the rank of each expected document in the whole list; None means that it was not retrieved.
    """

    query: str
    retrieved_count: int
    k: int | None = None
    hit_at_1: bool | None = None
    hit_at_k: bool | None = None
    recall: float | None = None
    precision_at_k: float | None = None
    mrr: float | None = None
    ndcg: float | None = None
    ranks: dict[str, int | None] = Field(default_factory=dict)


class EvalResult(TaskRecord):
    """One task, over all its trials: the mean score, sums of time, tokens and cost, the checks of the last trial.

    `score` is None where the task was judged, and nobody scored it.
    """

    task_id: str
    task_category: str
    passed: bool
    score: float | None
    duration_ms: float
    tokens_used: int = 0
    cost_usd: float = 0.0
    tool_calls_made: int = 0
    error: str | None = None
    details: tuple[CheckDetail, ...] = ()
    state: CaseState


class CategorySummary(TaskRecord):
    passed: int
    failed: int
    avg_score: float | None


class EvalRunSummary(TaskRecord):
    """`failed` counts wrong answers, `unjudged` what could not be judged; with `passed` they make the total."""

    run_id: str
    run_name: str
    suite_name: str
    timestamp: str
    total_tasks: int
    passed: int
    failed: int
    unjudged: int
    total_duration_ms: float
    total_cost_usd: float
    per_category: dict[str, CategorySummary] = Field(default_factory=dict)
    results: tuple[EvalResult, ...] = ()


class ScoreChange(TaskRecord):
    """A positive `delta` is a degradation."""

    degraded: bool
    delta: float


class RegressionCheck(TaskRecord):
    """A positive `delta` is a degradation."""

    task_id: str
    previous_score: float
    current_score: float
    degraded: bool
    delta: float
