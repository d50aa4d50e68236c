"""Chat completions: what is sent, what is read, and how servers with missing features are handled."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from loop_server import serving
from misbehaving_server import hurried

from evalharness.contracts.model import ChatMessage, ChatReply, ChatRequest, Tool, ToolRequest
from evalharness.domain.finding import Finding
from evalharness.domain.transcript import Usage
from evalharness.errors import ModelUnavailable
from evalharness.llms.access import Access
from evalharness.llms.endpoints import Endpoint
from evalharness.llms.openai_compatible import OpenAiCompatible, reply_of, request_body
from evalharness.llms.post import Posting
from evalharness.reports.words.say import say

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def asking(text: str = "hello", **fields: Any) -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(role="user", content=text),), **fields)


def message(content: Any = "hi", finish: str | None = "stop", **fields: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content, **fields}, "finish_reason": finish}]}


def talk(
    answer: Callable[[dict[str, Any]], tuple[int, Any]], *requests: ChatRequest, **hooks: Callable[[Any], None]
) -> list[ChatReply]:
    """The replies of one model to one request after the other, from a server with prepared answers."""

    async def handler(request: web.Request) -> web.Response:
        assert request.path == "/v1/chat/completions"
        status, body = answer(await request.json())
        return web.json_response(body, status=status)

    async def run() -> list[ChatReply]:
        posting = Posting(clock=hurried(100))
        async with serving(handler) as url:
            llm = OpenAiCompatible("m", Access("openai", Endpoint(f"{url}/v1"), {}, Path(), posting, **hooks))
            assert llm.name == "openai/m"
            try:
                return [await llm.chat(request) for request in requests]
            finally:
                await posting.close()

    return asyncio.run(run())


def test_everything_of_a_request_is_sent() -> None:
    request = ChatRequest(
        messages=(
            ChatMessage(role="system", content="be brief"),
            ChatMessage(role="user", content="list"),
            ChatMessage(role="assistant", tool_requests=(ToolRequest(id="1", name="ls", arguments='{"p": "."}'),)),
            ChatMessage(role="tool", content="a.txt", answers_request="1"),
        ),
        tools=(Tool(name="ls", description="lists", parameters={"type": "object"}),),
        temperature=0.0,
        max_tokens=9,
        seed=7,
    )
    body = request_body("m", request)
    assert body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "list"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "ls", "arguments": '{"p": "."}'}}],
        },
        {"role": "tool", "content": "a.txt", "tool_call_id": "1"},
    ]
    assert body["tools"][0]["function"] == {"name": "ls", "description": "lists", "parameters": {"type": "object"}}
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.0, 9, 7)


def test_what_is_not_asked_for_is_not_sent() -> None:
    assert set(request_body("m", asking())) == {"model", "messages"}


def test_a_schema_is_sent_as_a_strict_one() -> None:
    form = request_body("m", asking(reply_schema=SCHEMA))["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["schema"] == SCHEMA
    assert form["json_schema"]["strict"] is True


def test_a_plain_reply_with_its_usage() -> None:
    body = {**message("hi"), "model": "m-1", "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}
    assert reply_of(body) == ChatReply(text="hi", model="m-1", usage=Usage(input_tokens=3, output_tokens=2))


def test_thinking_that_only_the_total_counts_is_output() -> None:
    body = {**message(), "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 50}}
    assert reply_of(body).usage == Usage(input_tokens=3, output_tokens=47)


@pytest.mark.parametrize("count", ["many", "", "-3", "1" * 400, -3, 2.5, True, None, [3], 1e400, 10**99, 1e308])
def test_usage_that_cannot_be_read_is_unknown_and_the_answer_is_kept(count: Any) -> None:
    for usage in ({"prompt_tokens": count, "completion_tokens": 2}, {"completion_tokens": 2}, count):
        reply = reply_of({**message("hi"), "usage": usage})
        assert (reply.text, reply.usage) == ("hi", None)


@pytest.mark.parametrize("count", [12, 12.0, "12"])
def test_a_whole_number_is_one_however_it_is_written(count: Any) -> None:
    usage = reply_of({**message(), "usage": {"prompt_tokens": count, "completion_tokens": count}}).usage
    assert usage == Usage(input_tokens=12, output_tokens=12)


@pytest.mark.parametrize(("finish", "said"), [("length", {}), ("length", {"content": None}), ("stop", {"content": ""})])
def test_a_model_that_has_said_nothing_has_replied_and_is_asked_once(finish: str, said: dict[str, Any]) -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        bodies.append(body)
        choice = {"message": {"role": "assistant", **said}, "finish_reason": finish}
        return 200, {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 900}}

    [reply] = talk(answer, asking())
    assert (reply.text, reply.finish_reason) == ("", finish)
    assert reply.usage == Usage(input_tokens=3, output_tokens=900)
    assert len(bodies) == 1


def test_replies_that_are_thrown_away_are_paid_for() -> None:
    used: list[Usage] = []
    usage = {"prompt_tokens": 3, "completion_tokens": 5}
    bodies = [{"choices": [], "usage": usage}, {"choices": 7}, {**message(), "usage": usage}]
    [reply] = talk(lambda _body: (200, bodies.pop(0)), asking(), used=used.append)
    assert reply.usage == Usage(input_tokens=3, output_tokens=5)
    assert used == [Usage(input_tokens=3, output_tokens=5)]


@pytest.mark.parametrize(
    ("body", "finish"),
    [
        (message(finish="stop"), "stop"),
        (message(finish="length"), "length"),
        (message(finish="content_filter"), "refused"),
        (message(None, "stop", refusal="I will not"), "refused"),
        (message(finish="eos"), "other"),
        (message(finish=None), "other"),
        (message(None, "stop", tool_calls=[{"id": "1", "function": {"name": "f"}}]), "tool_calls"),
        (message(None, "length", tool_calls=[{"id": "1", "function": {"name": "f"}}]), "length"),
    ],
)
def test_how_a_reply_ended(body: dict[str, Any], finish: str) -> None:
    assert reply_of(body).finish_reason == finish


def test_a_refusal_is_its_text() -> None:
    assert reply_of(message(None, "stop", refusal="I will not")).text == "I will not"


def test_requests_for_tools_in_the_forms_servers_give_them() -> None:
    calls = [
        {"id": "x", "function": {"name": "f", "arguments": '{"a": 1'}},
        {"function": {"name": "g", "arguments": {"a": 1}}},
        {"id": "", "function": {"name": "h", "arguments": None}},
    ]
    assert reply_of(message(None, "tool_calls", tool_calls=calls)).tool_requests == (
        ToolRequest(id="x", name="f", arguments='{"a": 1'),
        ToolRequest(id="call_1", name="g", arguments='{"a": 1}'),
        ToolRequest(id="call_2", name="h", arguments="{}"),
    )


def test_of_a_reply_in_parts_the_text_counts() -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert reply_of(message(parts)).text == "ab"


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"choices": []},
        {"choices": None},
        {"choices": ["hi"]},
        {"choices": [{}]},
        {"choices": [{"message": "hi"}]},
        {"choices": [{"message": {}}]},
        message(7),
        message(["hi"]),
        message([{"type": "text", "text": 7}]),
        message(True),
        message(finish=3),  # type: ignore[arg-type]
        message(tool_calls="f"),
        message(tool_calls=[{"function": {"name": 3}}]),
        message(tool_calls=[{"function": {"name": "f", "arguments": 3}}]),
        message(finish="error"),
        {"choices": [{"message": {"role": "assistant"}, "finish_reason": None}]},
        {"choices": [*message("yes")["choices"], *message("no")["choices"]]},
        {**message(), "model": 3},
        {**message(), "error": {"message": "overloaded"}},
    ],
)
def test_what_is_not_a_reply_is_refused(body: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        reply_of(body)


def test_a_server_without_schemas_is_told_in_words_and_asked_for_one_only_once() -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        bodies.append(body)
        if "response_format" in body:
            return 400, {"error": {"message": "response_format of type json_schema is not supported"}}
        return 200, message('{"a": 1}')

    replies = talk(answer, asking(reply_schema=SCHEMA), asking("again", reply_schema=SCHEMA))
    assert [reply.text for reply in replies] == ['{"a": 1}'] * 2
    assert ["response_format" in body for body in bodies] == [True, False, False]
    for body in bodies[1:]:
        assert json.dumps(SCHEMA) in body["messages"][-1]["content"]
    assert bodies[2]["messages"][-1]["content"].startswith("again\n")


def test_a_server_that_ignores_the_schema_is_told_in_words_from_then_on() -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        bodies.append(body)
        return 200, message("sure, here it is")

    replies = talk(answer, asking(reply_schema=SCHEMA), asking(reply_schema=SCHEMA), asking())
    assert len(replies) == 3, "no reply is hidden: all are paid for"
    told = [json.dumps(SCHEMA) in body["messages"][-1]["content"] for body in bodies]
    assert told == [False, True, False]


def test_parameters_a_model_does_not_have_are_left_out_from_then_on() -> None:
    bodies: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        bodies.append(body)
        if "max_tokens" in body:
            return 400, {"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."}}
        if "temperature" in body:
            return 400, {"error": {"message": "'temperature' does not support 0 with this model."}}
        if "seed" in body:
            return 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}
        return 200, message()

    request = asking(temperature=0.0, max_tokens=5, seed=1)
    notes: list[Finding] = []
    talk(answer, request, request, note=notes.append)
    assert len(bodies) == 5
    assert [say(note) for note in notes] == [
        "openai/m does not accept temperature, so it was left out",
        "openai/m does not accept seed, so it was left out",
    ], "the token limit has another name"
    assert set(bodies[-1]) == {"model", "messages", "max_completion_tokens"}
    assert bodies[-1]["max_completion_tokens"] == 5


async def test_many_who_meet_a_refusal_at_once_all_get_their_reply() -> None:
    async def handler(request: web.Request) -> web.Response:
        if "temperature" in await request.json():
            return web.json_response({"error": "temperature is not supported"}, status=400)
        return web.json_response(message())

    posting = Posting()
    async with serving(handler) as url:
        llm = OpenAiCompatible("m", Access("openai", Endpoint(url), {}, Path(), posting))
        try:
            replies = await asyncio.gather(*(llm.chat(asking(temperature=0.0)) for _ in range(20)))
        finally:
            await posting.close()
    assert [reply.text for reply in replies] == ["hi"] * 20


@pytest.mark.parametrize(
    "words",
    [
        "temperature must be between 0 and 1",
        "temperature 2.0 is too high: this model supports values from 0 to 1",
        "Invalid parameter: temperature must be <= 1",
        "Unsupported value: temperature 2.0 is above the maximum of 1",
        "max_tokens is too large: 5000. This model supports at most 100 completion tokens.",
        "this model's context has 8192 tokens",
        "no such model",
    ],
)
def test_mistakes_of_the_user_are_reported_and_not_papered_over(words: str) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        is_whole = "temperature" in body and "max_tokens" in body
        return (400, {"error": {"message": words}}) if is_whole else (200, message())

    with pytest.raises(ModelUnavailable, match=re.escape(words)):
        talk(answer, asking(temperature=2.0, max_tokens=5000))


@pytest.mark.parametrize(
    "words",
    [
        "Unsupported value: 'temperature' does not support 0.2. Only the default (1) value is supported.",
        "Unsupported parameter: 'temperature' is not supported with this model.",
        "temperature isn't supported",
        "temperature is not currently supported by this model",
        "Unrecognized request argument supplied: temperature",
        "`temperature` is deprecated for this model.",
        "temperature: Extra inputs are not permitted",
    ],
)
def test_a_refusal_that_says_so_leaves_a_parameter_out(words: str) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        return (400, {"error": {"message": words}}) if "temperature" in body else (200, message())

    assert [reply.text for reply in talk(answer, asking(temperature=0.2))] == ["hi"]


def test_a_schema_with_bounds_that_the_server_does_not_know_is_told_in_words() -> None:
    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        words = "Invalid schema for response_format 'reply': 'minimum' is not permitted."
        return (400, {"error": {"message": words}}) if "response_format" in body else (200, message('{"a": 1}'))

    assert [reply.text for reply in talk(answer, asking(reply_schema=SCHEMA))] == ['{"a": 1}']
