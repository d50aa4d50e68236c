"""Well-known files of programming problems as suites: HumanEval's and MBPP's rows, whoever wrote them.

Each row becomes a case whose answer is run against the row's tests; the row's own solution is the reference.
"""

from __future__ import annotations

import ast
import gzip
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from evalharness.domain.case import Case
from evalharness.domain.problem import FieldPath, Problem, field_text, quoted
from evalharness.domain.specification import GraderSpec
from evalharness.domain.suite import Suite
from evalharness.errors import Hint, InvalidFile
from evalharness.formats.parts import check_grader, kind_of
from evalharness.formats.problems import Findings
from evalharness.formats.tables.rows import only_list, row_problems
from evalharness.syntax import limits
from evalharness.syntax.source import Source, parse_text, read_text
from evalharness.values.variables import escape, has_braces

Preset = Literal["humaneval", "mbpp"]
Row = Mapping[str, Any]

PACKED = ".gz"
LINES = (".jsonl", ".ndjson")
MARKS = {"humaneval": ("canonical_solution", "entry_point", "test"), "mbpp": ("code", "test_list")}
"""Columns that only one of the presets has."""


class _Reader:
    """The fields of one row. What is wrong with one is reported, and something of its kind stands in for it."""

    def __init__(self, findings: Findings, position: int, row: Row) -> None:
        self.row = row
        self._findings = findings
        self._position = position

    def tell(self, field: str, message: str) -> None:
        self._findings.add((self._position, field), message)

    def text(self, field: str, default: str | None = None) -> str:
        found = default if self.row.get(field) is None else self.row[field]
        if isinstance(found, str):
            return found
        self.tell(field, "is missing" if found is None else f"must be text, not {kind_of(found)}")
        return ""

    def texts(self, field: str, default: list[str] | None = None) -> list[str]:
        found = default if self.row.get(field) is None else self.row[field]
        if not isinstance(found, list):
            self.tell(field, "is missing" if found is None else f"must be a list of texts, not {kind_of(found)}")
            return [""]
        if wrong := [item for item in found if not isinstance(item, str)]:
            self.tell(field, f"must be a list of texts, but contains {kind_of(wrong[0])}")
            return [""]
        return found

    def solution(self, field: str) -> str:
        found = self.text(field)
        if isinstance(self.row.get(field), str) and not found.strip():
            self.tell(field, "is empty, so the row has no solution")
        return found

    def id(self) -> str:
        found = self.row.get("task_id")
        if isinstance(found, str | int) and not isinstance(found, bool):
            if found == "":
                self.tell("task_id", "is empty")
            return str(found)
        self.tell("task_id", "is missing" if found is None else f"must be text or a number, not {kind_of(found)}")
        return ""


class Rows(Findings):
    """The rows of a file. Those on `unread_lines` are not in its data, but they are counted where a row is named."""

    def __init__(self, source: Source, unread_lines: Collection[int] = ()) -> None:
        super().__init__(source)
        self._unread_lines = frozenset(unread_lines)

    def add(self, path: FieldPath, message: str, **more: Any) -> None:
        super().add(path, message, **more)
        if self._unread_lines and path and isinstance(path[0], int):
            reported = self.problems.pop()
            position = path[0] + sum(line < reported.line for line in self._unread_lines)
            self.problems.append(replace(reported, field=field_text((position, *path[1:]))))


def read_rows(path: Path) -> Findings:
    """The rows of a JSONL or JSON file, plain or packed with gzip, and the problems of what is no row.

    Raises `InvalidFile` where nothing can be read.
    """
    is_packed = path.suffix.lower() == PACKED
    text, ending = (_unpacked(path), path.with_suffix("").suffix) if is_packed else (read_text(path), path.suffix)
    unread: tuple[Problem, ...] = ()
    try:
        source = parse_text(text, ending, path)
    except InvalidFile as error:
        if error.rest is None:
            raise
        source, unread = error.rest, error.problems
    is_lines = ending.lower() in LINES
    findings = Rows(only_list(source), [problem.line for problem in unread] if is_lines else ())
    findings.problems += [*unread, *row_problems(findings.source)]
    if not isinstance(findings.source.data, list):
        raise InvalidFile(findings.problems)
    return findings


