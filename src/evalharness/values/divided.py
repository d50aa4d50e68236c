"""Requests divided into parts, each known by a digest of what it says, so that nothing is kept as often as it was sent.

A conversation repeats in every request what was said before. Its messages are parts; and so are runs of messages, or
else a long conversation would be a long list of references, as often as it was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic_core import to_json

from evalharness.values.json_value import Json

PART, PARTS = "$part", "$parts"
"""In place of a value, and of several elements of a list: the digest of what stands there."""
SHORTEST_PART = 120
"""Bytes of JSON: what is shorter is not worth a part of its own."""
ELEMENTS = 16
_NESTED = (dict, list, tuple)
Keep = Callable[[Json], str]
"""Keeps a part, and returns its digest."""


def divided(request: Json, keep: Keep) -> Json:
    if not isinstance(request, dict):
        return request

    def part(value: Json) -> Json:
        if not isinstance(value, _NESTED):
            return value
        is_kept = len(to_json(value)) >= SHORTEST_PART or _refers(value)
        return {PART: keep(value)} if is_kept else value

    def parts(values: Any) -> Json:
        items = [part(value) for value in values]
        whole_runs = len(items) // ELEMENTS * ELEMENTS
        runs = (items[first : first + ELEMENTS] for first in range(0, whole_runs, ELEMENTS))
        return [*({PARTS: keep(run)} for run in runs), *items[whole_runs:]]

    return {key: parts(value) if isinstance(value, list | tuple) else part(value) for key, value in request.items()}


def names_in(written: Json) -> Iterator[str]:
    """The digests that a divided request, or a run of elements, refers to."""
    for value in written.values() if isinstance(written, dict) else (written,):
        for item in value if isinstance(value, list) else (value,):
            if _refers(item):
                yield from item.values()


def runs_in(written: Json) -> Iterator[str]:
    """Those of them that stand for several elements, which may refer to others."""
    for value in written.values() if isinstance(written, dict) else ():
        for item in value if isinstance(value, list) else ():
            if _refers(item) and PARTS in item:
                yield item[PARTS]


def whole(written: Json, parts: Mapping[str, Json]) -> Json:
    """The request again. Raises LookupError for a part that is missing."""
    if not isinstance(written, dict):
        return written

    def one(value: Json) -> Json:
        return parts[value[PART]] if _refers(value) and PART in value else value

    def several(values: list[Any]) -> Iterator[Json]:
        for value in values:
            if _refers(value) and PARTS in value:
                run: Any = parts[value[PARTS]]
                yield from map(one, run)
            else:
                yield one(value)

    return {key: [*several(value)] if isinstance(value, list) else one(value) for key, value in written.items()}


def _refers(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and (PART in value or PARTS in value)
