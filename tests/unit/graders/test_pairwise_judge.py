"""pairwise: both orders are asked, and only a preference that is the same in both counts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from judged import HonestLlm, SayingLlm, data_in, judge_once


def always(*winners: str) -> SayingLlm:
    """Says "first" if the answer comes first, and "second" if it comes second."""

    def say(request: Any) -> str:
        winner = winners[0] if data_in(request)["first answer"] == "Ada" else winners[1]
        return json.dumps({**HonestLlm().verdict(request), "winner": winner})

    return SayingLlm(say)


@pytest.mark.parametrize(
    ("winners", "outcome", "score", "state"),
    [
        (("first", "second"), "win", 1.0, "pass"),
        (("second", "first"), "loss", 0.0, "fail"),
        (("tie", "tie"), "tie", 0.5, "pass"),
        (("first", "first"), "tie", 0.5, "pass"),
        (("second", "second"), "tie", 0.5, "pass"),
        (("first", "tie"), "tie", 0.5, "pass"),
        (("tie", "first"), "tie", 0.5, "pass"),
    ],
)
def test_both_orders_must_agree(winners: tuple[str, str], outcome: str, score: float, state: str) -> None:
    llm = always(*winners)
    grade = judge_once({"pairwise": {"against": "Eve", "model": "m"}}, "Ada", llm)
    assert (grade.state, grade.score, grade.evidence["outcome"]) == (state, score, outcome)
    asked = [(data_in(request)["first answer"], data_in(request)["second answer"]) for request in llm.requests]
    assert asked == [("Ada", "Eve"), ("Eve", "Ada")]
    disagrees = "the two orders disagree" in grade.reason
    assert disagrees == (winners not in (("first", "second"), ("second", "first"), ("tie", "tie")))


def test_that_length_is_not_a_merit_is_said_by_no_rubric_but_ours() -> None:
    said = []
    for rubric in ({}, {"rubric": "It is shorter."}):
        llm = always("first", "second")
        judge_once({"pairwise": {"against": "Eve", "model": "m", **rubric}}, "Ada", llm)
        said.append("length" in llm.requests[0].messages[0].content)
    assert said == [True, False]


def test_a_tie_fails_where_a_win_is_asked_for() -> None:
    options = {"against": "Eve", "model": "m", "pass_score": 1}
    assert judge_once({"pairwise": options}, "Ada", always("tie", "tie")).state == "fail"
    assert judge_once({"pairwise": options}, "Ada", always("first", "second")).passed


def test_the_cases_reference_is_what_it_is_compared_with() -> None:
    written = {"pairwise": {"model": "m"}}
    assert judge_once(written, "Ada", HonestLlm(), case={"reference": {"name": "Eve"}}).evidence["outcome"] == "win"
    grade = judge_once(written, "Ada", HonestLlm())
    assert grade.state == "unscored"
    assert grade.reason.startswith("there is nothing to compare with")


def test_equal_answers_are_a_tie() -> None:
    assert judge_once({"pairwise": {"against": "Ada", "model": "m"}}, "Ada", HonestLlm()).evidence["outcome"] == "tie"


def test_one_order_without_a_verdict_leaves_none() -> None:
    grade = judge_once({"pairwise": {"against": "Eve", "model": "m"}}, "Ada", always("first", "both"))
    assert (grade.state, grade.score) == ("unscored", None)
