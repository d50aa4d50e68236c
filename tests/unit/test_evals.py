"""evalharness.evals: the functions of the eval-harness document, by its own examples, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalharness import evals
from evalharness.errors import HarnessError, UsageError
from evalharness.evals import exact_match_grader, function_output_grader, pass_at_k, pass_hat_k, regex_grader

FUNCTION = {
    "method": "function_output",
    "executor": "python",
    "function_name": "solve",
    "test_cases": [
        {"args": [1, 2], "kwargs": {}, "expected": 3, "comparator": "equals"},
        {"args": [[1, 2, 3]], "expected": 6, "comparator": "equals"},
    ],
    "timeout_per_case": 5,
    "sandbox": True,
}
PATTERN = r"^function\s+(\w+)\s*\([^)]*\)\s*\{"


def test_every_name_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "eval-harness-files.md").read_text(encoding="utf-8")
    assert [name for name in evals.__all__ if f"`{name}" not in page] == []


@pytest.mark.parametrize(
    ("output", "expected", "config", "passed"),
    [
        (" olleh\r\n", "olleh", {}, True),
        (" olleh", "olleh", {"trim_whitespace": False}, False),
        ("a\r\nb", "a\nb", {"method": "exact_match"}, True),
        ("a\r\nb", "a\nb", {"normalize_newlines": False}, False),
        ("Abc", "abc", {}, False),
        ("Abc", "abc", {"case_sensitive": False}, True),
        ("STRASSE", "straße", {"case_sensitive": False}, False),
        (4, "4", None, True),
        ("", "", {}, True),
    ],
)
def test_exact_match(output: Any, expected: str, config: dict[str, Any] | None, passed: bool) -> None:
    found = exact_match_grader(output, expected, config)
    assert (found["passed"], found["score"]) == (passed, float(passed))


def test_details_show_the_texts_as_they_were_compared() -> None:
    found = exact_match_grader(" A ", "b", {"case_sensitive": False})
    assert found == {"passed": False, "score": 0.0, "details": {"expected": "b", "actual": "a"}}


def test_a_pattern_is_found_and_its_groups_are_kept() -> None:
    config = {"pattern": PATTERN, "flags": ["multiline", "ignorecase"], "capture_groups": ["function_name", "other"]}
    found = regex_grader("text\nFunction add (a, b) {", {"method": "regex", **config})
    assert (found["passed"], found["score"]) == (True, 1.0)
    assert found["details"]["captures"] == {"function_name": "add", "other": None}


def test_what_must_not_match_scores_1_where_it_does_not() -> None:
    """The document gives 0 to an answer that passes so."""
    config = {"pattern": "error", "must_match": False}
    assert regex_grader("all well", config) == {
        "passed": True,
        "score": 1.0,
        "details": {"pattern": "error", "matched": False},
    }
    assert regex_grader("an error", config)["passed"] is False


def test_code_is_judged_by_what_it_returns() -> None:
    good = function_output_grader("def solve(a, b=0):\n    return sum(a) if b == 0 else a + b", FUNCTION)
    assert (good["passed"], good["score"], good["details"]["passed_count"]) == (True, 1.0, 2)
    bad = function_output_grader("def solve(*values):\n    return values[0] + 2", FUNCTION)
    assert (bad["passed"], bad["score"], bad["details"]["total_count"]) == (False, 0.5, 2)
    [first, second] = bad["details"]["test_results"]
    assert first == {"case": 0, "passed": True, "output": 3}
    assert "TypeError" in second["error"]


def test_the_metrics_of_the_document() -> None:
    assert [round(pass_at_k(10, 3, k) or 0, 3) for k in (1, 5, 10)] == [0.3, 0.917, 1.0], "it prints 0.738, wrongly"
    assert [round(pass_hat_k(10, 8, k) or 0, 3) for k in (1, 3, 5)] == [0.8, 0.512, 0.328]
    assert pass_hat_k(0, 0, 1) is None


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: regex_grader("x", {}), "pattern: is missing"),
        (lambda: regex_grader("x", {"pattern": "("}), "pattern: is not a regular expression"),
        (lambda: regex_grader("x", {"pattern": "a", "flags": ["i"]}), "flags[0]: 'i' is not allowed"),
        (lambda: regex_grader("x", ["a"]), "the configuration of a grader must be a mapping"),
        (lambda: exact_match_grader("x", "x", {"case_sensitve": False}), "did you mean 'case_sensitive'?"),
        (lambda: function_output_grader("x", {**FUNCTION, "test_cases": []}), "test_cases: must not be empty"),
        (lambda: function_output_grader("x", {"test_cases": [{"expected": 1}]}), "function_name: is missing"),
        (lambda: function_output_grader("x", FUNCTION, sandbox="bublewrap"), "Did you mean 'bubblewrap'?"),
    ],
)
def test_a_wrong_configuration_is_told_in_words(call: Callable[[], Any], problem: str) -> None:
    with pytest.raises(UsageError) as refused:
        call()
    assert problem in str(refused.value)


def test_what_cannot_be_graded_is_no_wrong_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def broken(value, expected): raise ValueError('no idea')")
    monkeypatch.chdir(tmp_path)
    config = {**FUNCTION, "test_cases": [{"args": [1], "expected": 1, "comparator": "own.py:broken"}]}
    with pytest.raises(HarnessError, match=r"could not be graded: .*own.py:broken .* raised ValueError: no idea"):
        function_output_grader("def solve(x): return x", config)
