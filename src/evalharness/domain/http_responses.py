"""What an HTTP response looks like among answers: `{status, headers, body}`."""

from __future__ import annotations

from typing import TypeGuard

from evalharness.domain.record import Json
from evalharness.domain.variables import has_matcher


def is_response(value: Json) -> TypeGuard[dict[str, Json]]:
    """A status that is a number tells it from other things with a status and a body, such as a ticket."""
    return isinstance(value, dict) and "body" in value and has_http_status(value)


def has_http_status(value: dict[str, Json]) -> bool:
    status = value.get("status")
    return has_matcher(status) or (isinstance(status, int) and not isinstance(status, bool))
