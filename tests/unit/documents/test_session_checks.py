"""Sizes, tool calls and the lines that report them, compared with the documented behaviour."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.documents.session_checks import (
    check_lines,
    eval_result,
    size_class,
    summarise_results,
    tool_calls_f1,
)
from evalharness.documents.session_results import Result


@pytest.mark.parametrize(
    ("expected", "actual", "score"),
    [
        ([], [], 1.0),
        ([], ["search"], 0.0),
        (["search"], [], 0.0),
        (["search", "read_file"], ["search", "write_file"], 0.5),
        (["search", "read_file"], ["search"], 2 / 3),
        (["search", "read_file"], ["read_file", "search"], 1.0),
        (["search", "search"], ["search"], 2 / 3),
        (["a"], ["b"], 0.0),
    ],
)
def test_f1_of_tool_calls(expected: list[str], actual: list[str], score: float) -> None:
    assert tool_calls_f1(expected, actual) == pytest.approx(score)


@pytest.mark.parametrize(
    ("length", "name"),
    [
        (0, "S"),
        (13, "S"),
        (499, "S"),
        (500, "M"),
        (600, "M"),
        (1499, "M"),
        (1500, "L"),
        (2000, "L"),
        (5000, "XL"),
        (6000, "XL"),
    ],
)
def test_size_classes(length: int, name: str) -> None:
    assert size_class("x" * length) == name


def test_sizes_are_counted_in_bytes() -> None:
    """As implemented; the original's documentation says characters."""
    assert size_class("ä" * 250) == "M"
    assert size_class("\ud800") == "S"


def result(**values: Any) -> Result:
    return Result.model_validate({"title": "t", **values})


GOOD = {
    "size": "M", "size_expected": "M", "tool_calls_score": 1.0, "tool_calls_score_expected": 1.0, "relevance": 2,
    "relevance_expected": 2,
}  # fmt: skip
BAD = {
    "size": "S", "size_expected": "M", "tool_calls_score": 0.5, "tool_calls_score_expected": 1.0, "relevance": 0,
    "relevance_expected": 2, "relevance_results": [
        {"criterion": "names Ada", "passed": False, "reason": "it names Bob"},
        {"criterion": "is short", "passed": False},
    ],
}  # fmt: skip


def test_an_error_is_all_that_is_reported() -> None:
    assert check_lines(result(**BAD, error="failed to run")) == ((), ("failed to run",), ())
    assert eval_result(result(**GOOD, error="failed to run"))["checks"] == {}


def test_what_passed_is_reported_line_by_line() -> None:
    assert check_lines(result(**GOOD)) == (("size M", "tool calls", "relevance 2/2"), (), ())


def test_what_failed_is_reported_with_reasons() -> None:
    assert check_lines(result(**BAD)).failures == (
        "size expected M, got S",
        "tool calls score 0.50",
        "relevance: names Ada (reason: it names Bob)",
        "relevance: is short",
    )


def test_nothing_declared_passes_without_a_word() -> None:
    lines = check_lines(result(size="S", tool_calls_score=0.0))
    assert lines.passed
    assert lines == ((), (), ())


def test_criteria_without_a_verdict_do_not_pass() -> None:
    """The original used to show such an eval as passed."""
    lines = check_lines(result(relevance_expected=2))
    assert (lines.passed, lines.failures, lines.awaiting) == (False, (), ("relevance 0/2: not judged",))
    told = eval_result(result(relevance_expected=2))
    assert (told["passed"], told["state"], told["checks"]) == (False, "awaiting", {})
    assert eval_result(result(relevance_expected=2, size="S", size_expected="M"))["state"] == "failed"
    assert check_lines(result(relevance=1, relevance_expected=2)).failures == ("relevance 1/2",)


def test_assertions_are_reported_like_the_others() -> None:
    held = {"name": "polite", "type": "contains", "passed": True}
    broken = {"name": "", "type": "not_contains", "passed": False, "reason": 'response contains "error"'}
    assert check_lines(result(assertion_results=[held, held])).successes == ("assertions 2/2",)
    failures = check_lines(result(assertion_results=[held, broken])).failures
    assert failures == ('assertion: not_contains (reason: response contains "error")',)


def test_the_saved_result_contains_the_checks_that_were_made() -> None:
    told = eval_result(result(**BAD, cost=0.5, output_tokens=3))
    assert (told["passed"], told["cost"], told["output_tokens"]) == (False, 0.5, 3)
    assert "successes" not in told
    assert told["checks"]["size"] == {"passed": False, "actual": "S", "expected": "M"}
    assert told["checks"]["tool_calls"] == {"passed": False, "score": 0.5}
    assert (told["checks"]["relevance"]["passed_count"], told["checks"]["relevance"]["total"]) == (0, 2)
    assert "assertions" not in told["checks"]


def test_errors_cost_money_but_enter_no_other_total() -> None:
    summary = summarise_results([result(**GOOD, cost=1), result(**BAD, cost=2), result(**BAD, cost=4, error="broke")])
    assert summary.model_dump(mode="json") == {
        "total_evals": 3, "failed_evals": 1, "total_cost": 7, "sizes_passed": 1, "sizes_total": 2, "tools_f1_sum": 1.5,
        "tools_count": 2, "relevance_passed": 2, "relevance_total": 4,
    }  # fmt: skip


def test_what_was_not_judged_is_not_counted_as_irrelevant() -> None:
    assert summarise_results([result(relevance_expected=2)]).relevance_total == 0
