"""`{{any_uuid}}` and its kin in a known-good answer: texts that stand for every value of a kind.

A placeholder that is the whole text also settles the type: `{{any_number}}` is a number, not a text of digits. Inside
a longer text (`user-{{any_number}}`) it matches its part of the text. `\\{{any_number}}` is that text itself.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import regex

from evalharness.errors import Unscored, closest
from evalharness.values.json_value import Json
from evalharness.values.variables import MATCHER, has_matcher, literal

FORMS = {
    "any_uuid": r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
    "any_string": r".*",
    "any_email": r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+",
    "any_iso_datetime": r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}(?::?\d{2})?)?",
    "any_number": r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?",
}
FILLED: dict[str, str | int] = {
    "any_uuid": "00000000-0000-4000-8000-000000000000",
    "any_string": "text",
    "any_email": "someone@example.org",
    "any_iso_datetime": "2024-01-01T00:00:00Z",
    "any_number": 1,
}
MATCH_LIMIT_S = 0.1


def holds_placeholder(value: Json) -> bool:
    """Whether there is one in the value or anywhere below it."""
    if isinstance(value, dict):
        return any(holds_placeholder(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(holds_placeholder(item) for item in value)
    return has_matcher(value)


def check_placeholders(value: Json) -> None:
    """Raises ValueError for one that nobody knows."""
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            check_placeholders(item)
    elif isinstance(value, str) and "{{" in value:
        for name in (found.lower() for found in MATCHER.findall(value)):
            if name not in FORMS:
                guess = closest(name, FORMS)
                asked = f"; did you mean '{guess}'?" if guess else f"; known: {', '.join(FORMS)}"
                raise ValueError(f"unknown placeholder '{name}'{asked}")


def matches_placeholders(text: str, actual: Json) -> bool:
    """Whether the value is what a text with placeholders stands for."""
    whole = MATCHER.fullmatch(text.strip())
    if whole is not None and whole[1].lower() == "any_number":
        return isinstance(actual, int | float) and not isinstance(actual, bool)
    return isinstance(actual, str) and matches_text(text.strip() if whole else text, actual)


def matches_text(text: str, actual: str) -> bool:
    """The same among texts, where a number is its digits."""
    parts = MATCHER.split(text)
    names = [name.lower() for name in parts[1::2]]
    first, *others = (regex.escape(literal(part)) for part in parts[::2])
    pattern = first + "".join(f"({FORMS[name]}){part}" for name, part in zip(names, others, strict=True))
    try:
        found = regex.fullmatch(pattern, actual, flags=regex.DOTALL | regex.ASCII, timeout=MATCH_LIMIT_S)
    except TimeoutError:
        raise Unscored(f"placeholder time limit: '{text}' is too ambiguous") from None
    return found is not None and all(map(_is_real, names, found.groups()))


def _is_real(name: str, text: str) -> bool:
    """The 45th of January has the form of a date and is none."""
    if name != "any_iso_datetime":
        return True
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def fill_placeholders(value: Json) -> Json:
    """The value with something that matches in every placeholder's stead: what an oracle answers."""
    if isinstance(value, dict):
        return {key: fill_placeholders(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill_placeholders(item) for item in value]
    if not isinstance(value, str):
        return value
    whole = MATCHER.fullmatch(value.strip())
    return FILLED[whole[1].lower()] if whole else literal(MATCHER.sub(_filled, value))


def _filled(found: Any) -> str:
    return str(FILLED[found[1].lower()])
