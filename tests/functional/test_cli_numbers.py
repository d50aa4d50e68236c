"""Numbers given to flags: an invalid or out-of-range number is wrong usage; the message says what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import drive, write

SUITE = """
name: one
target: echo
test_cases:
  - {id: a, input: a, expected: a}
"""


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        ("plan suite.yaml --effect", "points > 0 and ≤ 100"),
        ("plan suite.yaml --power", "number > 0.5 and < 1"),
        ("plan suite.yaml --alpha", "number ≥ 1e-09 and < 0.25"),
        ("compare a b --alpha", "number ≥ 1e-09 and < 0.5"),
        ("compare a b --margin", "points > 0 and ≤ 100"),
        ("regressions one --power", "number > 0.5 and < 1"),
        ("run suite.yaml --regression-tolerance", "points ≥ 0 and ≤ 100"),
        ("run suite.yaml --sequential-effect", "points > 0 and < 100"),
        ("run suite.yaml --fail-under", "pass rate (0.9, 90 or 90%)"),
        ("gate a --fail-under", "pass rate (0.9, 90 or 90%)"),
    ],
)
def test_nan_is_not_a_number(tmp_path: Path, words: str, allowed: str) -> None:
    write(tmp_path, suite_yaml=SUITE)
    done = drive(tmp_path, *words.split(), "nan")
    assert done.code == 2
    assert allowed in done.err
    assert "internal error" not in done.err
