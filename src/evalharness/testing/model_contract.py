"""What every language model and every embedder promises, as classes of tests: inherit from one in a test file."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

from evalharness.contracts.model import ChatMessage, ChatReply, ChatRequest, Embedder, Llm

Model = TypeVar("Model", Llm, Embedder)


def _using(opened: AbstractAsyncContextManager[Model], use: Callable[[Model], Awaitable[Any]]) -> None:
    async def run() -> None:
        async with opened as model:
            try:
                await use(model)
            finally:
                await model.close()

    asyncio.run(run())


class LlmContract(ABC):
    text: str | None = None
    """What the model says when it is asked "What is 2+2?"; None where that cannot be foreseen."""

    @abstractmethod
    def opened(self, root: Path) -> AbstractAsyncContextManager[Llm]:
        """The model under test, with whatever it needs."""

    def request(self) -> ChatRequest:
        return ChatRequest(messages=(ChatMessage(role="user", content="What is 2+2?"),), max_tokens=20)

    def test_it_replies(self, tmp_path: Path) -> None:
        async def use(llm: Llm) -> None:
            reply = await llm.chat(self.request())
            assert isinstance(reply, ChatReply)
            assert reply.text if self.text is None else reply.text == self.text
            assert reply.tool_requests == ()

        _using(self.opened(tmp_path), use)

    def test_it_replies_to_several_at_once(self, tmp_path: Path) -> None:
        async def use(llm: Llm) -> None:
            replies = await asyncio.gather(*(llm.chat(self.request()) for _ in range(3)))
            assert all(reply.text if self.text is None else reply.text == self.text for reply in replies)

        _using(self.opened(tmp_path), use)

    def test_it_says_which_model_it_is(self, tmp_path: Path) -> None:
        async def use(llm: Llm) -> None:
            assert isinstance(llm, Llm)
            provider, _, model = llm.name.partition("/")
            assert provider and model
            before = llm.revision
            assert isinstance(before, str)
            assert isinstance(llm.takes_no_temperature, bool)
            await llm.chat(self.request())
            assert llm.revision == before, "asking changes nothing that sets it apart"

        _using(self.opened(tmp_path), use)

    def test_closing_may_be_repeated_and_needs_no_question(self, tmp_path: Path) -> None:
        async def unused(llm: Llm) -> None:
            await llm.close()

        async def used(llm: Llm) -> None:
            await llm.chat(self.request())
            await llm.close()

        for use in (unused, used):
            _using(self.opened(tmp_path), use)


class EmbedderContract(ABC):
    @abstractmethod
    def opened(self, root: Path) -> AbstractAsyncContextManager[Embedder]:
        """The embedder under test, with whatever it needs."""

    def test_it_gives_one_vector_for_each_text_all_of_one_length(self, tmp_path: Path) -> None:
        async def use(embedder: Embedder) -> None:
            embedded = await embedder.embed(["a cat", "a dog", "a cat", ""])
            assert len(embedded.vectors) == 4
            assert len({len(vector) for vector in embedded.vectors}) == 1
            assert embedded.vectors[0] == embedded.vectors[2] != embedded.vectors[1]

        _using(self.opened(tmp_path), use)

    def test_it_says_which_model_it_is_and_may_be_closed_twice(self, tmp_path: Path) -> None:
        async def use(embedder: Embedder) -> None:
            assert isinstance(embedder, Embedder)
            provider, _, model = embedder.name.partition("/")
            assert provider and model
            await embedder.close()

        _using(self.opened(tmp_path), use)
