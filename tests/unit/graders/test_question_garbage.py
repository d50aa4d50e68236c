"""An invalid reply of any judge counts neither as a pass nor as a fail."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from garbage_replies import GARBAGE
from judged import HonestLlm, SayingLlm, judge_once

from evalharness.contracts.model import ChatReply, ChatRequest, FinishReason, ToolRequest

JUDGES: dict[str, Any] = {
    "model": {"model": "m", "rubric": "Is it kind?"},
    "model with criteria": {"model": {"model": "m", "rubric": "code_quality"}},
    "model, categorical": {"model": {"model": "m", "scoring": {"type": "categorical", "categories": ["bad", "good"]}}},
    "relevance": {"relevance": {"criteria": ["names Ada"], "model": "m"}},
    "pairwise": {"pairwise": {"against": "Eve", "model": "m"}},
    "llm-judge": {"llm-judge": {"criteria": "Is it kind?", "enabled": True, "min": 0.5, "model": "m"}},
}

REASON_ALONE = {("relevance", "what decides is missing"), ("relevance", "null where a verdict is due")}
"""A fail, as the document of recorded sessions has it."""


def sound(request: ChatRequest) -> dict[str, Any]:
    return HonestLlm().verdict(request)


def test_there_are_forty_of_them() -> None:
    assert len(GARBAGE) == 40


@pytest.mark.parametrize("judge", JUDGES)
def test_the_sound_reply_that_they_are_made_of_passes(judge: str) -> None:
    assert judge_once(JUDGES[judge], "Ada", SayingLlm(lambda request: json.dumps(sound(request)))).passed


@pytest.mark.parametrize(("judge", "payload"), [pair for pair in product(JUDGES, GARBAGE) if pair not in REASON_ALONE])
def test_garbage_is_neither_a_pass_nor_a_fail(judge: str, payload: str) -> None:
    llm = SayingLlm(lambda request: GARBAGE[payload](sound(request)))
    grade = judge_once(JUDGES[judge], "Ada", llm)
    assert (grade.state, grade.score) == ("unscored", None)
    assert "no usable reply in 3 attempts" in grade.reason
    [judging] = grade.judging
    calls = 6 if judge == "pairwise" else 3
    assert (judging.calls, judging.input_tokens, len(llm.requests)) == (calls, 10 * calls, calls)


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({"correctness": 5}, "'readability' is missing"),
        ({"correctness": 5, "readability": 6}, "readability: 6 is not a number from 1 to 5"),
        ({"correctness": 5, "readability": 0}, "readability: 0 is not a number"),
        ({"correctness": 5, "readability": "4"}, "readability: a text is not a number"),
        ({"correctness": True, "readability": 4}, "correctness: true is not a number"),
        ({"correctness": 5, "readability": None}, "readability: null is not a number"),
        ({"correctness": 5, "readability": 4, "charm": 5}, "1 unknown key"),
        ({"correctness": 5, "readability": 4, "charm": 5, "wit": 1}, "2 unknown keys"),
        ([5, 5], "scores: a list is not a mapping"),
    ],
)
def test_every_criterion_is_scored_on_the_scale(scores: Any, told: str) -> None:
    rubric = "1. **Correctness** (weight: 0.5)\n2. **Readability** (weight: 0.5)"
    llm = SayingLlm(lambda request: json.dumps({**sound(request), "scores": scores}))
    grade = judge_once({"model": {"model": "m", "rubric": rubric}}, "Ada", llm)
    assert grade.state == "unscored"
    assert told in grade.reason
    assert told in llm.requests[1].messages[-1].content, "so that the judge can fix it"


@pytest.mark.parametrize("judge", JUDGES)
def test_a_reply_that_is_repaired_counts(judge: str) -> None:
    def say(request: ChatRequest) -> str:
        return json.dumps(sound(request)) if len(request.messages) > 1 else "I would let it pass."

    llm = SayingLlm(say)
    grade = judge_once(JUDGES[judge], "Ada", llm)
    assert grade.passed
    assert grade.judging[0].calls == len(llm.requests) == (4 if judge == "pairwise" else 2), "refused replies cost, too"


@pytest.mark.parametrize("reason", ["length", "refused"])
def test_a_reply_that_was_cut_or_refused_is_not_a_verdict(reason: FinishReason) -> None:
    class CutLlm(HonestLlm):
        async def chat(self, request: ChatRequest) -> ChatReply:
            return (await super().chat(request)).model_copy(update={"finish_reason": reason})

    assert judge_once(JUDGES["relevance"], "Ada", CutLlm()).state == "unscored"


def test_a_verdict_beside_a_call_of_a_tool_is_not_the_only_one() -> None:
    class CallingLlm(HonestLlm):
        async def chat(self, request: ChatRequest) -> ChatReply:
            call = ToolRequest(id="1", name="reply", arguments=json.dumps({**sound(request), "result": "fail"}))
            return (await super().chat(request)).model_copy(update={"tool_requests": (call,)})

    assert judge_once(JUDGES["relevance"], "Ada", CallingLlm()).state == "unscored"


@pytest.mark.parametrize(
    ("said", "state"), [("PASS", "pass"), ("Pass", "pass"), ("FAIL", "fail"), ("pass ", "unscored")]
)
def test_case_does_not_matter_in_a_result(said: str, state: str) -> None:
    llm = SayingLlm(lambda request: json.dumps({**sound(request), "result": said}))
    assert judge_once(JUDGES["relevance"], "Ada", llm).state == state


@pytest.mark.parametrize(("reason", "told"), [("", "empty"), ("  ", "empty"), (None, "not a text"), (5, "not a text")])
def test_a_result_needs_a_reason(reason: Any, told: str) -> None:
    llm = SayingLlm(lambda request: json.dumps({**sound(request), "reason": reason}))
    grade = judge_once(JUDGES["relevance"], "Ada", llm)
    assert grade.state == "unscored" and told in grade.reason


def test_one_code_fence_around_the_verdict_alone_is_fine() -> None:
    llm = SayingLlm(lambda request: f"```json\n{json.dumps(sound(request))}\n```")
    assert judge_once(JUDGES["relevance"], "Ada", llm).passed
