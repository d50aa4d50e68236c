"""Models by name: opened once, priced, charged, capped, and closed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from loop_server import serving
from misbehaving_server import QUIET, MisbehavingServer

from evalharness.contracts.model import ChatMessage, ChatReply, ChatRequest
from evalharness.domain.finding import Finding
from evalharness.errors import SpendCapReached, UsageError
from evalharness.llms.pool import OpenModels, deadline_s
from evalharness.reports.words.say import say

PRICES = {"openai/m": {"input": 100, "output": 1000}, "openai/e": {"input": 500}}
HELLO = ChatRequest(messages=(ChatMessage(role="user", content="hello"),))


class Wallet:
    def __init__(self, cap_usd: float = 1.0) -> None:
        self.cap_usd = cap_usd
        self.charged: list[tuple[float | None, int]] = []

    async def begin(self, model: str, cost_usd: float = 0.0, tokens: int = 0) -> None:
        self.check()

    def check(self) -> None:
        if sum(cost_usd or 0.0 for cost_usd, _ in self.charged) >= self.cap_usd:
            raise SpendCapReached("no more")

    def end(self, model: str, cost_usd: float | None = 0.0, tokens: int = 0, *, broken_off: bool = False) -> None:
        if cost_usd is None or cost_usd or tokens:
            self.charge(cost_usd, tokens)

    def charge(
        self, cost_usd: float | None, tokens: int, model: str | None = None, *, broken_off: bool = False
    ) -> None:
        self.charged.append((cost_usd, tokens))


def environment(url: str, root: Path, **more: str) -> dict[str, str]:
    (root / "prices.json").write_text(json.dumps(PRICES), encoding="utf-8")
    return {"OPENAI_BASE_URL": url, "EVALHARNESS_PRICES": "prices.json", **more}


def with_models(
    root: Path, use: Any, purse: Wallet | None = None, server: MisbehavingServer | None = None, **more: str
) -> Any:
    async def run() -> Any:
        async with (server or MisbehavingServer(QUIET)).here() as url:
            models = OpenModels(environment(url, root, **more), root, 4, purse)
            try:
                return await use(models)
            finally:
                await models.close()

    return asyncio.run(run())


def test_a_reply_is_priced_and_charged(tmp_path: Path) -> None:
    wallet = Wallet()

    async def use(models: OpenModels) -> ChatReply:
        return await models.llm("openai/m").chat(HELLO)

    reply = with_models(tmp_path, use, wallet)
    assert reply.text == "hello"
    assert reply.cost_usd == pytest.approx(0.006)
    assert wallet.charged == [(pytest.approx(0.006), 15)]


def test_a_model_of_unknown_price_has_no_cost_but_its_tokens_count(tmp_path: Path) -> None:
    wallet = Wallet()

    async def use(models: OpenModels) -> ChatReply:
        assert not models.price_known("openai/other")
        assert models.price_known("openai/m")
        assert models.price_known("scripted/some/file.yaml")
        return await models.llm("openai/other").chat(HELLO)

    assert with_models(tmp_path, use, wallet).cost_usd is None
    assert wallet.charged == [(None, 15)]


def test_nothing_is_asked_once_the_budget_is_empty(tmp_path: Path) -> None:
    server = MisbehavingServer(QUIET)

    async def use(models: OpenModels) -> None:
        await models.llm("openai/m").chat(HELLO)
        with pytest.raises(SpendCapReached):
            await models.llm("openai/m").chat(HELLO)
        with pytest.raises(SpendCapReached):
            await models.embedder("openai/e").embed(["a"])

    with_models(tmp_path, use, Wallet(cap_usd=0.001), server)
    assert server.requests == 1


@pytest.mark.parametrize("noun", ["llm", "embedder"])
async def test_a_reply_that_makes_no_sense_is_not_asked_for_again_once_the_budget_is_empty(
    noun: str, tmp_path: Path
) -> None:
    asked: list[int] = []

    async def handler(_request: web.Request) -> web.Response:
        asked.append(1)
        body = {"choices": [], "data": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 1000}}
        return web.json_response(body)

    async with serving(handler) as url:
        models = OpenModels(environment(url, tmp_path), tmp_path, 4, Wallet(cap_usd=0.1))
        try:
            with pytest.raises(SpendCapReached):
                await (
                    models.llm("openai/m").chat(HELLO) if noun == "llm" else models.embedder("openai/e").embed(["a"])
                )
        finally:
            await models.close()
    assert len(asked) == 1


def test_embeddings_are_charged(tmp_path: Path) -> None:
    wallet = Wallet()

    async def use(models: OpenModels) -> Any:
        return await models.embedder("openai/e").embed(["a", "bc"])

    embedded = with_models(tmp_path, use, wallet)
    assert embedded.vectors == [[1.0, 1.0], [2.0, 1.0]]
    assert embedded.cost_usd == pytest.approx(0.001)
    assert wallet.charged == [(pytest.approx(0.001), 2)]


def test_a_model_is_opened_once_under_all_its_names(tmp_path: Path) -> None:
    models = OpenModels({"OPENAI_API_KEY": "key-of-mine-1234"}, tmp_path, 1)
    assert models.llm("gpt-4o") is models.llm("openai/gpt-4o") is models.llm("OpenAI/gpt-4o")
    assert models.llm("gpt-4o").name == "openai/gpt-4o"
    assert models.llm("gpt-4o-mini") is not models.llm("gpt-4o")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY is not set"),
        ("nobody/x", "unknown model provider 'nobody'"),
        ("llama", "is not a model"),
        ("openai-compatible/x", "needs the address"),
    ],
)
def test_what_cannot_be_opened_is_reported_before_anything_is_sent(name: str, message: str, tmp_path: Path) -> None:
    models = OpenModels({}, tmp_path, 1)
    with pytest.raises(UsageError, match=message):
        models.llm(name)
    with pytest.raises(UsageError, match=message):
        models.embedder(name)


def test_a_hint_names_providers_and_no_way_of_talking_to_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as told:
        OpenModels({}, tmp_path, 1).llm("nobody/x")
    assert "scripted" in told.value.hint
    assert "openai-compatible" not in told.value.hint


@pytest.mark.parametrize("noun", ["llm", "embedder"])
def test_prices_that_cannot_be_read_are_reported_before_anything_is_sent(noun: str, tmp_path: Path) -> None:
    models = OpenModels({"OPENAI_API_KEY": "key-of-mine-1234", "EVALHARNESS_PRICES": "missing.json"}, tmp_path, 1)
    with pytest.raises(UsageError, match=r"cannot read the prices in missing\.json"):
        getattr(models, noun)("openai/m")


def test_a_provider_without_embeddings_is_reported(tmp_path: Path) -> None:
    models = OpenModels({"ANTHROPIC_API_KEY": "key-of-mine-1234"}, tmp_path, 1)
    with pytest.raises(UsageError, match="anthropic has no embeddings"):
        models.embedder("anthropic/claude-x")


def test_the_key_goes_into_a_header_and_nowhere_else(tmp_path: Path) -> None:
    server = MisbehavingServer(QUIET)
    key = "canary-5d2e9f-header"

    async def use(models: OpenModels) -> str:
        llm = models.llm("openai/m")
        return repr(await llm.chat(HELLO)) + repr(llm) + repr(vars(llm))

    shown = with_models(tmp_path, use, None, server, OPENAI_API_KEY=key)
    assert key not in shown
    assert server.headers[0]["Authorization"] == f"Bearer {key}"
    assert key not in json.dumps(server.bodies)


async def test_a_reply_without_usage_is_charged_by_a_guess(tmp_path: Path) -> None:
    from aiohttp import web
    from loop_server import serving

    wallet = Wallet()

    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"choices": [{"message": {"content": "x" * 400}, "finish_reason": "stop"}]})

    async with serving(handler) as url:
        models = OpenModels(environment(url, tmp_path), tmp_path, 1, wallet)
        reply = await models.llm("openai/m").chat(HELLO)
        await models.close()
        found = reply
    assert found.cost_usd is None, "an estimate is not a price"
    ((cost_usd, tokens),) = wallet.charged
    assert tokens > 100
    assert cost_usd is not None
    assert cost_usd > 0.1


@pytest.mark.parametrize("written", ["soon", "0", "-3", "nan", "inf", "1e9"])
def test_an_invalid_deadline_is_reported(written: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="EVALHARNESS_MODEL_DEADLINE"):
        deadline_s({"EVALHARNESS_MODEL_DEADLINE": written})
    models = OpenModels({"OPENAI_API_KEY": "key-of-mine-1234", "EVALHARNESS_MODEL_DEADLINE": written}, tmp_path, 1)
    with pytest.raises(UsageError, match="EVALHARNESS_MODEL_DEADLINE"):
        models.llm("openai/m")


def test_a_deadline_can_be_set() -> None:
    assert deadline_s({"EVALHARNESS_MODEL_DEADLINE": "42.5"}) == 42.5
    assert deadline_s({}) > 600, "longer than the longest wait a server can request"


async def test_what_a_model_was_not_asked_is_noted_once(tmp_path: Path) -> None:
    async def use(models: OpenModels) -> tuple[Finding, ...]:
        llm = models.llm("anthropic/m")
        for _ in range(2):
            await llm.chat(HELLO.model_copy(update={"seed": 3}))
        return models.notes()

    async with MisbehavingServer(QUIET).here() as url:
        models = OpenModels({"ANTHROPIC_BASE_URL": url}, tmp_path, 4)
        assert models.notes() == ()
        try:
            found = await use(models)
        finally:
            await models.close()
    assert [say(note) for note in found] == ["anthropic/m does not accept seed, so it was left out"]


async def test_that_a_model_takes_no_temperature_is_known_once_it_was_asked(tmp_path: Path) -> None:
    async def handler(request: web.Request) -> web.Response:
        if "temperature" in await request.json():
            return web.json_response({"error": "temperature is not supported"}, status=400)
        return web.json_response({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]})

    async with serving(handler) as url:
        models = OpenModels({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "key-of-mine-1234"}, tmp_path, 1)
        llm: Any = models.llm("openai/m")
        known = [llm.takes_no_temperature]
        try:
            await llm.chat(HELLO.model_copy(update={"temperature": 0.0}))
            replies = [*known, llm.takes_no_temperature]
        finally:
            await models.close()
    assert replies == [False, True]


async def test_a_reply_that_is_thrown_away_is_charged(tmp_path: Path) -> None:
    wallet = Wallet()
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    bodies = [{"choices": [], "usage": usage}, {"choices": [{"message": {"content": "hi"}}], "usage": usage}]

    async def handler(_request: web.Request) -> web.Response:
        return web.json_response(bodies.pop(0))

    async with serving(handler) as url:
        models = OpenModels(environment(url, tmp_path), tmp_path, 4, wallet)
        try:
            said = (await models.llm("openai/m").chat(HELLO)).text
        finally:
            await models.close()
    assert said == "hi"
    assert wallet.charged == [(pytest.approx(0.006), 15)] * 2


@pytest.mark.parametrize("kind", ["truncated", "reset", "nan", "garbage"])
def test_a_request_whose_reply_is_lost_is_charged_a_guess_of_what_was_sent(kind: str, tmp_path: Path) -> None:
    """It was asked and may have to be paid: a server that breaks every reply must not continue past the cap."""
    wallet = Wallet(cap_usd=0.001)
    server = MisbehavingServer({**QUIET, kind: 1.0})

    async def use(models: OpenModels) -> Any:
        return await models.llm("openai/m").chat(HELLO)

    with pytest.raises(SpendCapReached):
        with_models(tmp_path, use, wallet, server)
    assert server.requests == 1
    assert all(cost_usd for cost_usd, _ in wallet.charged)
