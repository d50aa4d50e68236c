"""Paths into JSON values as files write them: `users.*.id`. `*` stands for one step, `**` for any number of steps.

A step is a key or the position of an element. A key that itself holds dots is written as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from evalharness.domain.record import Json

Path = tuple[str, ...]

_IN_BRACKETS = re.compile(r"\[(\*|\d+)\]")


def read_path(written: str) -> Path:
    """`users.*.id`, also as `$.users[*].id`. Raises ValueError for what names nothing."""
    steps = tuple(_IN_BRACKETS.sub(r".\1", written).removeprefix("$").removeprefix(".").split("."))
    if not all(steps):
        raise ValueError(f"'{written}' is no path; write it like users.*.id")
    return steps


def fits(pattern: Path, path: Path) -> bool:
    """Whether the pattern means exactly this place."""
    if not pattern or not path:
        return not path and all(step == "**" for step in pattern)
    if pattern[0] == "**":
        return fits(pattern[1:], path) or fits(pattern, path[1:])
    if pattern[0] == "*" and fits(pattern[1:], path[1:]):
        return True
    key = tuple(path[0].split("."))
    return pattern[: len(key)] == key and fits(pattern[len(key) :], path[1:])


def is_there(value: Json, pattern: Path) -> bool:
    """Whether the value has something at the path; with `*`, whether every element has it: an empty list lacks none."""
    if not pattern:
        return True
    below = list(children(value))
    if pattern[0] == "**":
        return is_there(value, pattern[1:]) or any(is_there(child, pattern) for _, child in below)
    if pattern[0] == "*":
        return isinstance(value, dict | list | tuple) and all(is_there(child, pattern[1:]) for _, child in below)
    keys = ((tuple(key.split(".")), child) for key, child in below)
    return any(pattern[: len(key)] == key and is_there(child, pattern[len(key) :]) for key, child in keys)


def children(value: Json) -> Iterable[tuple[str, Json]]:
    """What is directly below a value, with its step. Python's mappings may have keys that JSON writes as texts."""
    if isinstance(value, dict):
        return ((str(key), child) for key, child in value.items())
    if isinstance(value, list | tuple):
        return ((str(position), child) for position, child in enumerate(value))
    return ()


def value_at(value: Json, path: Path) -> Json:
    """What is at a place; raises LookupError where there is nothing."""
    for step in path:
        if isinstance(value, list | tuple) and step.isdecimal():
            value = value[int(step)]
        elif isinstance(value, dict):
            value = value[step] if step in value else dict(children(value))[step]
        else:
            raise LookupError(step)
    return value
