"""Where an answer differs from what was expected, as lines for a terminal: `-` is expected, `+` is the answer.

Short texts are shown whole, long ones around the spot where they differ, JSON values by path. What to compare comes
with a grade; nothing is judged here.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size

from evalharness.domain.case import as_text
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import Failure
from evalharness.reports.json_difference import have_parts, json_differences
from evalharness.reports.terminal.screen import Part
from evalharness.reports.wording import from_here, harmless, one_line
from evalharness.values.json_value import Json
from evalharness.values.text import same_beginning

Line: TypeAlias = tuple[Part, ...]
EXPECTED, ACTUAL = ("- ", "red"), ("+ ", "green")
CONTEXT_LINES = 2
COMPARED_LINES = 400
"""Of long texts, from shortly before the first difference on."""
LONGEST_LINE = 200
"""Where there is no terminal, whose width would say it."""


def failure_lines(failure: Failure, *, width: int, most: int = 8) -> list[Line]:
    """Why a case did not pass: the grader and the difference where it has one, else the reason."""
    found = failure.difference
    if found is None:
        return [(from_here(failure.reason),)]
    return [(failure.grader,), *difference_lines(found.expected, found.actual, width=width, most=most)]


def difference_lines(expected: Json, actual: Json, *, width: int, most: int) -> list[Line]:
    """At most `most` lines, none longer than `width` columns."""
    room = min(width, LONGEST_LINE)
    found = list(islice(_lines(expected, actual, room), COMPARED_LINES))
    if len(found) <= most:
        return found
    return [*found[: most - 1], ((f"… {count(len(found) - most + 1, 'more line')}", "dim"),)]


def _lines(expected: Json, actual: Json, room: int) -> Iterator[Line]:
    if have_parts(expected, actual):
        yield from _by_path(expected, actual, room)
        return
    one, other = as_text(expected).strip("\n"), as_text(actual).strip("\n")
    if "\n" in one or "\n" in other:
        yield from _by_line(one.splitlines(), other.splitlines(), room)
    else:
        yield from _pair(one, other, room)


# Texts.


def _pair(expected: str, actual: str, room: int) -> Iterator[Line]:
    """Two lines that differ, both cut in the same way so that the difference is seen."""
    one, other = harmless(expected), harmless(actual)
    if _as_seen(one) == _as_seen(other):  # they differ in what cannot be seen
        one, other = _visible(expected), _visible(actual)
    same_before = same_beginning(one, other)
    same_after = same_beginning(one[same_before:][::-1], other[same_before:][::-1])
    window = _window((one, other), same_before, room - len(EXPECTED[0]))
    for sign, text in ((EXPECTED, one), (ACTUAL, other)):
        yield _marked(sign, text, (same_before, len(text) - same_after), window)


def _marked(sign: tuple[str, str], text: str, differing: tuple[int, int], window: tuple[int, int]) -> Line:
    """The differing part is underlined where most of the line is the same; outside of the window nothing is shown."""
    colour = sign[1]
    if not text:
        return sign, ("(empty)", f"dim {colour}")
    (start, end), (first, last) = differing, window
    before, after = "…" if first else "", "…" if last < len(text) else ""
    if end <= start or (end - start) * 2 > len(text):
        return sign, (f"{before}{text[first:last]}{after}", colour)
    return (
        sign,
        (f"{before}{text[first:start]}", colour),
        (text[start : min(end, last)], f"{colour} underline"),
        (f"{text[end:last]}{after}", colour),
    )


def _window(texts: tuple[str, str], start: int, room: int) -> tuple[int, int]:
    """Which part of two texts is shown where not all fits: from some way before their difference on."""
    length, columns = max(map(len, texts)), max(map(cell_len, texts))
    if columns <= room:
        return 0, length
    inner = max((room - 2) // (2 if columns > length else 1), 10)  # a wide character takes two columns
    first = max(0, min(start - inner // 3, length - inner))
    return first, min(length, first + inner)


def _visible(text: str) -> str:
    """With quotes, and with escapes for what has no glyph of its own."""
    has_glyph = {letter: letter.isprintable() and not unicodedata.combining(letter) for letter in set(text)}
    return "'" + "".join(letter if has_glyph[letter] else ascii(letter)[1:-1] for letter in text) + "'"


def _as_seen(text: str) -> list[str]:
    """Its words without what has no width; an accent is the same whether it is a character of its own or not."""
    shown = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFC", shown).split()


def _by_line(expected: list[str], actual: list[str], room: int) -> Iterator[Line]:
    start = next((i for i, (one, other) in enumerate(zip(expected, actual, strict=False)) if one != other), None)
    start = min(len(expected), len(actual)) if start is None else start
    first = max(0, start - CONTEXT_LINES)
    before, now = expected[first : first + COMPARED_LINES], actual[first : first + COMPARED_LINES]
    if first:
        yield ((f"… {count(first, 'equal line')}", "dim"),)
    for group in SequenceMatcher(None, before, now, autojunk=False).get_grouped_opcodes(CONTEXT_LINES):
        for kind, i1, i2, j1, j2 in group:
            yield from _block(kind, before[i1:i2], now[j1:j2], room)


def _block(kind: str, before: list[str], now: list[str], room: int) -> Iterator[Line]:
    if kind == "equal":
        yield from (((f"  {one_line_cut(line, room - 2)}", "dim"),) for line in before)
        return
    pairs = [tuple(_pair(one, other, room)) for one, other in zip(before, now, strict=False)]
    yield from (removed for removed, _ in pairs)
    yield from ((EXPECTED, (one_line_cut(line, room - 2), "red")) for line in before[len(pairs) :])
    yield from (added for _, added in pairs)
    yield from ((ACTUAL, (one_line_cut(line, room - 2), "green")) for line in now[len(pairs) :])


def one_line_cut(text: str, room: int) -> str:
    """White space is kept: it shows how lines are indented."""
    text = harmless(text)
    return text if cell_len(text) <= room else f"{set_cell_size(text, max(room - 1, 10))}…"


# JSON values.


def _by_path(expected: Json, actual: Json, room: int) -> Iterator[Line]:
    for found in json_differences(expected, actual):
        place = found.path
        if found.kind == "missing":
            yield (f"{place}: ", (f"missing, expected {_short(found.expected, room - len(place) - 20)}", "red"))
        elif found.kind == "unexpected":
            yield (f"{place}: ", (f"not expected: {_short(found.actual, room - len(place) - 16)}", "green"))
        else:
            yield from _at(place, found.expected, found.actual, room)


def _at(path: str, expected: Json, actual: Json, room: int) -> Iterator[Line]:
    one, other = json.dumps(expected, ensure_ascii=False), json.dumps(actual, ensure_ascii=False)
    if len(path) + len(one) + len(other) + 5 <= room:
        yield (f"{path}: ", (one, "red"), " → ", (other, "green"))
        return
    yield (f"{path}:",)
    texts = isinstance(expected, str) and isinstance(actual, str)
    for line in _lines(expected, actual, room - 2) if texts else _pair(one, other, room - 2):
        yield ("  ", *line)


def _short(value: Json, room: int) -> str:
    return one_line(json.dumps(value, ensure_ascii=False), max(room, 20))
