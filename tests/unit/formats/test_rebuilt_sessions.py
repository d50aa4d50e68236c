"""A session rebuilt from the events of its run."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.documents.session import ChatMessage, Session
from evalharness.formats.recorded_sessions.rebuilt_sessions import session_from_events

NOW = "2026-02-01T00:00:00Z"
STOP = {"type": "stream_stopped"}


def choice(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "agent_choice", "content": text, **more}


def call(name: str, **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": '{"path":"."}'}
    return {"type": "tool_call", "tool_call": {"id": "c1", "type": "function", "function": function}, **more}


RESPONSE = {"type": "tool_call_response", "response": "a.txt", "tool_call_id": "c1"}


def rebuilt(events: list[Any], *questions: str) -> Session:
    return session_from_events(events, "title", questions or ("how many?",), session_id="s", now=NOW)


def messages(session: Session) -> list[ChatMessage]:
    return [item.message.message for item in session.messages if item.message]


def roles(session: Session) -> list[str]:
    return [message.role for message in messages(session)]


def test_text_calls_and_responses_become_messages() -> None:
    found = rebuilt(
        [choice("Let me see. "), call("list", tool_definition={"name": "list"}), RESPONSE, choice("One."), STOP]
    )
    user, assistant, tool, last = messages(found)
    assert (user.role, user.content) == ("user", "how many?")
    assert (assistant.role, assistant.content) == ("assistant", "Let me see. ")
    assert [each.function.name for each in assistant.tool_calls] == ["list"]
    assert assistant.tool_definitions == ({"name": "list"},)
    assert (tool.role, tool.content, tool.tool_call_id) == ("tool", "a.txt", "c1")
    assert (last.role, last.content) == ("assistant", "One.")
    assert (found.id, found.title, found.tools_approved, found.created_at) == ("s", "title", True, NOW)


def test_an_error_is_a_message_of_the_system() -> None:
    found = rebuilt([choice("Well"), {"type": "error", "error": "no model"}, STOP])
    assert roles(found) == ["user", "assistant", "system"]
    assert messages(found)[2].content == "Error: no model"


@pytest.mark.parametrize(
    "event", [{"type": "error", "error": "no model"}, {"type": "budget_exceeded", "message": "no money"}, RESPONSE]
)
def test_whatever_comes_first_the_first_question_was_before_it(event: dict[str, Any]) -> None:
    told = [message.content for message in messages(rebuilt([event], "a", "b"))]
    assert (told[0], told[2:]) == ("a", ["b"])
    assert [message.content for message in messages(rebuilt([event, choice("one"), STOP], "a"))][::2] == ["a", "one"]


def test_reasoning_is_joined_and_kept_apart_from_the_text() -> None:
    thoughts = [{"type": "agent_choice_reasoning", "content": text} for text in ("hm, ", "yes")]
    [_, answer] = messages(rebuilt([*thoughts, choice("Yes."), STOP]))
    assert (answer.reasoning_content, answer.content) == ("hm, yes", "Yes.")


def test_unknown_events_and_odd_values_are_passed_over() -> None:
    events = [
        {"type": "brand_new"},
        {"type": ["x"]},
        {},
        {"type": "tool_call", "tool_call": 3},
        choice("Valid"),
        "noise",
    ]
    assert messages(rebuilt(events))[-1].content == "Valid"


def test_questions_are_asked_turn_by_turn_and_none_is_lost() -> None:
    found = rebuilt([choice("one"), STOP, choice("two"), STOP], "a", "b", "c")
    assert [message.content for message in messages(found)] == ["a", "one", "b", "two", "c"]


@pytest.mark.parametrize("asked", [[], [{"type": "user_message", "message": ""}]])
def test_an_empty_question_is_a_question(asked: list[Any]) -> None:
    found = rebuilt([*asked, choice("one"), STOP, *asked, choice("two"), STOP, *asked], "", "b", "")
    told = [("user", ""), ("assistant", "one"), ("user", "b"), ("assistant", "two"), ("user", "")]
    assert [(message.role, message.content) for message in messages(found)] == told


def test_a_question_has_the_time_at_which_it_was_asked() -> None:
    asked = {"type": "user_message", "message": "ignored", "timestamp": "2026-01-01T00:00:00Z"}
    found = rebuilt([asked, choice("one", timestamp="soon"), STOP])
    assert [(m.content, m.created_at) for m in messages(found)] == [("how many?", "2026-01-01T00:00:00Z"), ("one", NOW)]


def test_the_end_of_a_sub_agents_stream_does_not_ask_the_next_question() -> None:
    """In the original it does."""
    start = {"type": "stream_started"}
    events = [
        start,
        choice("I ask helper."),
        start,
        choice("helped"),
        STOP,
        choice("Done."),
        STOP,
        start,
        choice("Bye"),
        STOP,
    ]
    found = rebuilt(events, "a", "b")
    assert [m.content for m in messages(found)] == ["a", "I ask helper.helped", "Done.", "b", "Bye"]


def test_two_agents_never_share_a_message() -> None:
    found = rebuilt([choice("one", agent_name="a"), choice("two", agent_name="b"), STOP])
    entries = [item.message for item in found.messages if item.message]
    assert [(entry.agent_name, entry.message.content) for entry in entries[1:]] == [("a", "one"), ("b", "two")]


def test_usage_is_the_last_of_each_session_and_goes_with_its_message() -> None:
    def usage(session_id: str, **values: Any) -> dict[str, Any]:
        return {"type": "token_usage", "session_id": session_id, "usage": values}

    last_message = {"InputTokens": 7, "output_tokens": 2, "Model": "m", "Cost": 0.5}
    events = [
        choice("x"), usage("s", input_tokens=5, output_tokens=1, cost=0.1), usage("sub", output_tokens=4, cost=0.25),
        usage("s", input_tokens=9, output_tokens=3, last_message=last_message), STOP,
    ]  # fmt: skip
    found = rebuilt(events)
    assert (found.input_tokens, found.output_tokens, found.cost) == (9, 7, pytest.approx(0.35))
    answer = messages(found)[-1]
    assert (answer.usage, answer.model, answer.cost) == ({"input_tokens": 7, "output_tokens": 2}, "m", 0.5)


def test_numbers_that_count_nothing_are_none() -> None:
    odd = {"type": "token_usage", "usage": {"input_tokens": 10**400, "output_tokens": True, "cost": float("nan")}}
    found = rebuilt([choice("x"), odd])
    assert (found.input_tokens, found.output_tokens, found.cost) == (0, 0, 0.0)


def test_a_budget_that_ran_out_is_reported_once_and_is_not_an_error() -> None:
    event = {"type": "budget_exceeded", "budget": "cost", "used": 2, "max": 1, "message": "Stopped\x1b[31m here "}
    found = rebuilt([choice("Work"), event, event, STOP])
    assert [item.termination for item in found.messages if item.termination] == [
        {"reason": "budget_exceeded", "budget": "cost", "used": 2, "max": 1, "message": "Stopped[31m here"}
    ]
    assert [m.content for m in messages(found)] == ["how many?", "Work", "Stopped[31m here"]


def test_the_title_of_the_stream_wins() -> None:
    assert rebuilt([{"type": "session_title", "title": "Counting"}]).title == "Counting"
