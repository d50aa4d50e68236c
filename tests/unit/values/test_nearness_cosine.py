"""The cosine of the angle between two vectors."""

from __future__ import annotations

import pytest

from evalharness.values.nearness import cosine


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([1, 0], [1, 0], 1),
        ([1, 2], [10, 20], 1),
        ([1, 0], [0, 5], 0),
        ([1, 1], [-2, -2], -1),
        ([3, 4], [4, 3], 0.96),
        ([0, 0], [1, 2], 0),
        ([0, 0], [0, 0], 0),
        ([1e300, 1e300], [1e300, 0], 0.7071067811865475),
        ([1e-300, 1e-300], [1, 1], 1),
        ([1e308] * 5, [1e308] * 5, 1),
    ],
)
def test_the_angle_alone_counts(one: list[float], other: list[float], expected: float) -> None:
    assert cosine(one, other) == pytest.approx(expected, abs=1e-12)
    assert -1 <= cosine(one, other) <= 1


def test_vectors_of_two_lengths_are_not_a_pair() -> None:
    with pytest.raises(ValueError, match="zip"):
        cosine([1, 2], [1, 2, 3])
