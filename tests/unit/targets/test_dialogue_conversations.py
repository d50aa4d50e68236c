"""A case's question as chat messages."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.contracts.model import ChatMessage, ToolRequest
from evalharness.errors import TargetFailed, TrialSkipped
from evalharness.targets.dialogue import kept_message, turns_of


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def shape(content: Any) -> list[list[tuple[str, str]]]:
    return [[(message.role, message.content) for message in turn] for turn in turns_of(content)]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("What?", "What?"),
        ("", ""),
        ({"a": 1, "b": "x"}, '{"a":1,"b":"x"}'),
        ([1, 2], "[1,2]"),
        ([], "[]"),
        ([{"a": 1}], '[{"a":1}]'),
        (["Hello", 1], '["Hello",1]'),
        ({"messages": [], "more": 1}, '{"messages":[],"more":1}'),
        (7, "7"),
        (None, "null"),
    ],
)
def test_what_is_not_a_conversation_is_one_question(content: Any, text: str) -> None:
    assert shape(content) == [[("user", text)]]


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([], "there are none"),
        ([{"content": "Hello"}], "one of them has no role"),
        ([{"role": "user"}], "role user\\) has no content"),
        ([user("a"), {"role": "assistant", "content": None}], "role assistant\\) has no content"),
        ([{"role": "system"}, user("a")], "role system\\) has no content"),
    ],
)
def test_a_conversation_that_says_nothing_is_not_asked(messages: Any, reason: str) -> None:
    with pytest.raises(TargetFailed, match=reason):
        turns_of({"messages": messages})


def test_what_is_beside_messages_is_not_sent_as_text_in_silence() -> None:
    with pytest.raises(TargetFailed, match="the input also has user_id"):
        turns_of({"messages": [user("a")], "user_id": 7})


def test_user_messages_in_a_row_are_turns_of_their_own() -> None:
    assert shape([user("a"), user("b"), user("c")]) == [[("user", "a")], [("user", "b")], [("user", "c")]]
    assert shape(["a", "b"]) == [[("user", "a")], [("user", "b")]]
    assert shape({"messages": [user("a")]}) == [[("user", "a")]]


def test_what_has_been_replied_to_is_not_asked_again() -> None:
    history = [{"role": "system", "content": "Be brief."}, user("a"), {"role": "assistant", "content": "A"}, user("b")]
    assert shape(history) == [[("system", "Be brief."), ("user", "a"), ("assistant", "A"), ("user", "b")]]


def test_calls_of_tools_and_their_results_are_part_of_a_conversation() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look_up", "arguments": {"who": "Ada"}}}
    [turn] = turns_of(
        [
            user("Who?"),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "a poet's daughter"}]},
        ]
    )
    request = ToolRequest(id="1", name="look_up", arguments='{"who":"Ada"}')
    assert turn[1:] == [
        ChatMessage(role="assistant", tool_requests=(request,)),
        ChatMessage(role="tool", content="a poet's daughter", answers_request="1"),
    ]
    assert turns_of([kept_message(message) for message in turn]) == [turn]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}, "image_url"),
        ({"role": "oracle", "content": "x"}, "oracle"),
        ({"role": "assistant", "tool_calls": ["look_up"]}, "tool call"),
    ],
)
def test_what_cannot_be_sent_skips_the_trial(message: dict[str, Any], told: str) -> None:
    with pytest.raises(TrialSkipped, match=told):
        turns_of([message])
