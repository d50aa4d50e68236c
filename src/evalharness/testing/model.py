"""Fakes of models: nothing is sent, replies are scripted, and what was asked is recorded."""

from __future__ import annotations

import string
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from evalharness.contracts.model import ChatReply, ChatRequest, Embedded, Embedder, Llm, Models, Relay
from evalharness.domain.finding import Finding
from evalharness.errors import UsageError

Reply = TypeVar("Reply")


class ReplyQueue(Generic[Reply]):
    """An exception among the replies is raised in its turn."""

    def __init__(self, *replies: Reply | Exception) -> None:
        self._replies = replies
        self._given = 0

    def next(self) -> Reply:
        reply = self._replies[min(self._given, len(self._replies) - 1)]
        self._given += 1
        if isinstance(reply, Exception):
            raise reply
        return reply


Saying: TypeAlias = str | ChatReply | Callable[[ChatRequest], Awaitable[ChatReply]]
"""A reply, its text alone, or an async function of the request."""


class FakeLlm(Llm):
    """Says one thing after the other, and the last one again and again. An exception is raised in its turn."""

    def __init__(self, *sayings: Saying | Exception, name: str = "fake/model") -> None:
        self.name = name
        self.requests: list[ChatRequest] = []
        self._script: ReplyQueue[Saying] = ReplyQueue(*(sayings or ("",)))

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        saying = self._script.next()
        if isinstance(saying, str):
            return ChatReply(text=saying, model=self.name)
        return saying if isinstance(saying, ChatReply) else await saying(request)


class FakeEmbedder(Embedder):
    """Counts the letters of a text: texts with the same letters mean the same."""

    def __init__(self, name: str = "fake/embedder") -> None:
        self.name = name
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.texts.extend(texts)
        return Embedded([[float(text.lower().count(letter)) for letter in string.ascii_lowercase] for text in texts])


class FakeModels(Models):
    """Every name is that of the same model, except those that begin with `unknown/`: there is no such model."""

    def __init__(self, llm: Llm | None = None, embedder: Embedder | None = None, root: Path = Path()) -> None:
        self.root = root
        self._llm = llm or FakeLlm()
        self._embedder = embedder or FakeEmbedder()

    def llm(self, name: str) -> Llm:
        _check(name)
        return self._llm

    def embedder(self, name: str) -> Embedder:
        _check(name)
        return self._embedder

    def relay(self, name: str) -> Relay:
        raise UsageError(f"{name} is a fake, so nothing can be passed on to it")

    def price_known(self, name: str) -> bool:  # noqa: ARG002 - fakes cost nothing
        return True

    def notes(self) -> tuple[Finding, ...]:
        return ()

    def trouble(self) -> str:
        return ""

    async def close(self) -> None:
        """Nothing is open."""


def _check(name: str) -> None:
    if name.startswith("unknown/"):
        raise UsageError(f"there is no model {name}")
