"""How close two texts are: with and without vectors."""

from __future__ import annotations

import pytest

from evalharness.errors import Unscored
from evalharness.values.nearness import nearness_of_texts, nearness_of_vectors


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [("a", " a\n", 1.0), ("", " ", 1.0), ("", "a", 0.0), ("a", "\n", 0.0), ("a", "b", None), ("a", "A", None)],
)
def test_a_model_is_asked_only_where_texts_say_different_things(one: str, other: str, near: float | None) -> None:
    assert nearness_of_texts(one, other) == near


def test_vectors_that_point_away_are_not_near_at_all_and_zeros_point_nowhere() -> None:
    assert nearness_of_vectors([1.0, 0.0], [1.0, 1.0], "m") == pytest.approx(0.5**0.5)
    assert nearness_of_vectors([1.0, 0.0], [-1.0, 0.0], "m") == 0
    with pytest.raises(Unscored, match="embeddings of a/m cannot be used: a vector of zeros"):
        nearness_of_vectors([1.0, 0.0], [0.0, 0.0], "a/m")
