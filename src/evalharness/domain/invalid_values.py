"""Invalid values: what pydantic found wrong, in plain words. Nothing else of pydantic's own texts reaches a user."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from evalharness.domain.problem import FieldPath, field_text, quoted

MOST_SHOWN = 5
STRAY = ("extra_forbidden", "unexpected_keyword_argument")
"""A key that a model, or a dataclass in it, does not know."""
BRANCHES = ("str", "bool", "int", "float", "GraderSpec", "TargetSpec")
BOUNDS = {
    "string_too_short": "min_length",
    "string_too_long": "max_length",
    "string_pattern_mismatch": "pattern",
    "too_short": "min_length",
    "too_long": "max_length",
}
WANTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "dict": "a mapping",
    "model": "a mapping",
    "dataclass": "a mapping",
    "list": "a list",
    "tuple": "a list",
}
_SHOULD = re.compile(r"^[A-Z]\w+ should ")
_LETTERS = re.compile(r"\^\[A-Za-z0-9(.+)\]\+\$")


def explain(error: ValidationError, *around: str | int) -> str:
    """`usage.input_tokens: must be a whole number, not 'x'; …`, with the path that leads to the value before it."""
    found = list(each_place_once(error.errors(include_url=False)))
    messages = [_message(each, around) for each in found[:MOST_SHOWN]]
    more = f"; and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    return "; ".join(messages) + more


def _message(found: Any, around: FieldPath) -> str:
    """Nobody has a file to look at, so texts are shown that a message of ours does not show."""
    place, message, got = field_text((*around, *as_written(found["loc"]))), message_of(found), found["input"]
    if choices := choices_of(found):
        message += f" (allowed: {choices})"
    elif isinstance(got, str) and got and message.startswith("must ") and quoted(got) not in message:
        message += f", not {quoted(got)}"
    return ": ".join(filter(None, (place, message)))


def choices_of(found: Any) -> str:
    """pydantic's `'a', 'b' or 'c'` as `a, b, c`; the empty default is nothing that anybody writes."""
    if found["type"] != "literal_error":
        return ""
    return ", ".join(choice for choice in re.findall(r"'([^']*)'", str(found["ctx"]["expected"])) if choice)


def message_of(found: Any) -> str:
    """pydantic's words made ours: `must be a whole number, not 'big'`."""
    kind, got = found["type"], found["input"]
    if kind == "missing":
        return "is missing"
    if kind in STRAY:
        return "is not a known key"
    if kind == "json_invalid":
        return f"is not JSON: {found['ctx']['error']}"
    if kind == "literal_error":
        return f"{quoted(str(got))} is not allowed"
    if kind in BOUNDS:
        return _out_of_bounds(found)
    if found["wanted"]:
        text = f"must be {' or '.join(found['wanted'])}"
    else:
        text = _SHOULD.sub("must ", str(found["msg"]).removeprefix("Value error, "))
        text = text.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    if text.startswith("must be") and isinstance(got, str | int | float | bool | None):
        text += f", not {quoted(got) if isinstance(got, str) else json.dumps(got)}"
    return text


def each_place_once(errors: Iterable[Any]) -> Iterator[Any]:
    """Where a value may be of several kinds, pydantic complains once for each; `wanted` gathers them in one error."""
    wanted_at: dict[FieldPath, dict[str, None]] = {}
    for found in errors:
        family, _, detail = found["type"].partition("_")
        if family not in WANTED or not detail.startswith(("type", "parsing", "from")):
            yield {**found, "wanted": ()}
            continue
        place = as_written(found["loc"])
        is_first = place not in wanted_at
        wanted_at.setdefault(place, {})[WANTED[family]] = None
        if is_first:
            yield {**found, "wanted": wanted_at[place]}


def as_written(location: Iterable[str | int]) -> FieldPath:
    """A location without the union branches that pydantic adds: `function-after[…]`, `tuple[str, ...]`, `str`."""
    return tuple(part for part in location if not (isinstance(part, str) and ("[" in part or part in BRANCHES)))


def _out_of_bounds(found: Any) -> str:
    """A text or a list too short or too long, or a text of other characters than it may have."""
    if not found["input"]:
        return "must not be empty"
    bound = found["ctx"][BOUNDS[found["type"]]]
    if found["type"] != "string_pattern_mismatch":
        counted = "characters" if isinstance(found["input"], str) else "entries"
        return f"must have at {'least' if 'min' in BOUNDS[found['type']] else 'most'} {bound} {counted}"
    letters = _LETTERS.fullmatch(bound)
    made_of = f"consist of letters, digits and {' '.join(letters[1])}" if letters else f"match {bound}"
    return f"must {made_of}, not {quoted(found['input'])}"
