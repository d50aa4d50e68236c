"""Well-known files of programming problems as suites: HumanEval's and MBPP's rows, whoever wrote them.

Each row becomes a case whose answer is run against the row's tests; the row's own solution is the reference.
"""

from __future__ import annotations

import ast
import gzip
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from evalharness.domain.case import Case
from evalharness.domain.problem import Problem, quoted
from evalharness.domain.specification import GraderSpec
from evalharness.domain.suite import Suite
from evalharness.domain.variables import escape, has_braces
from evalharness.errors import InvalidFile
from evalharness.formats.checking import check_grader, kind_of
from evalharness.formats.problems import Findings
from evalharness.formats.syntax import limits
from evalharness.formats.syntax.source import Source, parse_text, read_text
from evalharness.formats.tables.rows import rows_of

Preset = Literal["humaneval", "mbpp"]
Row = Mapping[str, Any]

PACKED = ".gz"
ENOUGH_PROBLEMS = 20


class _Wrong(Exception):
    """`field` of a row is not what it should be."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def read_rows(path: Path) -> Source:
    """A JSONL or JSON file, plain or packed with gzip; raises `InvalidFile` with every problem."""
    if path.suffix.lower() != PACKED:
        return rows_of(parse_text(read_text(path), path.suffix, path))
    return rows_of(parse_text(_unpacked(path), path.with_suffix("").suffix, path))


def suite_from_preset(
    source: Source, preset: Preset, *, name: str, limit: int | None = None
) -> tuple[Suite | None, Findings]:
    """One case for each row; None where a row is wrong."""
    findings = Findings(source)
    if not source.data:
        findings.add((), "the file has no rows")
    rows: dict[str, dict[str, Any]] = {}
    for position, row in enumerate(source.data[:limit]):
        if len(findings.problems) >= ENOUGH_PROBLEMS:
            findings.add((), f"stopped after {ENOUGH_PROBLEMS} problems; there may be more")
            break
        try:
            fields = PRESETS[preset](row)
        except _Wrong as wrong:
            findings.add((position, wrong.field), str(wrong))
            continue
        check_grader(findings, (position,), GraderSpec.model_validate(fields["expected"]))
        if fields["id"] in rows or not fields["id"]:
            findings.add(
                (position, "task_id"), "is empty" if not fields["id"] else f"{quoted(fields['id'])} comes twice"
            )
        rows[fields["id"]] = fields
    if findings.has_errors:
        return None, findings
    is_templated = has_braces(name) or any(map(has_braces, rows.values()))
    cases = tuple(Case.model_validate(escape(fields) if is_templated else fields) for fields in rows.values())
    return Suite(name=name, templated=is_templated, cases=cases), findings


def _humaneval(row: Row) -> dict[str, Any]:
    prompt = _text(row, "prompt")
    return {
        "id": _id(row),
        "input": prompt,
        "reference": prompt + _text(row, "canonical_solution"),
        "expected": _graded(_text(row, "test"), entry_point=_text(row, "entry_point"), prefix="prompt"),
    }


def _mbpp(row: Row) -> dict[str, Any]:
    """The tests are part of the question: only they tell what the function is called."""
    question = _text(row, "text" if "text" in row else "prompt")
    code = _text(row, "code")
    told = _texts(row, "test_list")
    if not told:
        raise _Wrong("test_list", "has no tests")
    setup = [*_texts(row, "test_imports", default=[]), _text(row, "test_setup_code", default="")]
    tests = [*setup, *told, *_texts(row, "challenge_test_list", default=[])]
    name = _tested_function(code, told)
    return {
        "id": _id(row),
        "input": "\n".join([question, "", "The code must pass these tests:", "", *told]),
        "reference": code,
        "expected": _graded("\n".join(text for text in tests if text.strip()) + "\n", entry_point=name),
    }


def _graded(test: str, **options: str | None) -> dict[str, Any]:
    return {"kind": "code_tests", "options": {"test": test, **{k: v for k, v in options.items() if v is not None}}}


PRESETS: Mapping[str, Callable[[Row], dict[str, Any]]] = {"humaneval": _humaneval, "mbpp": _mbpp}


def _tested_function(code: str, tests: list[str]) -> str | None:
    """The function of the solution that the first test calls, where that can be told."""
    try:
        defined = {node.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef)}
        first = ast.parse(tests[0])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _Wrong("code", f"or the first test is not Python: {error}") from None
    called = [node.func for node in ast.walk(first) if isinstance(node, ast.Call)]
    return next((name.id for name in called if isinstance(name, ast.Name) and name.id in defined), None)


def _id(row: Row) -> str:
    found = row.get("task_id")
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise _Wrong("task_id", "is missing" if found is None else f"must be text or a number, not {kind_of(found)}")
    return str(found)


def _text(row: Row, field: str, default: str | None = None) -> str:
    found = row.get(field, default)
    if not isinstance(found, str):
        raise _Wrong(field, "is missing" if found is None else f"must be text, not {kind_of(found)}")
    return found


def _texts(row: Row, field: str, default: list[str] | None = None) -> list[str]:
    found = row.get(field, default)
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise _Wrong(field, "is missing" if found is None else f"must be a list of texts, not {kind_of(found)}")
    return found


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
