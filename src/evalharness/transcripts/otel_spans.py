"""Spans as OpenTelemetry writes them, OTLP JSON (`resourceSpans`) or flat, in one shape and in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from evalharness.domain.record import Json
from evalharness.transcripts.reading import Object
from evalharness.transcripts.values import mapping, objects, text_of

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
        """`chat`, `execute_tool`, …; older instrumentations tell it by the span's name alone."""
        told = text_of(self.attributes.get("gen_ai.operation.name"))
        return told or (self.name.split() or [""])[0]


def spans_in(written: list[Object]) -> list[Span]:
    found = [_span(span) for document in written for span in _spans_of(document)]
    return sorted(found, key=lambda span: span.started_ns)  # stable: spans that tell no time keep their order


def looks_like_spans(document: Object) -> bool:
    if any(key in document for key in ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans")):
        return True
    is_span = any(key in document for key in ("spanId", "span_id", "context"))
    told = _attributes(document.get("attributes"))
    return (is_span and "attributes" in document) or any(key.startswith("gen_ai.") for key in told)


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
    """OTLP writes a list of `{key, value: {stringValue: …}}`; other exporters a mapping, flat or nested."""
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
    """Nanoseconds since 1970, written as such or as a date; only the order counts."""
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
