"""Models whose use is paid for: what failed calls report to the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from evalharness.contracts.model import ChatMessage, ChatReply, ChatRequest, Embedded, Embedder, Llm
from evalharness.domain.transcript import Usage
from evalharness.engine.running.budget import RunBudget
from evalharness.errors import ModelUnavailable, waited_for
from evalharness.llms.metered import Meter, Metered, MeteredEmbedder
from evalharness.llms.prices import Price
from evalharness.reports.words.say import say

HELLO = ChatRequest(messages=(ChatMessage(role="user", content="hello"),))


class Stumbling(Llm):
    """Its first call fails; every other one takes 400 tokens."""

    name = "test/stumbling"
    calls = 0

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        is_first = self.calls == 1
        await asyncio.sleep(0)
        if is_first:
            raise ModelUnavailable("it stumbled")
        return ChatReply(text="hi", usage=Usage(input_tokens=390, output_tokens=10))


async def test_a_cap_is_kept_although_the_first_call_came_to_nothing() -> None:
    purse = RunBudget(max_tokens=1000)
    llm = Metered(Stumbling(), Meter("test/stumbling", None, purse))

    replies = await asyncio.gather(*(llm.chat(HELLO) for _ in range(50)), return_exceptions=True)
    assert [type(reply) for reply in replies].count(ModelUnavailable) == 1
    assert 800 <= purse.tokens <= 1200


class Silent(Stumbling):
    async def chat(self, request: ChatRequest) -> ChatReply:
        await asyncio.Event().wait()
        raise AssertionError


class KeptWaiting(Stumbling):
    async def chat(self, request: ChatRequest) -> ChatReply:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as cancelled:
            raise cancelled from ModelUnavailable("HTTP 429")
        raise AssertionError


def broken_off(llm: Stumbling) -> RunBudget:
    purse = RunBudget(max_cost_usd=1.0)
    metered = Metered(llm, Meter("test/m", Price(1000.0), purse))

    async def run() -> None:
        call = asyncio.create_task(metered.chat(HELLO))
        await asyncio.sleep(0.01)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    asyncio.run(run())
    return purse


def test_a_call_that_is_broken_off_is_charged_a_guess_of_its_input_and_reported() -> None:
    purse = broken_off(Silent())
    assert (purse.cost_usd, purse.tokens) == (0.002, 2)
    assert "1 request without a complete reply" in " ".join(map(say, purse.notes))


def test_a_call_that_was_kept_waiting_costs_nothing() -> None:
    purse = broken_off(KeptWaiting())
    assert (purse.cost_usd, purse.broken_off) == (0.0, 0)


async def test_who_never_got_its_turn_near_the_cap_says_so() -> None:
    """Otherwise the model would be blamed for time in which it was not asked."""
    purse = RunBudget(max_cost_usd=1.0)
    metered = Metered(Silent(), Meter("test/m", Price(1000.0), purse))

    first, second = [asyncio.create_task(metered.chat(HELLO)) for _ in range(2)]
    await asyncio.sleep(0.01)
    second.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await second
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    found = waited_for(caught.value)
    assert "the call was still queued" in str(found)
    assert purse.broken_off == 1


class Uncounted(Embedder):
    """Counts no tokens."""

    name = "test/e"

    async def embed(self, texts: Sequence[str]) -> Embedded:
        await asyncio.sleep(0)
        return Embedded([[1.0] for _ in texts])


async def test_embeddings_without_token_counts_are_charged_a_guess_and_keep_the_cap() -> None:
    purse = RunBudget(max_cost_usd=0.5)
    embedder = MeteredEmbedder(Uncounted(), Meter("test/e", Price(1000.0), purse))

    replies = await asyncio.gather(*(embedder.embed(["x" * 396]) for _ in range(50)), return_exceptions=True)
    assert 0.5 <= purse.cost_usd <= 0.6
    assert all(reply.cost_usd is None for reply in replies if isinstance(reply, Embedded)), "an estimate is not a price"
