"""Extracts JSON objects from the output of a program: lines, one document, or several documents, mixed with other text.

The meaning of the objects is left to the parsers. Anything that is not a JSON object, or could not be stored, is
counted as ignored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from evalharness.errors import TargetFailed
from evalharness.values.json_value import Json

# Values of a stream as the expected type; a value of another type counts as absent.

LARGEST_COUNT = 2**53
"""A larger number in a stream is not a count, and stores could not add it up."""


def json_or_text(value: Json) -> Json:
    """A value that may be encoded as JSON text; a text that is not JSON is returned unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return parse_event(value)
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
    """The text of a message's content, which is a text or a list of parts."""
    if isinstance(content, list):
        return "".join(text_of(part.get("text")) or text_of(part.get("content")) for part in objects(content))
    return text_of(content)


def token_count(value: Json) -> int:
    """A number of tokens; 0 if the value cannot be one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value <= LARGEST_COUNT else 0


def amount(value: Json) -> float | None:
    """An amount in dollars; None if the value cannot be one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= LARGEST_COUNT else None


def error_text(error: Json) -> str:
    """The message of an error, which is a text or a mapping with a message."""
    return text_of(error) or text_of(mapping(error).get("message")) or "unknown error"


Object = dict[str, Json]

MAX_DEPTH = 100
MAX_BROKEN_DOCUMENTS = 1000
_NEXT_DOCUMENT = re.compile(r"[\s,\[\]]*(?=\{)")
_DOCUMENT_ON_A_LINE = re.compile(r"^(?=\{)", re.MULTILINE)
_MAYBE_HALF_A_CHARACTER = re.compile("\\\\u[dD][89a-fA-F]|[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Stream:
    objects: list[Object]
    ignored_lines: int = 0


def read_stream(text: str) -> Stream:
    """Every object of a stream, in order; a stream without objects fails the trial."""
    stream = _read(text.removeprefix("\ufeff"))
    if not stream.objects:
        raise TargetFailed("no events received")
    return stream


def _read(text: str) -> Stream:
    try:
        whole = parse_event(text)
    except ValueError:
        lines = _read_lines(text)
        return lines if lines.objects else Stream(list(_documents(text)))
    found = whole if isinstance(whole, list) else [whole]
    objects = [item for item in found if isinstance(item, dict)]
    return Stream(objects, len(found) - len(objects))


def _read_lines(text: str) -> Stream:
    """One object per line, perhaps after `data:` (SSE). `str.splitlines` would also split inside JSON strings."""
    objects: list[Object] = []
    ignored = 0
    for line in text.split("\n"):
        written = line.strip().removeprefix("data:")
        if not written:
            continue
        try:
            value = parse_event(written)
        except ValueError:
            value = None
        if isinstance(value, dict):
            objects.append(value)
        else:
            ignored += 1
    return Stream(objects, ignored)


def _documents(text: str) -> Iterator[Object]:
    """Documents of several lines each, or the items of a list whose end is missing."""
    broken = 0
    found = _NEXT_DOCUMENT.match(text) or _DOCUMENT_ON_A_LINE.search(text)
    while found and broken < MAX_BROKEN_DOCUMENTS:
        start = found.end()
        try:
            value, end = _DECODER.raw_decode(text, start)
            yield _storable(value, text[start:end])
            found = _NEXT_DOCUMENT.match(text, end) or _DOCUMENT_ON_A_LINE.search(text, end)
        except (ValueError, RecursionError):
            broken += 1
            found = _DOCUMENT_ON_A_LINE.search(text, start + 1)


def parse_event(text: str) -> Json:
    """Parse JSON. Raise ValueError for NaN, numbers beyond a float, deep nesting and anything else that is not JSON."""
    try:
        return _storable(_DECODER.decode(text), text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _storable(value: Json, written: str) -> Json:
    if written.count("[") + written.count("{") > MAX_DEPTH and _is_deeper(value, MAX_DEPTH):
        raise ValueError("nested too deeply")
    if _MAYBE_HALF_A_CHARACTER.search(written):
        return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    return value


def _is_deeper(value: Json, depth: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth < 0 or any(_is_deeper(item, depth - 1) for item in inner)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
