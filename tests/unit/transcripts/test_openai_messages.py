from __future__ import annotations

import json
from typing import Any

import pytest
from agent_streams import ANSWER, MESSAGES, PLAN, lines

from evalharness.domain.transcript import ToolCall, Usage, errors_of
from evalharness.transcripts.openai_messages import parse


@pytest.mark.parametrize("text", [json.dumps(MESSAGES), json.dumps({"messages": MESSAGES}), lines(*MESSAGES)])
def test_every_way_to_write_messages(text: str) -> None:
    found = parse(text)
    assert found.output == ANSWER
    assert [message["role"] for message in found.messages] == [message["role"] for message in MESSAGES]
    assert found.tool_calls == (
        ToolCall(name="write_file", arguments={"path": "notes.txt", "content": PLAN}, result="written"),
        ToolCall(name="shell", arguments={"cmd": "make check"}, result="no rule to make check"),
    )
    assert (found.usage, found.events) == (None, ())


def test_the_answer_is_the_last_thing_the_assistant_said() -> None:
    calls = {"role": "assistant", "content": "", "tool_calls": MESSAGES[2]["tool_calls"]}
    assert parse(lines({"role": "assistant", "content": "Wait."}, calls)).output == "Wait."
    assert parse(lines({"role": "user", "content": "Hello?"})).output == ""


def test_a_list_without_its_end() -> None:
    assert parse(json.dumps(MESSAGES, indent=2)[:-30]).messages == parse(json.dumps(MESSAGES[:-1])).messages


def test_whole_replies_of_the_chat_api() -> None:
    replies = [
        {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 2},
        }
        for text in ("one", "two")
    ]
    found = parse(lines(*replies))
    assert (found.output, found.usage) == ("two", Usage(input_tokens=20, output_tokens=4))


def test_items_of_the_responses_api() -> None:
    output: list[dict[str, Any]] = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Look it up."}]},
        {"type": "function_call", "call_id": "c", "name": "look_up", "arguments": '{"q": 1}'},
        {"type": "function_call_output", "call_id": "c", "output": "found"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is 1."}]},
    ]
    usage = {"input_tokens": 3, "output_tokens": 4}
    for text in (json.dumps({"object": "response", "output": output, "usage": usage}), lines(*output)):
        found = parse(text)
        assert found.output == "It is 1."
        assert found.tool_calls == (ToolCall(name="look_up", arguments={"q": 1}, result="found"),)
        assert found.messages[0]["reasoning_content"] == "Look it up."


def test_function_calls_of_the_oldest_kind() -> None:
    found = parse(
        lines(
            {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": "[1, 2]"}},
            {"role": "function", "name": "add", "content": "3"},
        )
    )
    assert found.tool_calls == (ToolCall(name="add", arguments=[1, 2], result="3"),)


def test_an_error_reply() -> None:
    assert errors_of(parse('{"error": {"message": "no such model", "code": 404}}')) == ["no such model"]
