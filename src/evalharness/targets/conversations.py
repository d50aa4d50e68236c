"""Conversations: a case's question as chat messages, and chat messages as transcripts keep them (as OpenAI does).

What cannot be said in text (images, sound) is not left out in silence: such a trial is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from evalharness.domain.case import as_text
from evalharness.domain.chat import ChatMessage, Role, ToolRequest
from evalharness.domain.record import Json
from evalharness.errors import TargetFailed, TrialSkipped

ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
Turn = list[ChatMessage]


def turns_of(content: Json) -> list[Turn]:
    """What is said before each reply. Of two user messages in a row each is replied to before the next is said;
    one that an assistant's message follows has its reply already."""
    messages = [_message(written) for written in _written(content)]
    turns: list[Turn] = [[]]
    for message, following in zip(messages, [*messages[1:], None], strict=True):
        turns[-1].append(message)
        if following is not None and message.role == "user" == following.role:
            turns.append([])
    return turns


def is_conversation(content: Json) -> bool:
    """Whether it says so itself: a list alone may also be data."""
    return isinstance(content, Mapping) and set(content) == {"messages"}


def kept(message: ChatMessage) -> dict[str, Json]:
    """A message as a transcript keeps it."""
    told: dict[str, Json] = {"role": message.role, "content": message.content}
    if message.tool_requests:
        told["tool_calls"] = [
            {"id": each.id, "type": "function", "function": {"name": each.name, "arguments": each.arguments}}
            for each in message.tool_requests
        ]
    if message.answers_request:
        told["tool_call_id"] = message.answers_request
    return told


def _written(content: Json) -> Sequence[Mapping[str, Json]]:
    """Data that is no conversation is asked as it is: as JSON."""
    is_meant_so = is_conversation(content)
    listed = content["messages"] if is_meant_so else content
    if isinstance(listed, list | tuple) and listed and all(map(_is_message, listed)):
        return [{"role": "user", "content": each} if isinstance(each, str) else each for each in listed]
    if is_meant_so and isinstance(listed, list | tuple):
        lacking = "one of them has no role" if listed else "there are none"
        raise TargetFailed(f"the input's messages cannot be asked: {lacking}")
    if not is_meant_so and isinstance(content, Mapping) and _are_turns(content.get("messages")):
        beside = ", ".join(str(key) for key in content if key != "messages")
        raise TargetFailed(f"the input's messages cannot be asked: beside them there is {beside}")
    return [{"role": "user", "content": as_text(content)}]


def _are_turns(value: Json) -> bool:
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(isinstance(each, Mapping) and "role" in each for each in value)


def _is_message(value: Json) -> TypeGuard[Mapping[str, Json] | str]:
    return isinstance(value, str) or (isinstance(value, Mapping) and "role" in value)


def _message(written: Mapping[str, Json]) -> ChatMessage:
    role = ROLES.get(str(written["role"]))
    if role is None:
        raise TrialSkipped(f"a message of the input has the role {as_text(written['role'])}, which no model knows")
    calls = written.get("tool_calls")
    if written.get("content") is None and not calls:
        raise TargetFailed(f"a message of the input (role {role}) has no content")
    return ChatMessage(
        role=role,
        content=_text(written.get("content")),
        tool_requests=tuple(map(_request, calls)) if isinstance(calls, list | tuple) else (),
        answers_request=str(written.get("tool_call_id") or ""),
    )


def _text(content: Json) -> str:
    if isinstance(content, list | tuple):
        return "".join(map(_part, content))
    return "" if content is None else as_text(content)


def _part(part: Json) -> str:
    text = part.get("text") if isinstance(part, Mapping) else part
    if not isinstance(text, str):
        kind = part.get("type") if isinstance(part, Mapping) else type(part).__name__
        raise TrialSkipped(f"a message of the input holds a part of type {kind}; only text is sent")
    return text


def _request(call: Any) -> ToolRequest:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise TrialSkipped("a message of the input holds a tool call that is none")
    arguments = function.get("arguments", "{}")
    return ToolRequest(id=str(call.get("id", "")), name=str(function.get("name", "")), arguments=as_text(arguments))
