"""otel-genai: OpenTelemetry spans with the GenAI conventions (`gen_ai.*`), as OTLP JSON or as flat spans.

A model receives the whole conversation with every call, so the last span that has messages gives the conversation. If
tools have their own spans, these are the tool calls; otherwise the calls in the messages are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from evalharness.domain.transcript import Transcript, Usage
from evalharness.transcripts.collector import Collector, Place
from evalharness.transcripts.stream import (
    Object,
    amount,
    json_or_text,
    mapping,
    objects,
    read_stream,
    text_of,
    token_count,
)
from evalharness.values.json_value import Json

MODEL_CALLS = ("chat", "text_completion", "generate_content")
AGENT, TOOL = "invoke_agent", "execute_tool"
INPUT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
OUTPUT_TOKENS = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
COST = ("gen_ai.usage.cost", "gen_ai.usage.cost_usd")


def recognises(event: Object) -> bool:
    return looks_like_spans(event)


def parse(text: str) -> Transcript:
    stream = read_stream(text)
    spans = spans_in(stream.objects)
    found = Collector(stream.ignored_lines)
    tools = [span for span in spans if span.operation == TOOL]
    for role, message in _conversation(spans):
        say_message(found, role, message, "messages" if tools else "both")
    for number, span in enumerate(tools):
        _add_tool(found, span, str(number))
    for span in spans:
        found.keep({"type": "span", **span.written})
        if span.failed and span.operation != TOOL:
            found.error(span.failure or _exception(span) or text_of(span.attributes.get("error.type")) or "failed")
    return found.transcript(usage=_usage(spans), cost_usd=_cost(spans))


def _conversation(spans: list[Span]) -> list[tuple[str, Object]]:
    """The messages of a top-level agent span if there is one, otherwise of the last model call."""
    agents = [span for span in spans if span.operation == AGENT and not span.has_parent]
    for span in (*reversed(agents), *reversed(spans)):
        if span.operation != TOOL and (messages := messages_of(span)):
            return messages
    return []


def _add_tool(found: Collector, span: Span, number: str) -> None:
    said = span.attributes
    call_id = text_of(said.get("gen_ai.tool.call.id")) or number
    name = text_of(said.get("gen_ai.tool.name")) or span.name.removeprefix(TOOL).strip()
    found.call(call_id, name, said.get("gen_ai.tool.call.arguments"), "calls")
    failure = span.failure or _exception(span) or text_of(said.get("error.type")) or "failed"
    found.returned(call_id, said.get("gen_ai.tool.call.result"), failure if span.failed else "")


def _exception(span: Span) -> str:
    reported = (
        text_of(event.attributes.get("exception.message")) for event in span.events if event.name == "exception"
    )
    return next(filter(None, reported), "")


def _paid(spans: list[Span], keys: tuple[str, ...]) -> Iterator[Json]:
    """The values that model calls report. Agents' spans report sums, which count only if no model call has any."""
    for operations in (MODEL_CALLS, (AGENT,)):
        parts = [
            next(span.attributes[key] for key in keys if key in span.attributes)
            for span in spans
            if span.operation in operations and any(key in span.attributes for key in keys)
        ]
        if parts:
            yield from parts
            return


def _usage(spans: list[Span]) -> Usage | None:
    inputs, outputs = list(_paid(spans, INPUT_TOKENS)), list(_paid(spans, OUTPUT_TOKENS))
    if not inputs and not outputs:
        return None
    return Usage(input_tokens=sum(map(token_count, inputs)), output_tokens=sum(map(token_count, outputs)))


def _cost(spans: list[Span]) -> float | None:
    costs = [cost for reported in _paid(spans, COST) if (cost := amount(reported)) is not None]
    return sum(costs) if costs else None


# The messages of a GenAI span: attributes in the current conventions, span events in the older ones.

SYSTEM, INPUT, OUTPUT = "gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"
DETAILS = "gen_ai.client.inference.operation.details"
CHOICE = "gen_ai.choice"
OLD_ROLES = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
CALL_PARTS, RESULT_PARTS = ("tool_call", "server_tool_call"), ("tool_call_response", "server_tool_call_response")


def messages_of(span: Span) -> list[tuple[str, Object]]:
    """Role and message, in order; a message has `parts` (current) or `content` and `tool_calls` (older)."""
    fields = dict(span.attributes)
    for event in span.events:
        if event.name == DETAILS:
            fields.update(event.attributes)
    messages = _listed(fields.get(INPUT)) + _listed(fields.get(OUTPUT))
    if messages:
        system = _listed(fields.get(SYSTEM))
        beginning = [("system", {"parts": system})] if system else []
        return [*beginning, *((text_of(said.get("role")) or "assistant", said) for said in messages)]
    return _messages_in_events(span)


