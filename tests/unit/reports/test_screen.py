"""Texts on a screen: wrapped by words, never inside a word, a number or a path."""

from __future__ import annotations

import io

from rich.console import Console

from evalharness.reports.terminal.screen import MARKS, Screen


def _shown(width: int, *parts: str) -> list[str]:
    stream = io.StringIO()
    Screen(Console(file=stream, width=width, color_system=None)).entry([MARKS["failed"], " peru  "], *parts)
    return stream.getvalue().splitlines()


def test_further_lines_begin_where_the_first_one_does() -> None:
    assert _shown(30, "'Lima' is not in ", "what came back") == ["✗ peru  'Lima' is not in what", "        came back"]


def test_a_word_that_is_too_long_stays_whole() -> None:
    path = "a/very/long/path/that/is/wider/than/the/screen.py"
    assert _shown(40, f"see {path} now") == ["✗ peru  see", f"        {path}", "        now"]


def test_a_number_keeps_its_unit() -> None:
    assert _shown(30, "it would be exactly 4 %; in 12 ms") == ["✗ peru  it would be exactly", "        4 %; in 12 ms"]
    assert _shown(30, "it has held about 30 sacks") == ["✗ peru  it has held about 30", "        sacks"]


def test_a_text_goes_below_a_head_that_leaves_no_room() -> None:
    stream = io.StringIO()
    screen = Screen(Console(file=stream, width=40, color_system=None))
    screen.entry([MARKS["failed"], f" {'long-' * 8}id   trial 1   "], "expected 'Canberra', got 'Sydney' instead")
    assert stream.getvalue().splitlines() == [
        f"✗ {'long-' * 8}id   trial 1",
        "    expected 'Canberra', got 'Sydney'",
        "    instead",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert _shown(30, "東京東京東京東京 大阪大阪 x") == ["✗ peru  東京東京東京東京", "        大阪大阪 x"]
