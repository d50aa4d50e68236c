"""Levenshtein distance: how many letters must be put in, taken out or changed to turn one text into another.

Bit-parallel: one big integer holds a whole column of the table, so that 10,000 letters against 10,000 take 0.05 s.
"""

from __future__ import annotations

from itertools import takewhile

from evalharness.errors import Unscored

MOST_CELLS = 20_000_000_000
"""Of the table: two texts of 140,000 letters, which take some seconds."""


def similarity(one: str, other: str) -> float:
    """1 for equal texts, 0 for texts that have no letter in place; two empty texts are equal."""
    longest = max(len(one), len(other))
    return 1 - edit_distance(one, other) / longest if longest else 1.0


def edit_distance(one: str, other: str) -> int:
    """Raises Unscored for texts that are too long to be compared."""
    column, row = sorted(_without_common_ends(one, other), key=len)
    if not column:
        return len(row)
    if len(column) * len(row) > MOST_CELLS:
        raise Unscored(f"texts of {len(one)} and {len(other)} letters are too long to be compared letter by letter")
    return _distance(column, row)


def _distance(column: str, row: str) -> int:
    everything = (1 << len(column)) - 1
    last = 1 << (len(column) - 1)
    places: dict[str, int] = {}
    for index, letter in enumerate(column):
        places[letter] = places.get(letter, 0) | 1 << index
    # Neighbouring cells of the table differ by at most 1: where they rise and fall is all there is to keep.
    rises, falls, distance = everything, 0, len(column)
    for letter in row:
        equal = places.get(letter, 0)
        vertical = equal | falls
        horizontal = (((equal & rises) + rises) ^ rises) | equal
        rises_across = falls | (everything & ~(horizontal | rises))
        falls_across = rises & horizontal
        distance += bool(rises_across & last) - bool(falls_across & last)
        rises_across = (rises_across << 1 | 1) & everything
        falls_across = falls_across << 1 & everything
        rises = falls_across | (everything & ~(vertical | rises_across))
        falls = rises_across & vertical
    return distance


def _without_common_ends(one: str, other: str) -> tuple[str, str]:
    start = _common(one, other)
    one, other = one[start:], other[start:]
    end = _common(one[::-1], other[::-1])
    return one[: len(one) - end], other[: len(other) - end]


def _common(one: str, other: str) -> int:
    """With how many letters both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