def _listed(written: Json) -> list[Object]:
    return objects(json_or_text(written))


def _messages_in_events(span: Span) -> list[tuple[str, Object]]:
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
    """A message of the older conventions, converted to the current `parts`."""
    content = message.get("content")
    if role == "tool":
        return [{"type": "tool_call_response", "id": message.get("id"), "response": content}]
    parts: list[Object] = [{"type": "text", "content": content if isinstance(content, str) else ""}]
    for call in _listed(message.get("tool_calls")):
        function = mapping(call.get("function")) or call
        called = {"name": function.get("name"), "arguments": function.get("arguments")}
        parts.append({"type": "tool_call", "id": call.get("id"), **called})
    return parts


# Spans in one form, ordered by time, from OTLP JSON (`resourceSpans`) or flat spans.

ERROR_CODES = (2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR")
LIST_VALUES, MAPPING_VALUES = "arrayValue", "kvlistValue"


@dataclass(frozen=True, slots=True)
class SpanEvent:
    name: str
    attributes: Object


@dataclass(frozen=True, slots=True)
class Span:
    name: str
    attributes: Object
    events: tuple[SpanEvent, ...]
    started_ns: int
    failed: bool
    failure: str
    has_parent: bool
    written: Object

    @property
    def operation(self) -> str:
        """`chat`, `execute_tool`, …; older instrumentations have it only in the span's name."""
        reported = text_of(self.attributes.get("gen_ai.operation.name"))
        return reported or (self.name.split() or [""])[0]


def spans_in(written: list[Object]) -> list[Span]:
    found = [_span(span) for document in written for span in _spans_of(document)]
    return sorted(found, key=lambda span: span.started_ns)  # stable: spans without a time keep their order


def looks_like_spans(document: Object) -> bool:
    if any(key in document for key in ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans")):
        return True
    is_span = any(key in document for key in ("spanId", "span_id", "context"))
    reported = _attributes(document.get("attributes"))
    return (is_span and "attributes" in document) or any(key.startswith("gen_ai.") for key in reported)


def _spans_of(document: Object) -> Iterator[Object]:
    resources = objects(document.get("resourceSpans")) + objects(document.get("resource_spans"))
    scopes = [scope for holder in (document, *resources) for scope in _scopes_of(holder)]
    if resources or scopes or "spans" in document:
        for scope in (document, *scopes):
            yield from objects(scope.get("spans"))
    elif "attributes" in document:
        yield document


def _scopes_of(holder: Object) -> list[Object]:
    return objects(holder.get("scopeSpans")) + objects(holder.get("scope_spans"))


def _span(span: Object) -> Span:
    status = mapping(span.get("status"))
    code = status.get("code", status.get("status_code"))
    return Span(
        name=text_of(span.get("name")),
        attributes=_attributes(span.get("attributes")),
        events=tuple(
            SpanEvent(text_of(event.get("name")), _attributes(event.get("attributes")))
            for event in objects(span.get("events"))
        ),
        started_ns=_time_ns(span),
        failed=any(code is not None and code == known for known in ERROR_CODES),
        failure=text_of(status.get("message")) or text_of(status.get("description")),
        has_parent=any(span.get(key) for key in ("parentSpanId", "parent_span_id", "parent_id")),
        written=span,
    )


def _attributes(written: Json) -> Object:
    """The attributes as a mapping. OTLP has a list of `{key, value: {stringValue: …}}`, other exporters a mapping."""
    if isinstance(written, list):
        return {text_of(entry.get("key")): _value(entry.get("value")) for entry in objects(written)}
    return mapping(written)


def _value(written: Json) -> Json:
    if not isinstance(written, dict) or len(written) != 1:
        return written
    [(kind, value)] = written.items()
    if kind == LIST_VALUES:
        return [_value(item) for item in objects(mapping(value).get("values"))]
    if kind == MAPPING_VALUES:
        return _attributes(mapping(value).get("values"))
    if kind == "intValue" and isinstance(value, str) and value.lstrip("-").isdecimal() and len(value) < 20:
        return int(value)
    return value if kind.endswith("Value") else written


def _time_ns(span: Object) -> int:
    """The start in nanoseconds since 1970, from a number or a date; only the order matters."""
    for key in ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time"):
        written = span.get(key)
        if isinstance(written, int | float):
            return int(written)
        if isinstance(written, str) and written.isdecimal() and len(written) < 30:
            return int(written)
        try:
            return int(datetime.fromisoformat(text_of(written)).timestamp() * 1_000_000) * 1000
        except (ValueError, OverflowError, OSError):
            continue
    return 0
