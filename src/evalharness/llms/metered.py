"""Metered language models and embedders: each reply gets its price and is charged to the budget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from evalharness.contracts.budget import Budget
from evalharness.contracts.model import ChatReply, ChatRequest, Embedded, Embedder, Llm
from evalharness.domain.transcript import Usage
from evalharness.errors import ModelUnavailable, waited_for
from evalharness.llms.prices import FREE, Price

CHARACTERS_PER_TOKEN = 4
NO_TURN = "the call was still queued: near the spend cap only a few calls run at once"
Took = Callable[[Usage, float | None], None]


@dataclass(frozen=True, slots=True)
class Meter:
    """The price of one model and the budget that pays for it."""

    model: str
    price: Price | None
    budget: Budget | None

    def cost_usd(self, usage: Usage | None) -> float | None:
        if usage is None:
            return 0.0 if self.price == FREE else None
        return None if self.price is None else self.price.cost_usd(usage)

    @asynccontextmanager
    async def call(self, sent: Usage, most_output: int = 0) -> AsyncIterator[Took]:
        """Wrap one call, which reports its usage. `sent` is an estimate, used if no reply comes."""
        if self.budget is None:
            yield lambda _usage, _cost_usd: None
            return
        most = Usage(input_tokens=sent.input_tokens, output_tokens=most_output)
        try:
            await self.budget.begin(self.model, self.cost_usd(most) or 0.0, _tokens(most))
        except asyncio.CancelledError as cancelled:
            raise cancelled from ModelUnavailable(f"{self.model}: {NO_TURN}")
        cost_usd: float | None = 0.0
        tokens, is_lost = 0, False

        def took(usage: Usage, stated_usd: float | None) -> None:
            nonlocal cost_usd, tokens
            cost_usd = self.cost_usd(usage) if stated_usd is None else stated_usd
            tokens = _tokens(usage)

        try:
            yield took
        except asyncio.CancelledError as cancelled:
            if waited_for(cancelled) is None:  # otherwise the request was not sent, or was refused
                is_lost = True
                took(sent, None)
            raise
        finally:
            self.budget.end(self.model, cost_usd, tokens, broken_off=is_lost)

    def charge(self, usage: Usage) -> None:
        """Charge a reply that was thrown away, while the call continues."""
        if self.budget is not None:
            self.budget.charge(self.cost_usd(usage), _tokens(usage), self.model)

    def lost(self, sent_bytes: int) -> None:
        """Charge a request without a complete reply, by the estimated size of what was sent."""
        if self.budget is not None:
            sent = Usage(input_tokens=guessed_tokens(sent_bytes))
            self.budget.charge(self.cost_usd(sent), _tokens(sent), self.model, broken_off=True)


class Metered(Llm):
    """A metered model. If a server reports no usage, the budget is charged an estimate, and the reply has no price."""

    def __init__(self, llm: Llm, meter: Meter) -> None:
        self.name = llm.name
        self.revision = llm.revision
        self._llm = llm
        self._meter = meter

    @property
    def takes_no_temperature(self) -> bool:
        return self._llm.takes_no_temperature

    async def chat(self, request: ChatRequest) -> ChatReply:
        sent = Usage(input_tokens=guessed_tokens(sum(len(message.content) for message in request.messages)))
        async with self._meter.call(sent, request.max_tokens or 0) as took:
            reply = await self._llm.chat(request)
            if reply.cost_usd is None:
                reply = reply.model_copy(update={"cost_usd": self._meter.cost_usd(reply.usage)})
            took(reply.usage or _guessed_usage(sent, reply), reply.cost_usd)
        return reply

    async def close(self) -> None:
        await self._llm.close()


class MeteredEmbedder(Embedder):
    """The same for embedders."""

    def __init__(self, embedder: Embedder, meter: Meter) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._meter = meter

    async def embed(self, texts: Sequence[str]) -> Embedded:
        sent = Usage(input_tokens=guessed_tokens(sum(map(len, texts))))
        async with self._meter.call(sent) as took:
            embedded = await self._embedder.embed(texts)
            if embedded.cost_usd is None:
                embedded = replace(embedded, cost_usd=self._meter.cost_usd(embedded.usage))
            took(embedded.usage or sent, embedded.cost_usd)
        return embedded

    async def close(self) -> None:
        await self._embedder.close()


def _guessed_usage(sent: Usage, reply: ChatReply) -> Usage:
    replied = len(reply.text) + sum(len(call.arguments) for call in reply.tool_requests)
    return Usage(input_tokens=sent.input_tokens, output_tokens=guessed_tokens(replied))


def guessed_tokens(characters: int) -> int:
    """A rough estimate for English text."""
    return characters // CHARACTERS_PER_TOKEN + 1


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens
