"""Two texts word by word: what each has that the other has not. Pure; long texts are compared by their ends alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from evalharness.values.text import same_beginning

MOST_WORDS = 1500
"""On each side: comparing more takes too long for a report of many cases."""
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


class Piece(NamedTuple):
    text: str
    differs: bool


def word_difference(one: str, other: str) -> tuple[list[Piece], list[Piece]]:
    before, now = _WORD.findall(one), _WORD.findall(other)
    if max(len(before), len(now)) > MOST_WORDS:
        return _by_ends(one, other), _by_ends(other, one)
    left: list[Piece] = []
    right: list[Piece] = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        _add(left, before[i1:i2], kind != "equal")
        _add(right, now[j1:j2], kind != "equal")
    return left, right


def _add(pieces: list[Piece], words: Sequence[str], differs: bool) -> None:
    if words:
        pieces.append(Piece("".join(words), differs))


def _by_ends(text: str, other: str) -> list[Piece]:
    """What is between the beginning and the end that both share."""
    start = same_beginning(text, other)
    rest, other_rest = text[start:], other[start:]
    end = len(text) - same_beginning(rest[::-1], other_rest[::-1])
    parts = ((text[:start], False), (text[start:end], True), (text[end:], False))
    return [Piece(part, differs) for part, differs in parts if part]
