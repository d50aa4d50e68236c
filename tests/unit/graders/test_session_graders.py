"""The graders of recorded sessions: size, tool calls, relevance and assertions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evalharness.domain.grade import Grade
from evalharness.errors import UsageError

Grading = Callable[..., Grade]


def calls(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def test_the_size_that_was_found_is_reported(grade: Grading) -> None:
    verdict = grade({"size_class": "M"}, "x" * 499)
    assert (verdict.reason, verdict.evidence) == ("size expected M, got S", {"actual": "S", "expected": "M"})


@pytest.mark.parametrize(
    ("expected", "actual", "state", "score"),
    [
        (["a", "b"], ["b", "a"], "pass", 1.0),
        (["a", "b"], ["a", "c"], "fail", 0.5),
        (["a"], [], "fail", 0.0),
        (["a"], ["a", "a"], "fail", 2 / 3),
        ([], [], "pass", 1.0),
    ],
)
def test_tool_calls_pass_only_if_all_match(
    expected: list[str], actual: list[str], state: str, score: float, grade: Grading
) -> None:
    verdict = grade({"tool_calls_f1": expected}, "ok", tool_calls=calls(*actual))
    assert (verdict.state, verdict.score) == (state, pytest.approx(score))


def test_a_score_is_reported_with_the_calls(grade: Grading) -> None:
    assert (
        grade({"tool_calls_f1": ["a", "b"]}, tool_calls=calls("a", "c")).reason == "tool calls score 0.50; called: a, c"
    )


def test_calls_that_were_not_expected_are_reported_but_fail_nothing(grade: Grading) -> None:
    verdict = grade({"tool_calls_f1": []}, "ok", tool_calls=calls("search"))
    assert (verdict.state, verdict.score, verdict.evidence["f1"]) == ("pass", 1.0, 0.0)
    assert verdict.reason == "none were expected; called: search"


def test_relevance_waits_for_a_judge_and_lists_its_criteria(grade: Grading) -> None:
    verdict = grade({"relevance": ["names Ada", "is short"]}, "Ada")
    assert (verdict.state, verdict.score) == ("awaiting", None)
    assert verdict.reason == "no judge is set for: names Ada; is short"
    assert verdict.evidence == {"criteria": ["names Ada", "is short"]}


@pytest.mark.parametrize(
    ("kind", "value", "held", "broken", "reason"),
    [
        ("contains", "Ada", "Hi Ada", "Hi ada", 'response does not contain "Ada"'),
        ("not_contains", "error", "fine", "an error", 'response contains "error"'),
        ("equals", " yes ", "yes\n", "yes!", 'response is not " yes "'),
        ("starts_with", "Yes", "  Yes, it is", "It is", 'response does not start with "Yes"'),
        ("ends_with", "done.", "all done. \n", "done", 'response does not end with "done."'),
        ("regex", r"^\d+ files$", "12 files", "no files", r"response does not match /^\d+ files$/"),
    ],
)
def test_assertions_about_the_text(kind: str, value: str, held: str, broken: str, reason: str, grade: Grading) -> None:
    written = {"session_assertions": [{"name": "it", "type": kind, "value": value}]}
    assert grade(written, held).passed
    verdict = grade(written, broken)
    assert verdict.reason == f"it: {reason}"
    assert verdict.evidence == [{"name": "it", "type": kind, "passed": False, "reason": reason}]


def test_assertions_about_cost_and_tools(grade: Grading) -> None:
    def judged(kind: str, value: Any, **transcript: Any) -> str:
        return grade({"session_assertions": [{"type": kind, "value": value}]}, "ok", **transcript).reason

    assert judged("cost_threshold", 0.5, cost_usd=0.5) == ""
    assert judged("cost_threshold", "0.5") == ""
    assert judged("cost_threshold", 0.5, cost_usd=0.75) == "cost_threshold: cost $0.750000 is more than $0.500000"
    assert judged("tool_called", "search", tool_calls=calls("search")) == ""
    assert judged("tool_called", "search") == 'tool_called: tool "search" was not called'


@pytest.mark.parametrize("value", ["cheap", True, "nan", [1]])
def test_a_threshold_is_a_number(value: Any, grade: Grading) -> None:
    with pytest.raises(UsageError, match="cost_threshold must be a number"):
        grade({"session_assertions": [{"type": "cost_threshold", "value": value}]}, "ok")


def test_a_pattern_that_makes_no_sense_fails_its_assertion_alone(grade: Grading) -> None:
    verdict = grade(
        {"session_assertions": [{"type": "regex", "value": "(["}, {"type": "contains", "value": "ok"}]}, "ok"
    )
    assert (verdict.state, verdict.score) == ("fail", 0.5)
    assert "invalid" in verdict.reason
    assert [row["passed"] for row in verdict.evidence] == [False, True]
