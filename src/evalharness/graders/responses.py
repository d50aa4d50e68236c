"""Known-good HTTP responses: of which parts they speak, and which headers say the same."""

from __future__ import annotations

from typing import TypeGuard

from evalharness.domain.case import as_text
from evalharness.domain.http_responses import has_http_status, is_response
from evalharness.domain.record import Json
from evalharness.domain.variables import has_matcher, literal
from evalharness.graders.placeholders import matches_text

PARTS = frozenset(("status", "headers", "body"))


def expects_response(value: Json, actual: Json) -> TypeGuard[dict[str, Json]]:
    """Whether a known-good answer is a response; of a response, it may name some parts only."""
    if is_response(value) or not isinstance(value, dict):
        return is_response(value)
    return is_response(actual) and value.keys() <= PARTS and ("body" in value or has_http_status(value))


def same_header(name: str, expected: Json, actual: Json, *, strict: bool) -> bool:
    """`application/json` and `application/json; charset=utf-8` are the same type of content, unless strict."""
    wanted, received = as_text(expected), as_text(actual)
    if name == "content-type" and not strict and not has_matcher(wanted):
        return _media_type(literal(wanted)) == _media_type(received)
    return matches_text(wanted.strip(), received.strip())


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()
