"""Any printed text is read as a transcript that can be stored, or the result says that there were no events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_streams import CODEX_FIRST_FORM, STREAMS
from hypothesis import given
from hypothesis import strategies as st

from evalharness import registry
from evalharness.domain.transcript import Transcript, errors_of
from evalharness.errors import TargetFailed
from evalharness.transcripts.auto import detect

NAMES = sorted(registry.BUILT_IN["transcript"])
TEXTS = (*STREAMS.values(), CODEX_FIRST_FORM)
ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def values_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in values_in(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    copied = value.copy()
    copied[path[0]] = replaced(value[path[0]], path[1:], by)
    return copied


def objects_of(text: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


OBJECTS = [objects_of(text) for text in TEXTS]


@st.composite
def mutated_values(draw: st.DrawFn) -> str:
    """A real stream with some values replaced, at any depth, and with events left out, repeated and moved."""
    objects = draw(st.sampled_from(OBJECTS))
    for _ in range(draw(st.integers(1, 4))):
        paths = values_in(objects)[1:]
        path = paths[draw(st.integers(0, len(paths) - 1))]  # sampled_from() would inspect each of them
        objects = replaced(objects, path, draw(VALUES))
    kept = draw(st.lists(st.sampled_from(objects), min_size=1)) if draw(st.booleans()) else objects
    return "\n".join(json.dumps(item) for item in kept)


@st.composite
def mutated_text(draw: st.DrawFn) -> str:
    """A real stream, cut somewhere, with something inserted somewhere."""
    text = draw(st.sampled_from(TEXTS))
    cut = text[: draw(st.integers(0, len(text)))]
    place = draw(st.integers(0, len(cut)))
    return (
        cut[:place]
        + draw(st.text(max_size=3) | st.sampled_from(["\n", "{", "}", "[", '"', "\\ud800", "\0"]))
        + cut[place:]
    )


def check(name: str, text: str) -> None:
    try:
        found: Transcript = registry.load("transcript", name)(text)
    except TargetFailed as failure:
        assert str(failure).startswith(("no events received", "no parser recognises"))
        return
    stored = found.model_dump_json()
    assert Transcript.model_validate_json(stored).model_dump_json() == stored
    stored.encode()
    assert all(errors_of(found))
    assert all(isinstance(message["role"], str) for message in found.messages)


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text())
def test_any_text(name: str, text: str) -> None:
    check(name, text)


@pytest.mark.parametrize("name", NAMES)
@given(text=mutated_values())
def test_streams_with_other_values(name: str, text: str) -> None:
    check(name, text)
    assert detect(text) in {*STREAMS, None}


@pytest.mark.parametrize("name", NAMES)
@given(text=mutated_text())
def test_streams_with_other_letters(name: str, text: str) -> None:
    check(name, text)
