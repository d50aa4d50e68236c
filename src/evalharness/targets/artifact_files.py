"""Files of artifacts: one artifact, a list, one per line, or {case id: artifact or list of artifacts}.

Each is read with the line where it begins; every problem of a file is reported at once. Which case an artifact belongs
to is found once, and looked up for every trial.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evalharness.documents.artifact import EvalArtifact, RecordingParts, parse_artifact, parse_recording_id, said
from evalharness.domain.problem import Problem
from evalharness.errors import InvalidFile, TrialSkipped
from evalharness.targets.answers import why_not_json

LINES = (".jsonl", ".ndjson")
ARTIFACT_KEYS = {"snapshot", "events", "runId", "caseId"}
MOST_PROBLEMS = 20
ADVICE = (
    "an artifact is {runId, snapshot, events}; a file contains one, a list of them, one per line, "
    "or {case id: artifact}"
)
_BETWEEN_VALUES = " \t\r\n,:"
_parse = json.JSONDecoder().raw_decode


class StoredArtifact(NamedTuple):
    """An artifact, and the line of its file where it begins."""

    artifact: EvalArtifact
    line: int


class _Written(NamedTuple):
    """What should be an artifact, and the case it is listed under, if it is."""

    line: int
    value: Any
    case_id: str = ""


class _Child(NamedTuple):
    """A value in a list or a mapping: where and on which line it begins, and its key."""

    start: int
    line: int
    key: str
    value: Any


class _NotJson(NamedTuple):
    line: int
    why: str


def read_artifacts(file: Path) -> list[StoredArtifact]:
    """Every artifact of a file; raises InvalidFile with every problem."""
    found: list[StoredArtifact] = []
    problems: list[Problem] = []
    for each in _values(_text(file), file.suffix.lower() in LINES):
        if isinstance(each, _NotJson):
            problems.append(Problem(str(file), each.line, "", f"is not JSON: {each.why}"))
            continue
        try:
            found.append(StoredArtifact(_parsed(each), each.line))
        except ValueError as error:
            problems.append(Problem(str(file), each.line, f"case {each.case_id}" if each.case_id else "", str(error)))
    if not found and not problems:
        problems.append(Problem(str(file), 0, "", "contains no artifact"))
    if problems:
        raise _invalid(file, problems)
    return found


def _invalid(file: Path, problems: list[Problem]) -> InvalidFile:
    more = len(problems) - MOST_PROBLEMS
    rest = [Problem(str(file), 0, "", f"… and {more:,} more like these")] if more > 0 else []
    error = InvalidFile([*problems[:MOST_PROBLEMS], *rest])
    error.hint = ADVICE
    return error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
    except ValueError as error:  # not UTF-8, or a path with a NUL character
        message = f"cannot be read: {error}"
    raise InvalidFile([Problem(str(file), 0, "", message)])


def _values(text: str, is_lines: bool) -> Iterator[_Written | _NotJson]:
    """One per line also where the first line alone is a value and the whole is none."""
    whole = _read(text)
    if isinstance(whole, _NotJson):
        is_lines = is_lines or not isinstance(_read(text.strip().partition("\n")[0]), _NotJson)
        yield from _lines(text) if is_lines else [whole]
        return
    start = _next_value(text, 0)
    line = text.count("\n", 0, start) + 1
    if isinstance(whole, list):
        yield from (_Written(child.line, child.value) for child in _children(text, start, line))
    elif isinstance(whole, Mapping) and not ARTIFACT_KEYS & whole.keys():
        for child in _children(text, start, line):
            is_list = isinstance(child.value, list)
            for trial in _children(text, child.start, child.line) if is_list else [child]:
                yield _Written(trial.line, trial.value, child.key)
    else:
        yield _Written(line, whole)


def _lines(text: str) -> Iterator[_Written | _NotJson]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            value = _read(line)
            yield value._replace(line=number) if isinstance(value, _NotJson) else _Written(number, value)


def _read(text: str) -> Any:
    """The value, or why there is none."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        return _NotJson(error.lineno, f"{error.msg} (column {error.colno})" if text.strip() else "it is empty")
    except RecursionError:
        return _NotJson(1, "nested too deeply")
    except ValueError as error:  # a number of 5,000 digits
        return _NotJson(1, str(error))


def _children(text: str, start: int, line: int) -> Iterator[_Child]:
    """What is in the list or mapping that begins at `start`, on `line`; the text has been found to be JSON."""
    is_list = text[start] == "["
    seen = start + 1
    while text[position := _next_value(text, seen)] not in "]}":
        key = ""
        if not is_list:
            key, end = _parse(text, position)
            position = _next_value(text, end)
        line += text.count("\n", seen, position)
        value, seen = _parse(text, position)
        yield _Child(position, line, key, value)
        line += text.count("\n", position, seen)


def _next_value(text: str, position: int) -> int:
    while text[position] in _BETWEEN_VALUES:
        position += 1
    return position


def _parsed(written: _Written) -> EvalArtifact:
    value = written.value
    if problem := why_not_json(value):
        raise ValueError(f"contains {problem}")
    if written.case_id and isinstance(value, Mapping):
        value = {**value, "case_id": written.case_id}
    return parse_artifact(value)


