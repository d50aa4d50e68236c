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
        ("plan suite.yaml --effect", "between 0 and 100"),
        ("plan suite.yaml --power", "between 0.5 and 1"),
        ("plan suite.yaml --alpha", "between 1e-09 and 0.25"),
        ("compare a b --alpha", "between 1e-09 and 0.5"),
        ("compare a b --margin", "between 0 and 100"),
        ("regressions one --power", "between 0.5 and 1"),
        ("run suite.yaml --regression-tolerance", "between 0 and 1"),
        ("run suite.yaml --sequential-effect", "between 0 and 100"),
        ("run suite.yaml --fail-under", "write 0.9, 90 or 90%"),
        ("gate a --fail-under", "write 0.9, 90 or 90%"),
    ],
)
def test_nan_is_not_a_number(tmp_path: Path, words: str, allowed: str) -> None:
    write(tmp_path, suite_yaml=SUITE)
    done = drive(tmp_path, *words.split(), "nan")
    assert done.code == 2
    assert allowed in done.err
    assert "internal error" not in done.err


@pytest.mark.parametrize("words", ["compare a b --margin", "regressions one --margin", "plan suite.yaml --effect"])
def test_a_share_is_not_taken_for_points(tmp_path: Path, words: str) -> None:
    write(tmp_path, suite_yaml=SUITE)
    done = drive(tmp_path, *words.split(), "0.05")
    assert done.code == 2
    assert "0.05 is less than half a point, which hardly any run can show; 5 points are written 5, not 0.05" in done.err
