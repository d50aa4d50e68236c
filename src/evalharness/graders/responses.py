"""What an HTTP response looks like among answers: `{status, headers, body}`; which headers say the same."""

from __future__ import annotations

from typing import TypeGuard

from evalharness.domain.case import as_text
from evalharness.domain.record import Json
from evalharness.graders.placeholders import has_placeholder, matches_text

PARTS = frozenset(("status", "headers", "body"))


def is_response(value: Json) -> TypeGuard[dict[str, Json]]:
    """A status that is a number tells it from other things with a status and a body, such as a ticket."""
    return isinstance(value, dict) and "body" in value and _has_http_status(value)


def expects_response(value: Json, actual: Json) -> TypeGuard[dict[str, Json]]:
    """Whether a known-good answer is a response; of a response, it may name some parts only."""
    if is_response(value) or not isinstance(value, dict):
        return is_response(value)
    return is_response(actual) and value.keys() <= PARTS and ("body" in value or _has_http_status(value))


def _has_http_status(value: dict[str, Json]) -> bool:
    status = value.get("status")
    return has_placeholder(status) or (isinstance(status, int) and not isinstance(status, bool))


def same_header(name: str, expected: Json, actual: Json, *, strict: bool) -> bool:
    """`application/json` and `application/json; charset=utf-8` are the same type of content, unless strict."""
    wanted, received = as_text(expected), as_text(actual)
    if name == "content-type" and not strict and not has_placeholder(wanted):
        return _media_type(wanted) == _media_type(received)
    return matches_text(wanted.strip(), received.strip())


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()
