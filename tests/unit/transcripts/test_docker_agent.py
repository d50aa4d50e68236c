from __future__ import annotations

from typing import Any

import pytest
from agent_streams import ANSWER, DOCKER_AGENT, PLAN, docker_call, lines

from evalharness.domain.transcript import ENDED_WITH_ERROR, ToolCall, Usage, errors_of
from evalharness.formats.recorded_sessions.rebuilt_sessions import session_from_events
from evalharness.transcripts.docker_agent import parse


def choice(content: str, agent: str = "root", **more: Any) -> dict[str, Any]:
    return {"type": "agent_choice", "content": content, "agent_name": agent, **more}


def usage(session: str | None = None, **told: Any) -> dict[str, Any]:
    return {"type": "token_usage", "usage": told, **({"session_id": session} if session else {})}


def test_the_answer_is_all_that_was_said_without_separators() -> None:
    assert parse(DOCKER_AGENT).output == f"I write it. {ANSWER}"
    two_agents = lines(choice("One,"), choice("two,", "helper"), {"type": "stream_stopped"}, choice("three"))
    assert parse(two_agents).output == "One,two,three"


def test_calls_with_results_and_errors() -> None:
    refused = "no rule to make check"
    assert parse(DOCKER_AGENT).tool_calls == (
        ToolCall(name="write_file", arguments={"path": "notes.txt", "content": PLAN}, result="written"),
        ToolCall(name="shell", arguments={"cmd": "make check"}, result=refused, error=refused),
    )


def test_an_id_that_is_used_again_is_another_call() -> None:
    calls = [{"type": "tool_call", "tool_call": docker_call("0", name, "")} for name in ("first", "second")]
    said = [{"type": "tool_call_response", "tool_call_id": "0", "response": text} for text in ("one", "two")]
    found = parse(lines(calls[0], said[0], calls[1], said[1])).tool_calls
    assert found == (
        ToolCall(name="first", arguments={}, result="one"),
        ToolCall(name="second", arguments={}, result="two"),
    )


def test_arguments_that_are_not_json_stay_text() -> None:
    [call] = parse(lines({"type": "tool_call", "tool_call": docker_call("1", "shell", '{"cmd": "ls')})).tool_calls
    assert call.arguments == '{"cmd": "ls'


def test_messages() -> None:
    messages = parse(DOCKER_AGENT).messages
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert messages[1]["reasoning_content"] == "First the file."
    assert messages[1]["content"] == "I write it. "
    assert messages[1]["name"] == "root"


def test_two_agents_are_never_merged_into_one_message() -> None:
    """The original put both texts under the last one's name if no tool call came between them."""
    messages = parse(lines(choice("a"), choice("b"), choice("c", "helper"))).messages
    assert [(message["name"], message["content"]) for message in messages] == [("root", "ab"), ("helper", "c")]


@pytest.mark.parametrize(
    ("events", "tokens", "cost"),
    [
        (
            [usage(input_tokens=10, output_tokens=5, cost=0.1), usage(input_tokens=30, output_tokens=9, cost=0.2)],
            (30, 9),
            0.2,
        ),
        ([usage(input_tokens=10, output_tokens=5, cost=0.1), usage(output_tokens=9)], (10, 9), 0.1),
        ([usage(output_tokens=9)], (0, 9), None),
        ([usage(input_tokens="many", output_tokens=-3, cost=-1)], (0, 0), None),
    ],
)
def test_usage_is_the_last_total_and_not_the_sum_of_totals(events: Any, tokens: Any, cost: float | None) -> None:
    """The original added up output tokens over events that each contain the total so far."""
    found = parse(lines(*events))
    assert found.usage == Usage(input_tokens=tokens[0], output_tokens=tokens[1])
    assert found.cost_usd == cost


def test_sub_agents_have_totals_of_their_own() -> None:
    """The original took the last event's cost, whichever agent it came from."""
    found = parse(
        lines(
            usage("main", input_tokens=10, output_tokens=1, cost=0.25),
            usage("sub", input_tokens=5, output_tokens=2, cost=0.5),
            usage("main", input_tokens=20, output_tokens=3, cost=0.75),
        )
    )
    assert (found.usage, found.cost_usd) == (Usage(input_tokens=25, output_tokens=5), 1.25)


def test_a_stream_without_usage_reports_none() -> None:
    found = parse(lines(choice("hi")))
    assert (found.usage, found.cost_usd) == (None, None)


def test_usage_stays_behind_what_was_said_for_it() -> None:
    """A session that is rebuilt from the events has each message's cost with that message."""
    found = parse(
        lines(
            choice("one", "a"),
            usage("main", last_message={"model": "large", "cost": 0.5}),
            choice("two", "b"),
            usage("inner", last_message={"model": "small", "cost": 0.25}),
            {"type": "budget_exceeded", "message": "stop"},
        )
    )
    session = session_from_events(found.events, "title", [], session_id="s", now="2026-02-01T00:00:00Z")
    said = [item.message.message for item in session.messages if item.message]
    told = [("one", "large", 0.5), ("two", "small", 0.25), ("stop", "", 0.0)]
    assert [(message.content, message.model, message.cost) for message in said] == told


def test_an_error_is_an_event_with_a_message() -> None:
    found = parse(lines(choice("half"), {"type": "error", "error": "rate limited", "agent_name": "root"}))
    assert errors_of(found) == ["rate limited"]
    assert found.output == "half"
    assert found.events[-2] == {
        "type": "error",
        "error": "rate limited",
        "agent_name": "root",
        "message": "rate limited",
    }


START, STOP = {"type": "stream_started"}, {"type": "stream_stopped"}
ERROR = {"type": "error", "error": "rate limited"}


@pytest.mark.parametrize(
    ("events", "endings"),
    [
        ([choice("half"), ERROR], ["rate limited"]),
        ([ERROR, choice("whole")], []),
        ([ERROR, choice(" \n")], ["rate limited"]),
        ([choice("one"), ERROR, STOP, {"type": "user_message"}, choice("two"), STOP], ["rate limited"]),
        ([START, START, choice("sub", "helper"), ERROR, STOP, choice("main"), STOP], []),
        ([START, choice("half"), ERROR], ["rate limited"]),
        ([choice("one"), ERROR, STOP, choice("two"), {"type": "error", "error": "no quota"}], ["no quota"]),
    ],
)
def test_an_error_ends_a_turn_unless_something_is_said_after_it(events: Any, endings: list[str]) -> None:
    assert errors_of(parse(lines(*events)), ENDED_WITH_ERROR) == endings


def test_unknown_events_and_budgets_are_no_errors() -> None:
    found = parse(lines({"type": "sparkle"}, choice("Valid"), {"type": "budget_exceeded", "message": "stop"}))
    assert (found.output, errors_of(found)) == ("Valid", [])


def test_pieces_are_kept_put_together_so_that_long_answers_fit() -> None:
    found = parse(lines(*(choice("la ", timestamp=f"t{number}") for number in range(5000))))
    assert found.events == (choice("la " * 5000, timestamp="t4999"),)
    assert not [event for event in parse(DOCKER_AGENT).events if event["type"] == "partial_tool_call"]
