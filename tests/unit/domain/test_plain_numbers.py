"""Numbers in words: nothing finer than it deserves, nothing that contradicts what stands beside it."""

from __future__ import annotations

import pytest

from evalharness.domain.plain_numbers import chance, change, points


@pytest.mark.parametrize(
    ("p", "told"),
    [
        (0.003, "3 of 1,000"),
        (0.05, "5 of 100"),
        (0.0625, "62 of 1,000"),
        (0.32, "32 of 100"),
        (1.0, "100 of 100"),
        (0.00021, "2 of 10,000"),
        (0.00098, "1 of 1,000"),
        (1e-6, "1 of 1,000,000"),
        (1e-9, "fewer than 1 of 1,000,000"),
        (0.0, "fewer than 1 of 1,000,000"),
    ],
)
def test_a_chance_is_a_count(p: float, told: str) -> None:
    assert chance(p) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (-0.12, "12 points"),
        (0.01, "1 point"),
        (0.125, "12.5 points"),
        (0.0001, "less than 0.1 points"),
        (0, "0 points"),
    ],
)
def test_the_size_of_a_difference_has_no_sign(value: float, told: str) -> None:
    assert points(value) == told


def test_a_change_agrees_with_its_two_ends() -> None:
    assert change(0.45, 0.405, half_width=0.1) == ("5 points", "45 % → 40 %")
    assert change(0.45, 0.405, half_width=0.01) == ("4.5 points", "45 % → 40.5 %")


def test_a_small_change_does_not_look_like_none() -> None:
    assert change(0.501, 0.503, half_width=0.2) == ("0.2 points", "50.1 % → 50.3 %")
    assert change(1.0, 0.99999) == ("0.1 points", "100 % → 99.9 %")
