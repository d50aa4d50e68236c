"""Ways through JSON values, written with dots: `choices.0.message.content`. `*` and `**` mean nothing here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from evalharness.values.json_value import Json

MISSING: Final[Any] = object()
"""What a path leads to when it leads nowhere; null is something else."""

_ROOT = re.compile(r"\A\$(?=[.\[]|\Z)")
_IN_BRACKETS = re.compile(r"\[(-?[0-9]+)\]")
_POSITION = re.compile(r"-?[0-9]{1,18}")


def steps(text: str) -> tuple[str, ...]:
    """`a.0.b`, also written `$.a[0].b`; the root itself (`$`, or nothing) has no steps."""
    dotted = _IN_BRACKETS.sub(r".\1", _ROOT.sub("", text)).strip(".")
    return tuple(dotted.split(".")) if dotted else ()


def step_into(value: Json, step: str, *, from_end: bool = False) -> Any:
    """What is directly below a value: under a key, or at a position of a list; `from_end` lets -1 be the last one."""
    if isinstance(value, Mapping):
        if step in value:
            return value[step]
        # Python's mappings may have keys that JSON writes as texts.
        return next((child for key, child in value.items() if not isinstance(key, str) and str(key) == step), MISSING)
    if isinstance(value, list | tuple) and _POSITION.fullmatch(step):
        position = int(step)
        first = -len(value) if from_end else 0
        return value[position] if first <= position < len(value) else MISSING
    return MISSING


def look_along(value: Json, path: Iterable[str]) -> Any:
    """What stands at the end of the steps, or MISSING."""
    for step in path:
        value = step_into(value, step)
    return value
