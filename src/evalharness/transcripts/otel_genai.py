"""otel-genai: OpenTelemetry spans with the GenAI conventions (`gen_ai.*`), as OTLP JSON or as flat spans.

A model is sent the whole conversation each time, so the conversation is that of the last span that tells one. Where
tools have spans of their own, those are the tool calls; otherwise the calls in the messages are.
"""

from __future__ import annotations

from collections.abc import Iterator

from evalharness.domain.record import Json
from evalharness.domain.transcript import Transcript, Usage
from evalharness.transcripts.collecting import Collector
from evalharness.transcripts.otel_messages import messages_of, say_message
from evalharness.transcripts.otel_spans import Span, looks_like_spans, spans_in
from evalharness.transcripts.reading import Object, read_stream
from evalharness.transcripts.values import amount, count, text_of

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
    """An agent's own span tells the whole of it; without one the last call of a model does."""
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
    told = (text_of(event.attributes.get("exception.message")) for event in span.events if event.name == "exception")
    return next(filter(None, told), "")


def _paid(spans: list[Span], keys: tuple[str, ...]) -> Iterator[Json]:
    """What each call of a model tells; agents' spans tell sums of them, and count only where the calls tell nothing."""
    for operations in (MODEL_CALLS, (AGENT,)):
        told = [
            next(span.attributes[key] for key in keys if key in span.attributes)
            for span in spans
            if span.operation in operations and any(key in span.attributes for key in keys)
        ]
        if told:
            yield from told
            return


def _usage(spans: list[Span]) -> Usage | None:
    inputs, outputs = list(_paid(spans, INPUT_TOKENS)), list(_paid(spans, OUTPUT_TOKENS))
    if not inputs and not outputs:
        return None
    return Usage(input_tokens=sum(map(count, inputs)), output_tokens=sum(map(count, outputs)))


def _cost(spans: list[Span]) -> float | None:
    costs = [cost for told in _paid(spans, COST) if (cost := amount(told)) is not None]
    return sum(costs) if costs else None
