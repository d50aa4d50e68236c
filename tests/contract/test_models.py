"""The contract of every language model and every embedder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from loop_server import serving
from real_models import access, need_smollm2, need_wordllama

from evalharness import registry
from evalharness.contracts.model import ChatMessage, ChatReply, ChatRequest, Embedder, Llm
from evalharness.errors import ModelUnavailable
from evalharness.llms.post import Posting
from evalharness.testing.model import FakeEmbedder, FakeLlm
from evalharness.testing.model_contract import EmbedderContract, LlmContract

LLMS = {"openai-compatible": "m", "anthropic": "m", "scripted": "script.yaml", "local": "smollm2"}
EMBEDDERS = {"openai-compatible": "m", "local": "wordllama"}


async def four(request: web.Request) -> web.Response:
    """A server that supports both wire formats, and returns vectors that count letters."""
    if request.path.endswith("messages"):
        return web.json_response({"content": [{"type": "text", "text": "4"}], "stop_reason": "end_turn"})
    if request.path.endswith("embeddings"):
        texts = (await request.json())["input"]
        counts = [[text.count(letter) + 0.5 for letter in "acdgot"] for text in texts]
        return web.json_response({"data": [{"index": i, "embedding": each} for i, each in enumerate(counts)]})
    return web.json_response({"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}]})


@asynccontextmanager
async def posting_to_four() -> AsyncIterator[tuple[str, Posting]]:
    posting = Posting()
    async with serving(four) as base:
        try:
            yield base, posting
        finally:
            await posting.close()


@pytest.mark.parametrize("wire", sorted(registry.BUILT_IN["llm"]))
class TestEveryLlm(LlmContract):
    @pytest.fixture(autouse=True)
    def _named(self, wire: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        if wire == "local":
            need_smollm2()
        self.wire = wire
        self.text = None if wire == "local" else "4"
        (tmp_path / "script.yaml").write_text('replies: [{text: "4"}]')

    @asynccontextmanager
    async def opened(self, root: Path) -> AsyncIterator[Llm]:
        async with posting_to_four() as (base, posting):
            yield registry.load("llm", self.wire)(LLMS[self.wire], access("test", root, base, posting))


class TestTheFakeLlm(LlmContract):
    text = "4"

    @asynccontextmanager
    async def opened(self, root: Path) -> AsyncIterator[Llm]:
        yield FakeLlm("4")

    def test_it_says_one_thing_after_the_other_and_records_what_it_was_asked(self) -> None:
        async def shout(request: ChatRequest) -> ChatReply:
            return ChatReply(text=request.messages[-1].content.upper())

        async def ask() -> list[str]:
            said = [(await llm.chat(request)).text for _ in range(3)]
            for _ in range(2):
                with pytest.raises(ModelUnavailable, match="too late"):
                    await llm.chat(request)
            return said

        request = ChatRequest(messages=(ChatMessage(role="user", content="hello"),))
        llm = FakeLlm("one", ChatReply(text="two"), shout, ModelUnavailable("too late"))
        assert asyncio.run(ask()) == ["one", "two", "HELLO"]
        assert llm.requests == [request] * 5


@pytest.mark.parametrize("wire", sorted(registry.BUILT_IN["embedder"]))
class TestEveryEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _named(self, wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        if wire == "local":
            need_wordllama()
        self.wire = wire

    @asynccontextmanager
    async def opened(self, root: Path) -> AsyncIterator[Embedder]:
        async with posting_to_four() as (base, posting):
            yield registry.load("embedder", self.wire)(EMBEDDERS[self.wire], access("test", root, base, posting))


class TestTheFakeEmbedder(EmbedderContract):
    @asynccontextmanager
    async def opened(self, root: Path) -> AsyncIterator[Embedder]:
        yield FakeEmbedder()
