"""Where two JSON values differ, path by path. What to compare comes with a grade; nothing is judged here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from evalharness.values.json_value import Json

_PLAIN_KEY = re.compile(r"[^\W\d]\w*")


class JsonDifference(NamedTuple):
    """One place; of a value that only one side has, the other one is None."""

    path: str
    kind: Literal["changed", "missing", "unexpected"]
    expected: Json
    actual: Json


def have_parts(one: Json, other: Json) -> bool:
    """Whether both are mappings, or both lists: then their parts are compared."""
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in (Mapping, list | tuple))


def json_differences(expected: Json, actual: Json, path: str = "$") -> Iterator[JsonDifference]:
    if not have_parts(expected, actual):
        if expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
            yield JsonDifference(path, "changed", expected, actual)
        return
    before, now = _parts(expected), _parts(actual)
    for step in [*before, *(step for step in now if step not in before)]:
        place = f"{path}{step}"
        if step not in now:
            yield JsonDifference(place, "missing", before[step], None)
        elif step not in before:
            yield JsonDifference(place, "unexpected", None, now[step])
        else:
            yield from json_differences(before[step], now[step], place)


def _parts(value: Json) -> dict[str, Json]:
    """Those of a mapping or a list, by the step that leads to them."""
    if isinstance(value, Mapping):
        return {_key(str(key)): part for key, part in value.items()}
    return {f"[{number}]": part for number, part in enumerate(value)}


def _key(key: str) -> str:
    return f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]"
