"""Paths into JSON values as files write them: `users.*.id`. `*` stands for one step, `**` for any number of steps.

A step is a key or the position of an element; in one such as `created_*`, the star stands for any characters. A key
that itself holds dots is written as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from evalharness.values.json_value import MISSING, Json, look_along

JsonPath = tuple[str, ...]

_IN_BRACKETS = re.compile(r"\[(\*|\d+)\]")


def read_path(written: str) -> JsonPath:
    """`users.*.id`, also as `$.users[*].id`. Raises ValueError for what names nothing."""
    steps = tuple(_IN_BRACKETS.sub(r".\1", written).removeprefix("$").removeprefix(".").split("."))
    if not all(steps):
        raise ValueError(f"'{written}' is not a path; write it like users.*.id")
    return steps


def fits(pattern: JsonPath, path: JsonPath) -> bool:
    """Whether the pattern means exactly this place."""
    reached = _past_any_steps(pattern, {0})
    for key in path:
        after: set[int] = set()
        for position in reached - {len(pattern)}:
            if pattern[position] == "**":
                after.add(position)
            elif pattern[position] == "*":
                after.add(position + 1)
            if length := _steps_for(key, pattern[position:]):
                after.add(position + length)
        reached = _past_any_steps(pattern, after)
    return len(pattern) in reached


def _past_any_steps(pattern: JsonPath, positions: set[int]) -> set[int]:
    """The positions, and those behind them that are reached because `**` may stand for nothing."""
    reached = set(positions)
    for position, step in enumerate(pattern):
        if position in reached and step == "**":
            reached.add(position + 1)
    return reached


def _steps_for(key: str, pattern: JsonPath) -> int:
    """With how many of its first steps the pattern spells the key; 0 where it does not."""
    parts = key.split(".")
    spelled = len(parts) <= len(pattern) and all(map(_is_spelled, pattern, parts))
    return len(parts) if spelled else 0


def _is_spelled(step: str, part: str) -> bool:
    if "*" not in step or not step.strip("*"):
        return step == part
    return fnmatchcase(part, step.replace("[", "[[]").replace("?", "[?]"))


def is_there(value: Json, pattern: JsonPath) -> bool:
    """Whether the value has something at the path; with `*`, whether every element has it: an empty list lacks none."""
    return _is_there(value, pattern, {})


def _is_there(value: Json, pattern: JsonPath, known: dict[tuple[int, int], bool]) -> bool:
    """`known` keeps what was found for a value and the rest of the pattern: several `**` lead to it again and again."""
    if not pattern:
        return True
    place = (id(value), len(pattern))
    if place not in known:
        known[place] = _has(value, pattern, known)
    return known[place]


def _has(value: Json, pattern: JsonPath, known: dict[tuple[int, int], bool]) -> bool:
    step, rest = pattern[0], pattern[1:]
    if step == "**":
        return _is_there(value, rest, known) or any(_is_there(child, pattern, known) for _, child in children(value))
    if step == "*":
        is_container = isinstance(value, dict | list | tuple)
        return is_container and all(_is_there(child, rest, known) for _, child in children(value))
    below = ((_steps_for(key, pattern), child) for key, child in children(value))
    return any(length and _is_there(child, pattern[length:], known) for length, child in below)


def children(value: Json) -> Iterable[tuple[str, Json]]:
    """What is directly below a value, with its step. Python's mappings may have keys that JSON writes as texts."""
    if isinstance(value, dict):
        return ((str(key), child) for key, child in value.items())
    if isinstance(value, list | tuple):
        return ((str(position), child) for position, child in enumerate(value))
    return ()


def value_at(value: Json, path: JsonPath) -> Json:
    """What is at a place; raises LookupError where there is nothing."""
    found = look_along(value, path)
    if found is MISSING:
        raise LookupError(".".join(path))
    return found
