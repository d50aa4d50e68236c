"""Files of artifacts: one artifact, a list, one per line, or {case id: artifact or list of artifacts}.

Each is read with the line where it begins; every problem of a file is told at once. To whom an artifact belongs is
decided in `artifact_index.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalharness.domain.artifact import EvalArtifact, parse_artifact
from evalharness.domain.problem import Problem
from evalharness.errors import InvalidFile
from evalharness.targets.answers import why_not_json

LINES = (".jsonl", ".ndjson")
ARTIFACT_KEYS = {"snapshot", "events", "runId", "caseId"}
MOST_PROBLEMS = 20
ADVICE = (
    "an artifact is {runId, snapshot, events}; a file holds one, a list of them, one per line, or {case id: artifact}"
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
        problems.append(Problem(str(file), 0, "", "holds no artifact"))
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
        raise ValueError(f"holds {problem}")
    if written.case_id and isinstance(value, Mapping):
        value = {**value, "case_id": written.case_id}
    return parse_artifact(value)
