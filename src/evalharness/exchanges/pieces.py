"""Streams whose pieces hide a secret: models send a few letters at a time, and no piece has all of it.

Texts at the same place of one event after the other belong together. Where they contain a secret as a whole, the first
of them gets all of the text without it, and the others get none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from evalharness.redaction import Redactor
from evalharness.values.json_value import Json

DATA = "data:"
Place = tuple[str | int, ...]
NUMBERS = ("index", "output_index", "content_index", "item_id")
"""By which events say to which of several texts they belong."""


def without_secrets(stream: Sequence[Sequence[Any]], redactor: Redactor) -> list[Json]:
    """`stream`: the pieces, each with the milliseconds before it. They are kept as they are where no secret is."""
    events = [_event(text) for _, text in stream]
    found: dict[Place, list[tuple[Any, str | int]]] = {}
    for event in events:
        for place, owner, key in _texts(event, _about(event)):
            found.setdefault(place, []).append((owner, key))
    changed = False
    for leaves in found.values():
        pieces = [owner[key] for owner, key in leaves]
        if len(set(pieces)) < 2:  # an id that every event repeats
            continue
        text = "".join(pieces)
        if (clean := redactor.redact(text)) != text:
            for number, (owner, key) in enumerate(leaves):
                owner[key] = "" if number else clean
            changed = True
    if not changed:
        return list(map(list, stream))
    return [
        [ms, text if event is None else _written(text, event)] for (ms, text), event in zip(stream, events, strict=True)
    ]


def _event(text: str) -> Any:
    """The data of an event; None where it is no JSON."""
    lines = [line[len(DATA) :].strip() for line in text.splitlines() if line.startswith(DATA)]
    try:
        return json.loads(lines[0]) if len(lines) == 1 else None
    except ValueError:
        return None


def _written(text: str, event: Any) -> str:
    lines = [f"{DATA} {json.dumps(event)}" if line.startswith(DATA) else line for line in text.splitlines()]
    return "\n".join(lines).rstrip("\n") + "\n\n"


def _about(event: Any) -> Place:
    return tuple(f"{name}={event[name]}" for name in NUMBERS if name in event) if isinstance(event, dict) else ()


def _texts(value: Any, place: Place) -> Iterator[tuple[Place, Any, str | int]]:
    """The texts in an event: where, in what and under which key. An item of a list is named by its own number."""
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(item, str):
            yield (*place, key), value, key
        elif isinstance(item, dict | list):
            named = item.get("index", key) if isinstance(value, list) and isinstance(item, dict) else key
            yield from _texts(item, (*place, named))
