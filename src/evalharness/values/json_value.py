"""JSON values: their type and limits, a strict parser, and paths through them (`choices.0.message.content`)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json

Json = Any
"""Any JSON value. The alias is for readers; values are checked where they enter (`values.digest.canonical_json`)."""


DEEPEST = 180
"""The deepest nesting of a stored JSON value. The reader's limit is 200, and a record adds some levels."""


LARGEST_INTEGER_BITS = 14_000
"""The largest stored integer. The reader's limit is 4,300 digits."""


def plain_json(value: Any, depth: int = 0) -> Json:
    """A copy that contains only JSON's own types, without methods that derived classes override.

    Raises ValueError, with a description, for a value that JSON does not support.
    """
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        if int.bit_length(value) > LARGEST_INTEGER_BITS:
            raise ValueError("an integer of more than 4,200 digits")
        return int.__int__(value)
    if isinstance(value, float):
        number = float.__float__(value)
        if not math.isfinite(number):
            raise ValueError(f"the number {number}, which JSON does not have")
        return number
    if depth > DEEPEST:
        raise ValueError("a value nested too deeply")
    if isinstance(value, dict):
        return {_plain_key(key): plain_json(item, depth + 1) for key, item in dict.items(value)}
    if isinstance(value, list):
        return [plain_json(item, depth + 1) for item in list.__iter__(value)]
    if isinstance(value, tuple):
        return [plain_json(item, depth + 1) for item in tuple.__iter__(value)]
    raise ValueError(f"a value of type {type(value).__name__}")


def _plain_key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError("a mapping whose keys are not all text")
    return str.__str__(key)


# A parser for standard JSON only, because verdicts may depend on it.
#
# Python's own parser accepts NaN, makes 1e999 infinite, and silently keeps the last of two equal keys. Error messages
# quote nothing from the text, so that its author cannot inject words into them.

LONGEST_TEXT = 1_000_000
FENCE = "```"


def written_json(value: Json) -> str:
    """A value as JSON without spaces. Half characters, which no file can have, become question marks."""
    try:
        return to_json(value).decode()
    except PydanticSerializationError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace").decode()


def parse_strictly(text: str, longest: int = LONGEST_TEXT) -> Json:
    """Parse one JSON value with unique keys and finite numbers; raises ValueError with a description."""
    if len(text) > longest:
        raise ValueError(f"it is longer than {longest:,} characters")
    try:
        return json.loads(
            text, object_pairs_hook=_each_key_once, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def compared_as(value: Json) -> Json:
    """A value for a loose comparison: a text that is JSON as its value, any other without its case and spacing."""
    if not isinstance(value, str):
        return value
    try:
        value = parse_strictly(value)
    except ValueError:
        pass
    return " ".join(value.split()).casefold() if isinstance(value, str) else value


def only_object(text: str) -> dict[str, Json]:
    """The one JSON object that a reply consists of, alone or in one code fence. Other text around it is refused.

    Searching a reply for something that looks like a verdict could find one that an attacker planted.
    """
    bare = text.strip()
    if bare.startswith(FENCE) and bare.endswith(FENCE) and len(bare) > 2 * len(FENCE):
        first, _, rest = bare.partition("\n")
        bare = rest.removesuffix(FENCE) if first.removeprefix(FENCE).strip().lower() in ("", "json") else bare
    try:
        value = parse_strictly(bare)
    except json.JSONDecodeError as error:
        raise ValueError(_why_not(bare, error)) from None
    if not isinstance(value, dict):
        raise ValueError("it is JSON, but not an object")
    return value


def _why_not(text: str, error: json.JSONDecodeError) -> str:
    if not text:
        return "it is empty"
    if error.msg == "Extra data":
        return "something follows its first JSON value"
    if not text.startswith("{"):
        return "it does not begin with an object"
    return f"it is not JSON: {error.msg} at character {error.pos}"


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it contains a key twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"it contains {name}, which JSON does not have")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("it contains a number that is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > 100:
        raise ValueError("it contains a number with more than 100 digits")
    return int(text)


MISSING: Final[Any] = object()
"""The result of a path that leads nowhere, as opposed to null."""

_ROOT = re.compile(r"\A\$(?=[.\[]|\Z)")
_IN_BRACKETS = re.compile(r"\[(-?[0-9]+)\]")
_POSITION = re.compile(r"-?[0-9]{1,18}")


def steps(text: str) -> tuple[str, ...]:
    """The steps of `a.0.b`, also written `$.a[0].b`; the root itself (`$` or empty) has none."""
    dotted = _IN_BRACKETS.sub(r".\1", _ROOT.sub("", text)).strip(".")
    return tuple(dotted.split(".")) if dotted else ()


def step_into(value: Json, step: str, *, from_end: bool = False) -> Any:
    """The value under a key or at a position of a list, or MISSING; with `from_end`, -1 is the last position."""
    if isinstance(value, Mapping):
        if step in value:
            return value[step]
        # Python's mappings may have keys that become text in JSON.
        return next((child for key, child in value.items() if not isinstance(key, str) and str(key) == step), MISSING)
    if isinstance(value, list | tuple) and _POSITION.fullmatch(step):
        position = int(step)
        first = -len(value) if from_end else 0
        return value[position] if first <= position < len(value) else MISSING
    return MISSING


def look_along(value: Json, path: Iterable[str]) -> Any:
    """The value at the end of the steps, or MISSING."""
    for step in path:
        value = step_into(value, step)
    return value