# Which artifacts are those of a case: found once, when a file has been read, and looked up for every trial.
#
# An artifact says where it belongs by its `caseId`, by the recordings it is linked to, or by a run id
# eval-<dataset>-<case>-<variant>. A `caseId` decides which case it is, not which dataset and variant.

RUN_ID = "eval-"
FAILED_RUN = "-error"
MOST_DASHES = 100
"""A run id with more of them means nothing: there would be too many ways to read it."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An artifact of a case; one without `variants` may be of any."""

    stored: StoredArtifact
    variants: frozenset[str]
    is_recorded: bool = False

    def is_of(self, variant: str) -> bool:
        return not variant or not self.variants or variant in self.variants


class ArtifactIndex:
    """`dataset` is the id of the dataset that is asked for; empty where any will do."""

    def __init__(self, artifacts: Iterable[StoredArtifact] = (), dataset: str = "") -> None:
        self.artifacts = tuple(artifacts)
        self.dataset = dataset
        is_alone = len(self.artifacts) == 1 and not self.says_its_case(self.artifacts[0].artifact)
        self._lone = self.artifacts if is_alone else ()
        """One alone that says nothing of its case answers whatever is asked."""
        self._sure: defaultdict[str, list[_Entry]] = defaultdict(list)
        self._by_run_id: defaultdict[str, list[_Entry]] = defaultdict(list)
        for stored in self.artifacts:
            self._add(stored)

    def of(self, case_id: str, variant: str = "") -> list[StoredArtifact]:
        """The artifacts of a case; several are those of its trials. Raises TrialSkipped where nobody can tell."""
        if sure := [entry.stored for entry in self._sure.get(case_id, ()) if entry.is_of(variant)]:
            return sure
        by_run = [entry.stored for entry in self._by_run_id.get(case_id, ()) if entry.is_of(variant)]
        if by_run:
            return by_run if self.dataset and variant else _of_one_run_id(by_run, case_id)
        return list(self._lone)

    def variants_of(self, case_id: str, *, recorded: bool = False) -> frozenset[str]:
        """The variants that artifacts of a case name; `recorded` leaves out what only a run id may mean."""
        entries = self._entries(case_id)
        return frozenset().union(*(entry.variants for entry in entries if entry.is_recorded or not recorded))

    def names_no_variant(self, case_id: str) -> list[StoredArtifact]:
        """Those of a case's artifacts that may be of any variant."""
        return [entry.stored for entry in self._entries(case_id) if not entry.variants]

    def _entries(self, case_id: str) -> list[_Entry]:
        return [*self._sure.get(case_id, ()), *self._by_run_id.get(case_id, ())]

    def says_its_case(self, artifact: EvalArtifact) -> bool:
        return bool(artifact.case_id or self._recordings(artifact)) or artifact.run_id.startswith(RUN_ID)

    def _add(self, stored: StoredArtifact) -> None:
        artifact = stored.artifact
        linked = self._recordings(artifact)
        meant = [parts for parts in linked if self.dataset in ("", parts.dataset_id)]
        if linked and not meant:  # it belongs to another dataset
            return
        for case_id in [artifact.case_id] if artifact.case_id else {parts.case_id for parts in meant}:
            named = {parts.variant_id for parts in meant if artifact.case_id or parts.case_id == case_id}
            by_run = (variant for case, variant in self._readings(artifact.run_id) if case == case_id)
            self._sure[case_id].append(_Entry(stored, frozenset(named or by_run), is_recorded=bool(named)))
        if not artifact.case_id and not linked:
            readings: defaultdict[str, set[str]] = defaultdict(set)
            for case_id, variant in self._readings(artifact.run_id):
                readings[case_id].add(variant)
            for case_id, variants in readings.items():
                self._by_run_id[case_id].append(_Entry(stored, frozenset(variants)))

    def _recordings(self, artifact: EvalArtifact) -> list[RecordingParts]:
        """What the ids of its recordings say of an artifact."""
        links = [event for event in artifact.events if event.get("type") == "recording:linked"]
        found = [parse_recording_id(said(link, "recordingId", "recording_id"), self.dataset) for link in links]
        return [parts for parts in found if parts is not None]

    def _readings(self, run_id: str) -> Iterator[tuple[str, str]]:
        """Every case and variant that a run id may name: dashes stand inside of ids too."""
        prefix = f"{RUN_ID}{self.dataset}-" if self.dataset else RUN_ID
        if not run_id.startswith(prefix) or run_id.count("-") > MOST_DASHES:
            return
        pieces = run_id.removeprefix(prefix).split("-")
        for first in (0,) if self.dataset else range(1, len(pieces)):
            for end in range(first + 1, len(pieces)):
                case_id, variant = "-".join(pieces[first:end]), "-".join(pieces[end:])
                yield from ((case_id, name) for name in {variant, variant.removesuffix(FAILED_RUN)})


def _of_one_run_id(stored: list[StoredArtifact], case_id: str) -> list[StoredArtifact]:
    """A run id that may be read in several ways is not guessed at."""
    run_ids = sorted({each.artifact.run_id for each in stored})
    if len(run_ids) > 1:
        raise TrialSkipped(
            f"several artifacts could belong to case {case_id}: {', '.join(run_ids[:3])}; "
            "name the target's dataset and variant, or give each artifact its caseId"
        )
    return stored
