"""A language model or embedder whose use is paid for: each reply gets its price, and the purse hears of it."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.contracts import Embedder, Llm, Purse
from evalharness.domain.chat import ChatReply, ChatRequest
from evalharness.domain.transcript import Usage
from evalharness.llms.prices import FREE, Price

CHARACTERS_PER_TOKEN = 4


class Metered:
    """Where a server does not say what it used, the purse is charged a guess and the reply has no price."""

    def __init__(self, llm: Llm, price: Price | None, purse: Purse | None) -> None:
        self.name = llm.name
        self.revision = llm.revision
        self._llm = llm
        self._price = price
        self._purse = purse

    async def chat(self, request: ChatRequest) -> ChatReply:
        if self._purse is None:
            return self._priced(await self._llm.chat(request))
        await self._purse.begin()
        cost_usd: float | None = 0.0
        tokens = 0
        try:
            reply = self._priced(await self._llm.chat(request))
            usage = reply.usage or guessed_usage(request, reply)
            cost_usd = reply.cost_usd if reply.cost_usd is not None else self._cost_usd(usage)
            tokens = usage.input_tokens + usage.output_tokens
        finally:
            self._purse.end(cost_usd, tokens)
        return reply

    def _priced(self, reply: ChatReply) -> ChatReply:
        if reply.cost_usd is not None:
            return reply
        return reply.model_copy(update={"cost_usd": self._cost_usd(reply.usage)})

    async def close(self) -> None:
        await self._llm.close()

    def _cost_usd(self, usage: Usage | None) -> float | None:
        if self._price is None or (usage is None and self._price != FREE):
            return None
        return self._price.cost_usd(usage) if usage is not None else 0.0


class MeteredEmbedder:
    """What a batch took is told by the embedder itself (`Access.used`); here is only asked whether it may."""

    def __init__(self, embedder: Embedder, purse: Purse) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._purse = purse

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        await self._purse.begin()
        try:
            return await self._embedder.embed(texts)
        finally:
            self._purse.end()

    async def close(self) -> None:
        await self._embedder.close()


def guessed_usage(request: ChatRequest, reply: ChatReply) -> Usage:
    """Roughly, for texts in English."""
    asked = sum(len(message.content) for message in request.messages)
    replied = len(reply.text) + sum(len(call.arguments) for call in reply.tool_requests)
    return Usage(input_tokens=asked // CHARACTERS_PER_TOKEN + 1, output_tokens=replied // CHARACTERS_PER_TOKEN + 1)
