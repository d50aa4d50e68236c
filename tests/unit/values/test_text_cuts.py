from __future__ import annotations

from collections.abc import Callable

import pytest

from evalharness.values.text import head, tail

CUTS = [head, tail]
SECRET = "s3cret" * 12


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("text", ["", "one", "one two", " one two "])
def test_what_fits_is_left_alone(cut: Callable[[str, int], str], text: str) -> None:
    assert cut(text, len(text)) == text


@pytest.mark.parametrize(
    ("limit", "beginning", "end"),
    [
        (16, "one two three…", "…two three four"),
        (15, "one two three…", "…two three four"),
        (14, "one two three…", "…two three four"),
        (13, "one two three…", "…three four"),
        (12, "one two…", "…three four"),
        (4, "one…", "…four"),
        (3, "one…", "…"),
        (0, "…", "…"),
    ],
)
def test_a_cut_falls_between_words(limit: int, beginning: str, end: str) -> None:
    text = "one two three four"
    assert (head(text, limit), tail(text, limit)) == (beginning, end)


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("text", [SECRET, f"{SECRET} after", f"before {SECRET}", f"before {SECRET} after"])
def test_a_cut_never_leaves_most_of_a_word(cut: Callable[[str, int], str], text: str) -> None:
    for limit in range(len(text)):
        left = cut(text, limit)
        words = left.replace("…", " ").split()
        assert len(left) <= limit + 1
        assert all(word in ("before", "after", SECRET) or len(word) <= limit // 4 for word in words)


def test_of_one_long_word_a_little_is_shown_where_it_was_looked_for() -> None:
    word = "".join(chr(ord("a") + number % 26) for number in range(100))
    assert head(word, 40) == f"{word[:10]}…"
    assert tail(word, 40) == f"…{word[-10:]}"