def suite_from_preset(rows: Findings, preset: Preset, *, name: str, limit: int | None = None) -> Suite | None:
    """One case for each row; None where a row is wrong. The problems are added to those of the rows."""
    if not rows.source.data and not rows.problems:
        rows.add((), "the file has no rows")
    found: dict[str, dict[str, Any]] = {}
    strangers = []
    for position, row in enumerate(rows.source.data[:limit]):
        if not isinstance(row, Mapping):
            continue
        if _looks_like(row) not in (None, preset):
            strangers.append(position)
            continue
        fields = _fields(rows, preset, position, row)
        if fields["id"] and fields["id"] in found:
            rows.add((position, "task_id"), f"{quoted(fields['id'])} appears twice")
        found[fields["id"]] = fields
    if strangers:
        _tell_strangers(rows, strangers)
    rows.problems.sort(key=lambda problem: problem.line)
    if rows.has_errors:
        return None
    is_templated = has_braces(name) or any(map(has_braces, found.values()))
    cases = tuple(Case.model_validate(escape(fields) if is_templated else fields) for fields in found.values())
    return Suite(name=name, templated=is_templated, cases=cases)


def _fields(rows: Findings, preset: Preset, position: int, row: Row) -> dict[str, Any]:
    before = len(rows.problems)
    fields = PRESETS[preset](_Reader(rows, position, row))
    if len(rows.problems) == before:
        check_grader(rows, (position,), GraderSpec.model_validate(fields["expected"]))
    return fields


def _looks_like(row: Row) -> str | None:
    """The preset that most of the row's columns belong to; None if it cannot be determined."""
    marks = {preset: sum(mark in row for mark in own) for preset, own in MARKS.items()}
    best = max(marks.values())
    likely = [preset for preset, count in marks.items() if count == best]
    return likely[0] if len(likely) == 1 else None


def _tell_strangers(rows: Findings, positions: list[int]) -> None:
    """One problem for all of them: what they lack says nothing."""
    other = _looks_like(rows.source.data[positions[0]])
    are_all = len(positions) == len(rows.source.data)
    if are_all:
        rows.add((positions[0],), f"these rows look like {other}", hint=Hint("hint.use_preset", preset=other))
    else:
        others = f", and so do {len(positions) - 1} more" if len(positions) > 1 else ""
        rows.add((positions[0],), f"this row looks like {other}{others}: a file can only contain rows of one preset")


def _humaneval(row: _Reader) -> dict[str, Any]:
    prompt = row.text("prompt")
    return {
        "id": row.id(),
        "input": prompt,
        "reference": prompt + row.solution("canonical_solution"),
        "expected": _graded(row.text("test"), entry_point=row.text("entry_point"), prefix="prompt"),
    }


def _mbpp(row: _Reader) -> dict[str, Any]:
    """The tests are part of the question: only they tell what the function is called."""
    question = row.text("prompt" if "text" not in row.row and "prompt" in row.row else "text")
    code = row.solution("code")
    reported = row.texts("test_list")
    if not reported:
        row.tell("test_list", "has no tests")
    setup = [*row.texts("test_imports", default=[]), row.text("test_setup_code", default="")]
    tests = [*setup, *reported, *row.texts("challenge_test_list", default=[])]
    return {
        "id": row.id(),
        "input": "\n".join([question, "", "The code must pass these tests:", "", *reported]),
        "reference": code,
        "expected": _graded(
            "\n".join(text for text in tests if text.strip()) + "\n", entry_point=_tested_function(row, code, reported)
        ),
    }


def _graded(test: str, **options: str | None) -> dict[str, Any]:
    return {"kind": "code_tests", "options": {"test": test, **{k: v for k, v in options.items() if v is not None}}}


PRESETS: Mapping[str, Callable[[_Reader], dict[str, Any]]] = {"humaneval": _humaneval, "mbpp": _mbpp}


def _tested_function(row: _Reader, code: str, tests: list[str]) -> str | None:
    """The function of the solution that the first test calls, if it can be determined."""
    solution, first = _parsed(row, "code", code), _parsed(row, "test_list", "".join(tests[:1]))
    defined = {node.name for node in ast.walk(solution) if isinstance(node, ast.FunctionDef)}
    called = [node.func for node in ast.walk(first) if isinstance(node, ast.Call)]
    return next((name.id for name in called if isinstance(name, ast.Name) and name.id in defined), None)


def _parsed(row: _Reader, field: str, source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        row.tell(field, f"is not valid Python: {error}")
        return ast.Module(body=[], type_ignores=[])


def _unpacked(path: Path) -> str:
    """Never more than a file may hold, however small it was packed."""
    try:
        with gzip.open(path) as stream:
            content = stream.read(limits.MAX_CHARS + 1)
        if len(content) > limits.MAX_CHARS:
            problem = f"larger than {limits.MAX_CHARS // 1_000_000} MB when unpacked"
        else:
            return content.decode("utf-8")
    except UnicodeDecodeError:
        problem = "not UTF-8 text"
    except (OSError, EOFError, zlib.error) as error:
        problem = f"cannot be unpacked: {getattr(error, 'strerror', None) or error}"
    raise InvalidFile([Problem(str(path), 0, "", problem)])
