"""Comparing what a function returned with what it should return. Both are data.

Numbers are equal by value, but true is not 1; a tuple is a list; NaN equals NaN. A set equals a list that has the same
members, each once, in any order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalharness.values.json_value import Json

DEEPEST = 100
TOO_DEEP = "the result is nested too deeply"
UNREADABLE = "the result cannot be read"


class Unordered(tuple[Any, ...]):
    """The members of a set that a function returned."""

    __slots__ = ()


class NoResult(Exception):
    """There is nothing to compare; the message says why."""


def read_reply(text: str) -> Any:
    """The value in a child's reply (`runners/call_python.py`); raises NoResult. It may hold anything at all."""
    try:
        replied = json.loads(text)
        if isinstance(replied, dict) and isinstance(error := replied.get("error"), str):
            raise NoResult(error)
        return _value(replied["value"])
    except RecursionError:
        raise NoResult(TOO_DEEP) from None
    except (KeyError, TypeError, ValueError):
        raise NoResult(UNREADABLE) from None


def _value(plain: Any, depth: int = 0) -> Any:
    if depth > DEEPEST:
        raise NoResult(TOO_DEEP)
    if isinstance(plain, list):
        return [_value(item, depth + 1) for item in plain]
    if not isinstance(plain, dict):
        return plain
    match list(plain.items()):
        case [("dict", dict(held))]:
            return {key: _value(item, depth + 1) for key, item in held.items()}
        case [("set", list(held))]:
            return Unordered(_value(item, depth + 1) for item in held)
        case [("float", str(held))]:
            return float(held)
        case [("int", str(held))]:
            return int(held)
    raise ValueError(plain.keys())


def as_value(printed: str) -> Any:
    """What a program printed, where a text would not do: the JSON value that it is, else the text."""
    try:
        value = json.loads(printed)
    except (RecursionError, ValueError):
        return printed
    return printed if _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    """Level by level: what is nested ever so deeply has few of them at once, or is not long."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            item
            for holder in level
            if isinstance(holder, list | dict)
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
    return bool(level)


def storable(value: Any) -> Json:
    """The value as it is kept with a grade: what JSON has no number for is text, a set is a list."""
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if isinstance(value, Mapping):
        return {key: storable(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) >= 2**63:
        return str(value)
    return value


def is_equal(value: Any, expected: Any) -> bool:
    return _is_same(value, expected, _same_number)


def approximately(value: Any, expected: Any, *, absolute: float, relative: float) -> bool:
    """Numbers at any depth may differ by the larger of both tolerances; all else must be equal."""

    def near(one: float, other: float) -> bool:
        try:
            return _same_number(one, other) or abs(one - other) <= max(absolute, relative * abs(other))
        except OverflowError:  # a whole number that no float can hold
            return False

    return _is_same(value, expected, near)


def same_members(value: Any, expected: Any) -> bool:
    """Order and multiplicity do not matter."""
    return isinstance(value, list | tuple) and _members(value) == _members(expected)


def _is_same(value: Any, expected: Any, same_number: Callable[[Any, Any], bool]) -> bool:
    if _is_number(value) and _is_number(expected):
        return same_number(value, expected)
    if isinstance(value, Unordered):
        return _is_list(expected) and len(value) == len(expected) and _pairs(value, expected, same_number)
    if _is_list(value) and _is_list(expected):
        return len(value) == len(expected) and all(
            _is_same(one, other, same_number) for one, other in zip(value, expected, strict=True)
        )
    if isinstance(value, Mapping) and isinstance(expected, Mapping):
        return value.keys() == expected.keys() and all(
            _is_same(value[key], expected[key], same_number) for key in value
        )
    return type(value) is type(expected) and bool(value == expected)


def _pairs(members: Sequence[Any], expected: Sequence[Any], same_number: Callable[[Any, Any], bool]) -> bool:
    if same_number is _same_number:
        return _members(members) == _members(expected) and len(_members(expected)) == len(expected)
    left = list(expected)
    for member in members:
        found = next((place for place, other in enumerate(left) if _is_same(member, other, same_number)), None)
        if found is None:
            return False
        left.pop(found)
    return True


def _members(values: Sequence[Any]) -> frozenset[Any]:
    return frozenset(map(_frozen, values))


def _frozen(value: Any) -> Any:
    """Equal exactly where the values are."""
    if isinstance(value, float) and math.isnan(value):
        return "nan", None
    if isinstance(value, Unordered):
        return "list", _members(value)
    if _is_list(value):
        return "list", tuple(map(_frozen, value))
    if isinstance(value, Mapping):
        return "mapping", frozenset((key, _frozen(item)) for key, item in value.items())
    return "number" if _is_number(value) else type(value).__name__, value


def _same_number(one: float, other: float) -> bool:
    return one == other or (one != one and other != other)  # noqa: PLR0124 - only NaN differs from itself


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
