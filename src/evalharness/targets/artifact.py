"""artifact: stored artifacts answer the cases; nothing is run.

The file holds one artifact, a list, one per line, or {case id: artifact}. Which case an artifact belongs to is said by
its `caseId`, by the key, by the recordings it is linked to, or by a run id eval-<dataset>-<case>-<variant>.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from evalharness.contracts import Services, Task
from evalharness.domain.artifact import EvalArtifact, parse_artifact, said
from evalharness.domain.artifact_answers import answer_of
from evalharness.domain.digest import digest, digest_file
from evalharness.domain.options import Options
from evalharness.domain.recording_ids import RecordingParts, parse_recording_id
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import TargetUnavailable, TrialSkipped
from evalharness.targets.answers import why_not_json
from evalharness.targets.part import TargetPart

RUN_ID = "eval-"


class ArtifactOptions(Options):
    """`case` names the one case that the file is about, whatever its artifacts say themselves."""

    main: ClassVar[str] = "file"

    file: str
    case: str = ""
    dataset: str = ""
    variant: str = ""


class ArtifactTarget(TargetPart):
    Options: ClassVar[type[Options]] = ArtifactOptions
    options: ArtifactOptions

    def __init__(self, options: ArtifactOptions, spec: TargetSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self._file: Path = services.root / options.file
        self.artifacts: list[EvalArtifact] = []

    def digest(self) -> str:
        return digest([super().digest(), digest_file(self._file) if self._file.is_file() else None])

    async def open(self) -> None:
        try:
            self.artifacts = await asyncio.to_thread(read_artifacts, self._file)
        except OSError as error:
            raise TargetUnavailable(f"{self.options.file} cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise TargetUnavailable(f"{self.options.file} holds no artifacts: {error}") from error

    async def answer(self, task: Task) -> Transcript:
        found = self.found(task)
        if not found:
            raise TrialSkipped(f"{self.options.file} holds no artifact of case {task.case.id}")
        if task.index >= len(found) > 1:
            raise TrialSkipped(f"{self.options.file} holds {len(found)} artifacts of case {task.case.id}, not more")
        return Transcript(**answer_of(found[task.index % len(found)]).given())

    def found(self, task: Task) -> list[EvalArtifact]:
        """The artifacts of a case; several are those of its trials, one after the other."""
        id_ = task.case.id
        if self.options.case:
            return self.artifacts if id_ == self.options.case else []
        if named := [artifact for artifact in self.artifacts if artifact.case_id == id_]:
            return named
        unnamed = [artifact for artifact in self.artifacts if not artifact.case_id]
        variant = self.options.variant or str(task.variant.get("id", ""))
        if linked := [each for each in unnamed if self._is_linked(each, id_, variant)]:
            return linked
        unlinked = [artifact for artifact in unnamed if not recordings(artifact)]
        if by_run := [each for each in unlinked if self._run_id_of(id_, variant).fullmatch(each.run_id)]:
            return self._of_one_run_id(by_run, id_)
        # One alone that says nothing of its case answers whatever is asked.
        return [each for each in unlinked if len(self.artifacts) == 1 and not each.run_id.startswith(RUN_ID)]

    def _is_linked(self, artifact: EvalArtifact, case_id: str, variant: str) -> bool:
        return any(
            parts.case_id == case_id
            and self.options.dataset in ("", parts.dataset_id)
            and variant in ("", parts.variant_id)
            for parts in recordings(artifact)
        )

    def _run_id_of(self, case_id: str, variant: str) -> re.Pattern[str]:
        ids = (self.options.dataset, case_id, variant)
        return re.compile(RUN_ID + "-".join(re.escape(id_) if id_ else ".+" for id_ in ids))

    def _of_one_run_id(self, artifacts: list[EvalArtifact], case_id: str) -> list[EvalArtifact]:
        """Dashes stand inside ids too, so a run id may be read in several ways: then nothing is guessed."""
        run_ids = sorted({artifact.run_id for artifact in artifacts})
        if len(run_ids) > 1:
            raise TrialSkipped(
                f"several artifacts may be those of case {case_id}: {', '.join(run_ids[:3])}; "
                "tell the target's dataset and variant, or give each artifact its caseId"
            )
        return artifacts


def recordings(artifact: EvalArtifact) -> list[RecordingParts]:
    """What the ids of its recordings say of an artifact."""
    links = [event for event in artifact.events if event.get("type") == "recording:linked"]
    ids = [said(event, "recordingId", "recording_id") for event in links]
    found = [parse_recording_id(id_) for id_ in ids if isinstance(id_, str)]
    return [parts for parts in found if parts is not None]


def read_artifacts(file: Path) -> list[EvalArtifact]:
    """Every artifact of a file; raises ValueError, naming the place, for what is none."""
    found = list(_parsed(_values(file.read_text(encoding="utf-8"))))
    if not found:
        raise ValueError("it is empty")
    return found


def _values(text: str) -> Iterator[tuple[str, Any]]:
    """Each value that should be an artifact, with its place: an index, a line or the id of its case."""
    try:
        value = json.loads(text)
    except ValueError:
        yield from _lines(text)
        return
    if isinstance(value, list):
        yield from ((f"element {index}", item) for index, item in enumerate(value))
    elif isinstance(value, Mapping) and not {"snapshot", "events"} & value.keys():
        for id_, named in value.items():
            trials = named if isinstance(named, list) else [named]
            yield from ((f"case {id_}", _with_case(trial, id_)) for trial in trials)
    else:
        yield "it", value


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {number} is not JSON: {error}") from None


def _with_case(value: Any, id_: str) -> Any:
    return {**value, "case_id": id_} if isinstance(value, Mapping) else value


def _parsed(values: Iterable[tuple[str, Any]]) -> Iterator[EvalArtifact]:
    for place, value in values:
        if problem := why_not_json(value):
            raise ValueError(f"{place} holds {problem}")
        try:
            yield parse_artifact(value)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
