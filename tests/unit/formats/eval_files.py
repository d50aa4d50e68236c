"""How the tests of eval files write and load them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.problem import Problem
from evalharness.domain.suite import Suite
from evalharness.formats.eval_harness.reader import load_eval_harness, looks_eval_harness
from evalharness.formats.native.reader import load_native, looks_native
from evalharness.syntax.source import read_source


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def load(path: Path) -> tuple[Suite | None, list[Problem]]:
    """Recognised by the file's content: exactly one of the two formats must accept it."""
    source = read_source(path)
    assert looks_native(source.data) != looks_eval_harness(source.data)
    suite, findings = (load_native if looks_native(source.data) else load_eval_harness)(source)
    return suite, findings.problems


def load_text(folder: Path, text: str, name: str = "evals.yaml") -> tuple[Suite | None, list[Problem]]:
    put(folder, {name: text})
    return load(folder / name)


def sound(folder: Path, text: str, name: str = "evals.yaml") -> Suite:
    suite, problems = load_text(folder, text, name)
    assert suite is not None, [str(problem) for problem in problems]
    return suite


def one_case(folder: Path, text: str, name: str = "evals.yaml") -> Case:
    [case] = sound(folder, text, name).cases
    return case


def told(folder: Path, text: str, name: str = "evals.yaml") -> list[str]:
    """The problems as a user reads them, with paths relative to the folder."""
    _, problems = load_text(folder, text, name)
    return [str(problem).replace(f"{folder}/", "") for problem in problems]


def grader(case: Case) -> tuple[str, Any]:
    assert case.expected is not None
    return case.expected.kind, case.expected.options
