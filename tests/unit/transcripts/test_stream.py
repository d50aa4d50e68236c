"""Extracting JSON from any printed text."""

from __future__ import annotations

import json

import pytest

from evalharness.errors import TargetFailed
from evalharness.transcripts.stream import MAX_DEPTH, Stream, parse_event, read_stream


@pytest.mark.parametrize(
    ("text", "objects", "ignored"),
    [
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}], 0),
        ('{"a": 1}\r\n\r\n{"a": 2}', [{"a": 1}, {"a": 2}], 0),
        ('\ufeff{"a": 1}\nbye\n', [{"a": 1}], 1),
        ('[{"a": 1}, 5, {"a": 2}]', [{"a": 1}, {"a": 2}], 1),
        ('{\n  "a": {"b": 1}\n}', [{"a": {"b": 1}}], 0),
        ('{\n  "a": 1\n}\n{\n  "a": 2\n}\n', [{"a": 1}, {"a": 2}], 0),
        ('log line\n{\n  "a": 1\n}\n{\n  "a":', [{"a": 1}], 0),
        ('[\n  {\n    "a": 1\n  },\n  {\n    "a": 2\n  },\n  {\n    "a"', [{"a": 1}, {"a": 2}], 0),
        ('{"a": 1}\n{"a": NaN}\n{"a": 1e999}', [{"a": 1}], 2),
        ('{"line separator": "\u2028"}\n{"a": 2}', [{"line separator": "\u2028"}, {"a": 2}], 0),
    ],
)
def test_objects_are_found(text: str, objects: list[object], ignored: int) -> None:
    assert read_stream(text) == Stream(objects, ignored)  # type: ignore[arg-type]


def test_half_of_a_surrogate_pair_is_replaced_and_a_whole_one_is_kept() -> None:
    half, whole = read_stream('{"a": "x\\ud83d"}\n{"a": "\\ud83d\\ude00"}').objects
    assert (half, whole) == ({"a": "x?"}, {"a": "\U0001f600"})


@pytest.mark.parametrize("depth", [150, 5000, 200_000])
def test_what_is_nested_too_deeply_is_ignored(depth: int) -> None:
    deep = '{"a": ' + "[" * depth + "]" * depth + "}"
    assert read_stream(f'{deep}\n{{"a": 1}}') == Stream([{"a": 1}], 1)
    with pytest.raises(TargetFailed, match="no events received"):
        read_stream(deep)


def test_what_is_only_wide_is_read() -> None:
    wide = [[{}] for _ in range(10 * MAX_DEPTH)]
    assert parse_event(json.dumps(wide)) == wide


def test_broken_documents_are_given_up_after_a_while() -> None:
    with pytest.raises(TargetFailed):
        read_stream('{"a":\n' * 50_000)


def test_a_long_stream_of_short_lines() -> None:
    text = "".join(json.dumps({"n": number}) + "\n" for number in range(20_000))
    assert len(read_stream(text).objects) == 20_000
