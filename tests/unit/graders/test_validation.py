"""A judge is validated before it is used: one trivial statement, and a clear message if it cannot judge."""

from __future__ import annotations

import asyncio
import json

import pytest
from judged import HonestLlm, JudgeLlm, SayingLlm

from evalharness.contracts.model import ChatReply, ChatRequest
from evalharness.errors import ModelUnavailable, UsageError
from evalharness.graders.judges.validation import validate_judge
from evalharness.reports.words.say import say


def test_one_call_is_enough() -> None:
    llm = HonestLlm("Paris")
    asyncio.run(validate_judge(llm))
    assert len(llm.requests) == 1


def test_one_that_cannot_keep_to_the_form_is_refused() -> None:
    llm = SayingLlm(lambda _: "I would say pass.")
    with pytest.raises(
        UsageError, match=r"test/judge cannot be a judge: .* 3 attempts: it does not begin with an object"
    ):
        asyncio.run(validate_judge(llm))
    assert len(llm.requests) == 3


def test_one_that_denies_what_is_plain_is_refused() -> None:
    llm = SayingLlm(lambda request: json.dumps({**HonestLlm().verdict(request), "result": "fail"}))
    with pytest.raises(UsageError, match=r"does not meet .*: so it is") as caught:
        asyncio.run(validate_judge(llm))
    assert "--judge-model" in say(caught.value.hint)


def test_one_that_slips_now_and_then_is_believed() -> None:
    results = iter(["fail", "fail", "pass"])
    llm = SayingLlm(lambda request: json.dumps({**HonestLlm().verdict(request), "result": next(results)}))
    asyncio.run(validate_judge(llm))
    assert len(llm.requests) == 3


def test_one_that_cannot_be_reached_is_not_wrong_usage() -> None:
    class BrokenLlm(JudgeLlm):
        async def chat(self, request: ChatRequest) -> ChatReply:
            raise ModelUnavailable("401: no such key")

    with pytest.raises(ModelUnavailable, match="the judge test/judge gives no reply: 401: no such key"):
        asyncio.run(validate_judge(BrokenLlm()))


def test_one_that_keeps_silent_is_given_up_within_its_time() -> None:
    """The server's last message is reported, if there is one."""

    class HangingLlm(JudgeLlm):
        async def chat(self, request: ChatRequest) -> ChatReply:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError as cancelled:
                raise cancelled from ModelUnavailable("429: too many requests")
            raise AssertionError

    with pytest.raises(
        ModelUnavailable,
        match=r"the judge test/judge gave no reply within 0\.05 s; the last error: 429: too many",
    ) as caught:
        asyncio.run(validate_judge(HangingLlm(), limit_s=0.05))
    assert (caught.value.exit_code, "--judge-model" in say(caught.value.hint)) == (3, True)


@pytest.mark.parametrize(("status", "next_step"), [(401, "check the key"), (403, "the key"), (404, "the model's name")])
def test_one_that_refuses_is_reported_with_what_to_look_at(status: int, next_step: str) -> None:
    class RefusingLlm(JudgeLlm):
        async def chat(self, request: ChatRequest) -> ChatReply:
            raise ModelUnavailable(f"{status}: no", status=status)

    with pytest.raises(ModelUnavailable, match=f"the judge test/judge refused: {status}: no") as caught:
        asyncio.run(validate_judge(RefusingLlm()))
    assert next_step in say(caught.value.hint)
