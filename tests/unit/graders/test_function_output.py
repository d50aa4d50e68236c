from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts import Grader
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec

FACTORIAL = {
    "type": "function_output",
    "executor": "python",
    "function_name": "factorial",
    "test_cases": [{"input": [5], "output": 120}, {"input": [0], "output": 1}],
    "timeout_per_case": 5,
}


def test_generated_code_is_not_run_without_a_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grade: Callable[..., Grade]
) -> None:
    """Not even on request: the originals ran it wherever they were, and their flag had no effect."""
    monkeypatch.chdir(tmp_path)
    code = "open('ran', 'w').close()\ndef factorial(n): return 120 if n else 1"
    for sandbox in (True, False):
        verdict = grade({**FACTORIAL, "sandbox": sandbox}, code)
        assert (verdict.state, verdict.score) == ("awaiting", None)
        assert verdict.reason == "generated code is graded in a sandbox, which this version does not have"
    assert not (tmp_path / "ran").exists()


def test_both_spellings_mean_the_same(build: Callable[..., Grader]) -> None:
    other = [{"args": [5], "kwargs": {}, "expected": 120, "comparator": "equals"}, {"args": 0, "expected": 1}]
    assert build(FACTORIAL).digest() == build({**FACTORIAL, "test_cases": other}).digest()


@pytest.mark.parametrize(
    "case",
    [
        {"args": [1, 2], "kwargs": {"c": 3}, "expected": None},
        {"expected": 1},
        {"args": [0.1], "expected": 0.3, "comparator": "approx"},
        {"args": [[3, 1]], "expected": [1, 3], "comparator": "set"},
        {"args": ["x"], "expected": r"^\d+$", "comparator": "regex"},
        {"args": [], "kwargs": None, "expected": True},
    ],
)
def test_what_a_test_case_may_be(case: Any) -> None:
    assert registry.parse_options("grader", GraderSpec.model_validate({**FACTORIAL, "test_cases": [case]}))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"test_cases": []}, "test_cases"),
        ({"test_cases": [{"args": [1]}]}, "expected"),
        ({"test_cases": [{"args": [1], "input": [2], "expected": 1}]}, "input"),
        ({"test_cases": [{"args": [1], "expected": 1, "output": 2}]}, "output"),
        ({"test_cases": [{"expected": 1, "comparator": "almost"}]}, "comparator"),
        ({"test_cases": [{"expected": 1, "comparator": "set"}]}, "expects a list"),
        ({"test_cases": [{"expected": "(", "comparator": "regex"}]}, "regular expression"),
        ({"test_cases": [{"expected": 1, "comparator": "regex"}]}, "regular expression"),
        ({"function_name": "f(); g"}, "name of a function"),
        ({"function_name": ""}, "name of a function"),
        ({"executor": "perl"}, "executor"),
        ({"timeout_per_case": 0}, "timeout_per_case"),
    ],
)
def test_wrong_options_are_refused(change: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        registry.parse_options("grader", GraderSpec.model_validate({**FACTORIAL, **change}))
