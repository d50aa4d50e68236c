"""Durations in Go's format."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import TypeAdapter

from evalharness.documents.session_results import GoDuration, duration_text

DURATION: TypeAdapter[timedelta] = TypeAdapter(GoDuration)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"), (42, "42s"), (120, "2m0s"), (1.5, "1.5s"), (0.15, "150ms"), (0.0015, "1.5ms"), (0.00001, "10µs"),
        (3600, "1h0m0s"), (3661.25, "1h1m1.25s"), (61, "1m1s"), (-90, "-1m30s"),
    ],
)  # fmt: skip
def test_a_duration_is_written_as_go_writes_it(seconds: float, text: str) -> None:
    assert duration_text(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("seconds", "precision", "text"),
    [(42.0004, 0.001, "42s"), (1.2345, 0.001, "1.235s"), (119.5, 1, "2m0s"), (0.4, 1, "0s")],
)
def test_it_is_rounded_as_asked(seconds: float, precision: float, text: str) -> None:
    assert duration_text(timedelta(seconds=seconds), timedelta(seconds=precision)) == text


def test_json_has_nanoseconds() -> None:
    assert DURATION.dump_python(timedelta(seconds=1.5)) == 1_500_000_000
    assert DURATION.validate_python(1_500_000_000) == timedelta(seconds=1.5)
    assert DURATION.validate_python(timedelta(seconds=2)) == timedelta(seconds=2)
