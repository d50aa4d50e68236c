"""Two texts word by word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evalharness.reports.pages.word_difference import MOST_WORDS, Piece, word_difference


def test_the_words_that_differ_are_marked_on_both_sides() -> None:
    left, right = word_difference("The capital is Lima.", "The capital is Cusco.")
    assert left == [Piece("The capital is ", False), Piece("Lima", True), Piece(".", False)]
    assert right == [Piece("The capital is ", False), Piece("Cusco", True), Piece(".", False)]


def test_of_long_texts_what_is_between_the_common_ends_is_marked() -> None:
    words = " ".join(f"word{n}" for n in range(MOST_WORDS))
    left, right = word_difference(f"{words} one {words}", f"{words} other {words}")
    assert [piece.text for piece in left if piece.differs] == ["ne"]
    assert [piece.text for piece in right if piece.differs] == ["ther"]


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_pieces_are_the_texts(one: str, other: str) -> None:
    left, right = word_difference(one, other)
    assert "".join(piece.text for piece in left) == one
    assert "".join(piece.text for piece in right) == other
    assert "".join(p.text for p in left if not p.differs) == "".join(p.text for p in right if not p.differs)
