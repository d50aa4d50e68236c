"""What a stream says at one place, as the type it should have there; a value of another type counts as absent."""

from __future__ import annotations

from evalharness.domain.record import Json
from evalharness.transcripts.reading import Object, parse_json

LARGEST_COUNT = 2**53
"""Beyond this a number in a stream is no count, and no store could add it up."""


def json_or_text(value: Json) -> Json:
    """A value that may have been sent as JSON text; a text that is none stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return value


def mapping(value: Json) -> Object:
    return value if isinstance(value, dict) else {}


def objects(value: Json) -> list[Object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_of(value: Json) -> str:
    return value if isinstance(value, str) else ""


def texts(value: Json) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def content_text(content: Json) -> str:
    """The text of a message's content: a text, or a list of parts of which some hold text."""
    if isinstance(content, list):
        return "".join(text_of(part.get("text")) or text_of(part.get("content")) for part in objects(content))
    return text_of(content)


def count(value: Json) -> int:
    """A number of tokens; anything that cannot be one is 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value <= LARGEST_COUNT else 0


def amount(value: Json) -> float | None:
    """A number of dollars; None for anything that cannot be one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= LARGEST_COUNT else None


def error_text(error: Json) -> str:
    """An error as streams tell it: a text, or a mapping with a message."""
    return text_of(error) or text_of(mapping(error).get("message")) or "unknown error"
