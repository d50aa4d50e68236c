"""From the transcript of any target to a session: where there are no events of docker-agent, or not all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalharness.domain.case import as_text
from evalharness.domain.record import Json
from evalharness.domain.session import ChatMessage, FunctionCall, Session, SessionItem, SessionMessage, SessionToolCall
from evalharness.domain.session_events import OF_THE_AGENT
from evalharness.domain.stream_errors import LEFT_OUT
from evalharness.domain.transcript import ToolCall, Transcript


def is_whole_event_stream(events: Iterable[Mapping[str, Json]]) -> bool:
    """Of a long stream not all events are kept; its messages are, and its totals."""
    kinds = [event.get("type") for event in events]
    return any(kind in OF_THE_AGENT for kind in kinds) and LEFT_OUT not in kinds


def session_from_transcript(transcript: Transcript, questions: Sequence[str], *, session_id: str, now: str) -> Session:
    """The questions stand first unless the messages hold them; without messages the answer itself is one."""
    told = [message for message in transcript.messages if message.get("role") != "system"]
    asked = [] if any(message.get("role") == "user" for message in told) else questions
    said = [_entry(_message(message, now), message) for message in told]
    if not any(message.get("role") == "assistant" for message in told):
        said.append(_entry(_answer(transcript, now)))
    items = [_entry(ChatMessage(role="user", content=question, created_at=now)) for question in asked] + said
    usage = transcript.usage
    return Session(
        id=session_id,
        messages=tuple(items),
        created_at=now,
        tools_approved=True,
        input_tokens=usage.input_tokens if usage else 0,
        output_tokens=usage.output_tokens if usage else 0,
        cost=transcript.cost_usd or 0.0,
    )


def _answer(transcript: Transcript, now: str) -> ChatMessage:
    calls = tuple(_call(call, number) for number, call in enumerate(transcript.tool_calls, start=1))
    return ChatMessage(role="assistant", content=transcript.text, tool_calls=calls, created_at=now)


def _call(call: ToolCall, number: int) -> SessionToolCall:
    arguments = "" if call.arguments is None else as_text(call.arguments)
    return SessionToolCall(id=f"call_{number}", function=FunctionCall(name=call.name, arguments=arguments))


def _message(message: Mapping[str, Any], now: str) -> ChatMessage:
    calls = message.get("tool_calls")
    return ChatMessage(
        role=str(message.get("role", "")),
        content=_content(message.get("content")),
        reasoning_content=_text(message.get("reasoning_content")),
        tool_calls=tuple(_written_call(call) for call in calls) if isinstance(calls, list | tuple) else (),
        tool_call_id=_text(message.get("tool_call_id")),
        created_at=now,
    )


def _written_call(call: Any) -> SessionToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    told = function if isinstance(function, Mapping) else {}
    return SessionToolCall(
        id=_text(call.get("id")) if isinstance(call, Mapping) else "",
        function=FunctionCall(name=_text(told.get("name")), arguments=as_text(told.get("arguments", ""))),
    )


def _content(content: Json) -> str:
    if isinstance(content, list | tuple):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return "" if content is None else as_text(content)


def _entry(message: ChatMessage, told: Mapping[str, Any] | None = None) -> SessionItem:
    name = _text((told or {}).get("name"))
    return SessionItem(message=SessionMessage(agent_name=name, message=message))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
