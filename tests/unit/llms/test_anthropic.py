"""Anthropic's messages: turns, tools, forced replies, and invalid replies."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from loop_server import serving
from misbehaving_server import RATES, MisbehavingServer, hurried

from evalharness.contracts.model import ChatMessage, ChatReply, ChatRequest, ModelName, Tool, ToolRequest
from evalharness.domain.finding import Finding
from evalharness.domain.transcript import Usage
from evalharness.errors import ModelUnavailable
from evalharness.llms.access import Access
from evalharness.llms.anthropic import Anthropic, reply_of, request_body
from evalharness.llms.endpoints import Endpoint
from evalharness.llms.post import Posting
from evalharness.llms.providers import PROVIDERS, endpoint_of
from evalharness.reports.words.say import say
from evalharness.values.json_value import only_object

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def asking(text: str = "hello", **fields: Any) -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(role="user", content=text),), **fields)


def reply(*blocks: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    usage = {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 4}
    return {"type": "message", "model": "c-1", "content": list(blocks), "stop_reason": stop, "usage": usage}


def test_turns_alternate_and_the_system_prompt_is_separate() -> None:
    request = ChatRequest(
        messages=(
            ChatMessage(role="system", content="be brief"),
            ChatMessage(role="user", content="list both"),
            ChatMessage(
                role="assistant",
                content="I look.",
                tool_requests=(
                    ToolRequest(id="1", name="ls", arguments='{"p": "a"}'),
                    ToolRequest(id="2", name="ls", arguments="broken"),
                ),
            ),
            ChatMessage(role="tool", content="a.txt", answers_request="1"),
            ChatMessage(role="tool", content="no such folder", answers_request="2"),
            ChatMessage(role="user", content="and now?"),
        ),
        tools=(Tool(name="ls"),),
        seed=7,
    )
    body = request_body("m", request)
    assert body["system"] == "be brief"
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "1", "name": "ls", "input": {"p": "a"}},
        {"type": "tool_use", "id": "2", "name": "ls", "input": {"arguments": "broken"}},
    ]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "1", "content": "a.txt"},
        {"type": "tool_result", "tool_use_id": "2", "content": "no such folder"},
        {"type": "text", "text": "and now?"},
    ]
    assert body["tools"] == [{"name": "ls", "description": "", "input_schema": {"type": "object", "properties": {}}}]
    assert body["max_tokens"] > 0
    assert "seed" not in body


def test_a_reply_with_text_and_usage() -> None:
    found = reply_of(reply({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "hi"}))
    assert found == ChatReply(text="hi", model="c-1", usage=Usage(input_tokens=7, output_tokens=2))


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("refusal", "refused"),
        ("tool_use", "tool_calls"),
        ("x", "other"),
    ],
)
def test_how_a_reply_ended(stop: str, finish: str) -> None:
    assert reply_of(reply(stop=stop)).finish_reason == finish


def test_requests_for_tools() -> None:
    found = reply_of(reply({"type": "tool_use", "id": "1", "name": "reply", "input": {"a": "ü"}}, stop="tool_use"))
    assert found.tool_requests == (ToolRequest(id="1", name="reply", arguments='{"a": "ü"}'),)
    assert found.finish_reason == "tool_calls"


def test_a_schema_is_a_tool_that_must_be_called_and_its_arguments_are_the_reply() -> None:
    body = request_body("m", asking(reply_schema=SCHEMA))
    assert body["tool_choice"]["name"] == body["tools"][0]["name"]
    assert body["tools"][0]["input_schema"] == SCHEMA
    call = {"type": "tool_use", "id": "1", "name": body["tools"][0]["name"], "input": {"a": 1}}
    found = reply_of(reply(call, stop="tool_use"), is_forced=True)
    assert (json.loads(found.text), found.tool_requests, found.finish_reason) == ({"a": 1}, (), "stop")
    assert reply_of(reply(call, stop="max_tokens"), is_forced=True).finish_reason == "length"


def test_a_second_forced_reply_is_not_hidden() -> None:
    yes, no = ({"type": "tool_use", "id": id_, "name": "reply", "input": {"a": id_}} for id_ in ("1", "2"))
    for blocks in ((yes, no), ({"type": "text", "text": '{"a": "2"}'}, yes)):
        with pytest.raises(ValueError, match="first JSON value"):
            only_object(reply_of(reply(*blocks, stop="tool_use"), is_forced=True).text)
    said = reply_of(reply({"type": "text", "text": "Let me see."}, yes, stop="tool_use"), is_forced=True)
    assert only_object(said.text) == {"a": "1"}, "text alone is not a second reply"


def test_beside_tools_of_ones_own_the_schema_is_said_in_words() -> None:
    body = request_body("m", asking(reply_schema=SCHEMA, tools=(Tool(name="ls"),)))
    assert "tool_choice" not in body
    assert json.dumps(SCHEMA) in body["messages"][-1]["content"][-1]["text"]


@pytest.mark.parametrize("usage", [None, 3, {}, {"input_tokens": 1.5, "output_tokens": 1}, {"input_tokens": 1}])
def test_usage_that_cannot_be_read_is_unknown_and_the_answer_is_kept(usage: Any) -> None:
    found = reply_of({**reply({"type": "text", "text": "hi"}), "usage": usage})
    assert (found.text, found.usage) == ("hi", None)


@pytest.mark.parametrize("blank", ["", " \n"])
def test_no_empty_message_is_ever_sent(blank: str) -> None:
    said = (ChatMessage(role="user", content="a"), ChatMessage(role="assistant", content=blank))
    [turn] = request_body("m", ChatRequest(messages=(*said, ChatMessage(role="user", content="b"))))["messages"]
    assert [block["text"] for block in turn["content"]] == ["a", "b"]
    for messages in ((), (ChatMessage(role="user", content=blank),), (*said, ChatMessage(role="user", content=blank))):
        with pytest.raises(ModelUnavailable, match="does not accept empty messages"):
            request_body("m", ChatRequest(messages=messages))


async def test_a_seed_is_left_out_and_thrown_away_replies_are_paid_for() -> None:
    bodies = [{"content": 3, "usage": {"input_tokens": 7, "output_tokens": 1}}, reply({"type": "text", "text": "hi"})]
    used: list[Usage] = []
    notes: list[Finding] = []

    async def handler(_request: web.Request) -> web.Response:
        return web.json_response(bodies.pop(0))

    posting = Posting(clock=hurried(100))
    async with serving(handler) as url:
        access = Access("anthropic", Endpoint(url), {}, Path(), posting, used.append, notes.append)
        try:
            found = await Anthropic("m", access).chat(asking(seed=4))
        finally:
            await posting.close()
    assert found.text == "hi"
    assert used == [Usage(input_tokens=7, output_tokens=1)]
    assert [say(note) for note in notes] == ["anthropic/m does not accept seed, so it was left out"]


@pytest.mark.parametrize(
    "body",
    [
        None,
        {},
        {"content": "hi"},
        {"content": ["hi"]},
        reply({"type": "text"}),
        reply({"type": "text", "text": 3}),
        reply({"type": "tool_use", "id": "1", "name": "f", "input": "x"}),
        reply({"type": "tool_use", "id": 1, "name": "f", "input": {}}),
        {**reply(), "stop_reason": 1},
        {"type": "error", "error": {"message": "overloaded"}},
    ],
)
def test_what_is_not_a_reply_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        reply_of(body)


async def test_a_server_that_cannot_force_a_tool_is_told_in_words_from_then_on() -> None:
    bodies: list[dict[str, Any]] = []

    async def handler(request: web.Request) -> web.Response:
        assert request.path == "/v1/messages"
        bodies.append(await request.json())
        if "tool_choice" in bodies[-1]:
            told = {"type": "error", "error": {"message": "tool_choice is not supported with thinking"}}
            return web.json_response(told, status=400)
        return web.json_response(reply({"type": "text", "text": '{"a": 1}'}))

    posting = Posting()
    async with serving(handler) as url:
        llm = Anthropic("m", Access("anthropic", Endpoint(url), {}, Path(), posting))
        try:
            replies = [(await llm.chat(asking(reply_schema=SCHEMA))).text for _ in range(2)]
        finally:
            await posting.close()
    assert replies == ['{"a": 1}'] * 2
    assert ["tool_choice" in body for body in bodies] == [True, False, False]


def test_of_what_a_refusal_quotes_only_the_key_is_taken_out() -> None:
    key = "canary-key-2f6b1c"

    async def handler(request: web.Request) -> web.Response:
        words = f"{request.headers['x-api-key']} may not use {request.headers['anthropic-version']}"
        return web.json_response({"type": "error", "error": {"message": words}}, status=403)

    async def run() -> None:
        posting = Posting()
        async with serving(handler) as url:
            environment = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": key}
            endpoint = endpoint_of(ModelName("anthropic", "m"), PROVIDERS["anthropic"], environment)
            try:
                await Anthropic("m", Access("anthropic", endpoint, {}, Path(), posting)).chat(asking())
            finally:
                await posting.close()

    with pytest.raises(ModelUnavailable, match=r"\[key\] may not use 2023-06-01"):
        asyncio.run(run())


def test_a_misbehaving_server_is_borne() -> None:
    clock = hurried(400)
    server = MisbehavingServer(RATES, clock=clock, seed=3)

    async def run() -> list[str]:
        posting = Posting(clock=clock, deadline_s=100_000, ceiling=20)
        async with server.here() as url:
            endpoint = Endpoint(url.removesuffix("/v1"))
            llm = Anthropic("m", Access("anthropic", endpoint, {}, Path(), posting))
            try:
                replies = await asyncio.gather(*(llm.chat(asking(f"q {number}")) for number in range(60)))
                return [reply.text for reply in replies]
            finally:
                await posting.close()

    assert asyncio.run(run()) == [f"q {number}" for number in range(60)]
    assert server.requests <= 1.1 * (60 + server.injected_faults)
