"""Models whose calls go through the tape of the trial that makes them. Nothing is opened for a replay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from evalharness.contracts.exchange import Call, Exchanges, Taping
from evalharness.contracts.model import ChatReply, ChatRequest, Embedded, Embedder, Llm, Models, Relay
from evalharness.domain.finding import Finding
from evalharness.errors import ReplayMiss
from evalharness.values.json_value import Json

_EMBEDDED = TypeAdapter(Embedded)


class TapedModels:
    """Implements `contracts.Models`."""

    def __init__(self, models: Models, exchanges: Exchanges, taping: Taping) -> None:
        self.root: Path = models.root
        self._models = models
        self._exchanges = exchanges
        self._is_replay = taping.is_replay
        self._llms: dict[str, Llm] = {}
        self._embedders: dict[str, Embedder] = {}

    def llm(self, name: str) -> Llm:
        if name not in self._llms:
            self._llms[name] = TapedLlm(name, None if self._is_replay else self._models.llm(name), self._exchanges)
        return self._llms[name]

    def embedder(self, name: str) -> Embedder:
        if name not in self._embedders:
            embedder = None if self._is_replay else self._models.embedder(name)
            self._embedders[name] = TapedEmbedder(name, embedder, self._exchanges)
        return self._embedders[name]

    def relay(self, name: str) -> Relay:
        """The gateway itself records what it passes on."""
        return self._models.relay(name)

    def price_known(self, name: str) -> bool:
        return self._is_replay or self._models.price_known(name)

    def notes(self) -> tuple[Finding, ...]:
        return self._models.notes()

    def trouble(self) -> str:
        return self._models.trouble()

    async def close(self) -> None:
        await self._models.close()


class TapedLlm(Llm):
    def __init__(self, name: str, llm: Llm | None, exchanges: Exchanges) -> None:
        """Without `llm` there is only what was recorded."""
        self.name = name if llm is None else llm.name
        self.revision = "" if llm is None else llm.revision
        self._llm = llm
        self._exchanges = exchanges

    @property
    def takes_no_temperature(self) -> bool:
        return self._llm is not None and self._llm.takes_no_temperature

    async def chat(self, request: ChatRequest) -> ChatReply:
        async def send() -> ChatReply:
            if self._llm is None:
                raise nothing_sent(self.name)
            return await self._llm.chat(request)

        def compared() -> Json:
            return {"model": self.name, **request.model_dump(mode="json", exclude_defaults=True)}

        return await self._exchanges.pass_on(Call("chat", compared, send, _written_reply, ChatReply.model_validate))

    async def close(self) -> None:
        if self._llm is not None:
            await self._llm.close()


class TapedEmbedder(Embedder):
    def __init__(self, name: str, embedder: Embedder | None, exchanges: Exchanges) -> None:
        self.name = name if embedder is None else embedder.name
        self._embedder = embedder
        self._exchanges = exchanges

    async def embed(self, texts: Sequence[str]) -> Embedded:
        async def send() -> Embedded:
            if self._embedder is None:
                raise nothing_sent(self.name)
            return await self._embedder.embed(texts)

        def compared() -> Json:
            return {"model": self.name, "texts": list(texts)}

        return await self._exchanges.pass_on(Call("embed", compared, send, _written_vectors, _EMBEDDED.validate_python))

    async def close(self) -> None:
        if self._embedder is not None:
            await self._embedder.close()


def _written_reply(reply: ChatReply) -> Json:
    written: dict[str, Any] = reply.model_dump(mode="json", exclude_defaults=True)
    return written


def _written_vectors(embedded: Embedded) -> Json:
    written: dict[str, Any] = _EMBEDDED.dump_python(embedded, mode="json")
    return written


def nothing_sent(name: str) -> ReplayMiss:
    return ReplayMiss(f"{name} was asked outside of a recorded trial; nothing was sent")
