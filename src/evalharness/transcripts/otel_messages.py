"""The messages of a GenAI span: attributes of today's conventions, or the span events of the older ones."""

from __future__ import annotations

from evalharness.domain.record import Json
from evalharness.transcripts.collecting import Collector, Place
from evalharness.transcripts.otel_spans import Span
from evalharness.transcripts.reading import Object
from evalharness.transcripts.values import json_or_text, mapping, objects, text_of

SYSTEM, INPUT, OUTPUT = "gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"
DETAILS = "gen_ai.client.inference.operation.details"
CHOICE = "gen_ai.choice"
OLD_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
CALL_PARTS, RESULT_PARTS = ("tool_call", "server_tool_call"), ("tool_call_response", "server_tool_call_response")


def messages_of(span: Span) -> list[tuple[str, Object]]:
    """Role and message, in order; a message has `parts` (today) or `content` and `tool_calls` (older)."""
    told = dict(span.attributes)
    for event in span.events:
        if event.name == DETAILS:
            told.update(event.attributes)
    messages = _listed(told.get(INPUT)) + _listed(told.get(OUTPUT))
    if messages:
        system = _listed(told.get(SYSTEM))
        beginning = [("system", {"parts": system})] if system else []
        return [*beginning, *((text_of(said.get("role")) or "assistant", said) for said in messages)]
    return _told_by_events(span)


def _listed(written: Json) -> list[Object]:
    return objects(json_or_text(written))


def _told_by_events(span: Span) -> list[tuple[str, Object]]:
    found: list[tuple[str, Object]] = []
    for event in span.events:
        body = {**event.attributes, **mapping(json_or_text(event.attributes.get("gen_ai.event.content")))}
        if event.name == CHOICE:
            found.append(("assistant", {**body, **mapping(json_or_text(body.get("message")))}))
        elif event.name in OLD_ROLES:
            found.append((text_of(body.get("role")) or OLD_ROLES[event.name], body))
    return found


def say_message(found: Collector, role: str, message: Object, calls_into: Place) -> None:
    parts = objects(message.get("parts")) or _parts(role, message)
    for part in parts:
        if part.get("type") == "reasoning":
            found.think(text_of(part.get("content")))
    said = "".join(text_of(part.get("content")) for part in parts if part.get("type") == "text")
    if said or not any(part.get("type") in (*CALL_PARTS, *RESULT_PARTS, "reasoning") for part in parts):
        found.say(role, said)
    for part in parts:
        part_id = text_of(part.get("id"))
        if part.get("type") in CALL_PARTS:
            found.call(part_id, text_of(part.get("name")), part.get("arguments"), calls_into)
        elif part.get("type") in RESULT_PARTS:
            found.returned(part_id, part.get("response", part.get("result")))


def _parts(role: str, message: Object) -> list[Object]:
    """A message of the older conventions, as the parts of today's."""
    content = message.get("content")
    if role == "tool":
        return [{"type": "tool_call_response", "id": message.get("id"), "response": content}]
    parts: list[Object] = [{"type": "text", "content": content if isinstance(content, str) else ""}]
    for call in _listed(message.get("tool_calls")):
        function = mapping(call.get("function")) or call
        called = {"name": function.get("name"), "arguments": function.get("arguments")}
        parts.append({"type": "tool_call", "id": call.get("id"), **called})
    return parts
