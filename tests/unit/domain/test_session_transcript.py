"""The transcript that a judge is given."""

from __future__ import annotations

from typing import Any

from evalharness.domain.session_transcript import transcript_for_judge


def said(text: str, agent: str = "root") -> dict[str, Any]:
    return {"type": "agent_choice", "content": text, "agent_name": agent}


def called(name: str) -> dict[str, Any]:
    return {
        "type": "tool_call",
        "agent_name": "root",
        "tool_call": {"function": {"name": name, "arguments": '{"a":1}'}},
    }


def returned(text: str) -> dict[str, Any]:
    return {"type": "tool_call_response", "response": text, "tool_definition": {"name": "list"}}


def test_the_order_is_kept() -> None:
    text, call = "[Agent root says]: Hello", '[Agent root calls tool "list" with arguments: {"a":1}]'
    assert transcript_for_judge([said("Hel"), said("lo"), called("list")]) == f"{text}\n\n{call}"
    assert transcript_for_judge([called("list"), said("Hello")]) == f"{call}\n\n{text}"


def test_a_long_response_is_cut_but_never_inside_a_character() -> None:
    assert transcript_for_judge([returned("x" * 600)]) == f'[Tool "list" returns: {"x" * 500}...(truncated)]'
    assert transcript_for_judge([returned("x" * 500)]) == f'[Tool "list" returns: {"x" * 500}]'
    assert (
        transcript_for_judge([returned("x" + "ä" * 300)]) == f'[Tool "list" returns: {"x" + "ä" * 249}...(truncated)]'
    )


def test_what_two_agents_say_is_kept_apart() -> None:
    """The original puts it under the name of the last one."""
    found = transcript_for_judge([said("I ask.", "root"), said("I help.", "helper")])
    assert found == "[Agent root says]: I ask.\n\n[Agent helper says]: I help."


def test_an_agent_without_a_name_is_unknown_and_other_events_are_silent() -> None:
    events = [{"type": "brand_new"}, {"type": "agent_choice", "content": "Hi"}, {"type": "stream_stopped"}]
    assert transcript_for_judge(events) == "[Agent unknown says]: Hi"
