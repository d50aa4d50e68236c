"""A transcript as a conversation."""

from __future__ import annotations

from evalharness.domain.transcript import ToolCall, Transcript
from evalharness.reports.conversation import conversation

CALL = ToolCall(name="search", arguments={"q": "Peru"}, result="Lima")


def turns(*messages: dict[str, object], calls: tuple[ToolCall, ...] = ()) -> list[tuple[str, str]]:
    transcript = Transcript.model_validate({"messages": messages, "tool_calls": calls, "output": "x"})
    return [(turn.who, turn.call_head or turn.text) for turn in conversation(transcript)]


def test_calls_are_shown_where_a_message_makes_them_with_their_results() -> None:
    asked = {"role": "user", "content": "capital?"}
    calling = {"role": "assistant", "tool_calls": [{"function": {"name": "search", "arguments": '{"q": "Peru"}'}}]}
    result = {"role": "tool", "content": "Lima"}
    said = {"role": "assistant", "content": "Lima it is"}
    assert turns(asked, calling, result, said, calls=(CALL,)) == [
        ("user", "capital?"),
        ("tool", 'search({"q":"Peru"}) → Lima'),
        ("assistant", "Lima it is"),
    ]


def test_calls_that_no_message_makes_come_before_the_answer() -> None:
    found = turns({"role": "user", "content": "?"}, {"role": "assistant", "content": "Lima"}, calls=(CALL,))
    assert [who for who, _ in found] == ["user", "tool", "assistant"]


def test_calls_without_messages_are_shown_by_themselves() -> None:
    assert turns(calls=(CALL, CALL)) == [("tool", 'search({"q":"Peru"}) → Lima')] * 2


def test_parts_of_a_message_are_joined_and_pictures_named() -> None:
    parts = [{"type": "text", "text": "look:"}, {"type": "image_url", "image_url": {"url": "data:…"}}]
    assert turns({"role": "user", "content": parts}) == [("user", "look:\n(image_url)")]


def test_a_result_that_its_call_does_not_show_is_kept() -> None:
    assert turns({"role": "tool", "content": "something else"}, calls=(CALL,))[0] == ("tool", "something else")


def test_a_reply_without_text_is_left_out_unless_it_was_cut() -> None:
    empty = {"role": "assistant", "content": ""}
    assert turns({"role": "user", "content": "?"}, empty) == [("user", "?")]
    assert turns({**empty, "finish_reason": "length"}) == [("assistant", "")]
