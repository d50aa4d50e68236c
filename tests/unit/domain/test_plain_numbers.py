"""Numbers as text: no more digits than justified, and no contradiction with neighbouring numbers."""

from __future__ import annotations

import pytest

from evalharness.domain.plain_numbers import chance, chances, change, count, interval, percent, points


@pytest.mark.parametrize(
    ("p", "told"),
    [
        (0.003, "3 of 1,000"),
        (0.05, "5 of 100"),
        (0.0625, "62 of 1,000"),
        (0.32, "32 of 100"),
        (1.0, "100 of 100"),
        (0.00021, "21 of 100,000"),
        (0.00098, "98 of 100,000"),
        (0.0018, "18 of 10,000"),
        (1e-6, "1 of 1,000,000"),
        (1e-9, "fewer than 1 of 1,000,000"),
        (0.0, "fewer than 1 of 1,000,000"),
    ],
)
def test_a_chance_is_a_count(p: float, told: str) -> None:
    assert chance(p) == told


def test_chances_of_one_sentence_are_out_of_the_same_number() -> None:
    assert chances(0.0625, 0.05) == ["62 of 1,000", "50 of 1,000"]
    assert chances(0.5, 0.00021) == ["50,000 of 100,000", "21 of 100,000"]
    assert chances(0.0504, 0.05) == ["504 of 10,000", "500 of 10,000"], "different numbers do not look the same"
    assert chances(0.05, 0.05) == ["5 of 100", "5 of 100"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (-0.12, "12 points"),
        (0.01, "1 point"),
        (0.125, "12.5 points"),
        (0.0001, "0.01 points"),
        (0.00347, "0.35 points"),
        (0.0099999999999, "1 point"),
        (0, "0 points"),
    ],
)
def test_the_size_of_a_difference_has_no_sign(value: float, told: str) -> None:
    assert points(value) == told


def test_a_change_agrees_with_its_two_ends() -> None:
    assert change(0.45, 0.40, half_width=0.1) == ("5 points", "45 % → 40 %")
    assert change(0.454, 0.436, half_width=0.1) == ("1.8 points", "45.4 % → 43.6 %"), "45 % → 44 % would be 1 point"
    assert change(0.45, 0.405, half_width=0.01) == ("4.5 points", "45 % → 40.5 %")


def test_a_small_change_does_not_look_like_none() -> None:
    assert change(0.501, 0.503, half_width=0.2) == ("0.2 points", "50.1 % → 50.3 %")
    assert change(1.0, 0.999, half_width=1.0) == ("0.1 points", "100 % → 99.9 %")
    assert change(1.0, 0.99999) == ("0.001 points", "100 % → 99.999 %")


@pytest.mark.parametrize(
    ("share", "decimals", "told"),
    [
        (1.0, 0, "100 %"),
        (0.999, 0, "99.9 %"),
        (0.99951, 1, "99.95 %"),
        (0.999996, 1, "above 99.99 %"),
        (0.0004, 0, "0.04 %"),
        (0.000004, 0, "below 0.01 %"),
        (0.0, 1, "0 %"),
    ],
)
def test_nearly_all_is_not_all_and_not_much_less(share: float, decimals: int, told: str) -> None:
    assert percent(share, decimals) == told


@pytest.mark.parametrize(("number", "told"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases"), (1200, "1,200 cases")])
def test_a_count_has_its_noun(number: int, told: str) -> None:
    assert count(number, "case") == told


def test_an_interval_is_no_finer_than_it_is_narrow() -> None:
    assert interval(0.141, 0.523) == "14–52 %"
    assert interval(0.901, 0.934) == "90.1–93.4 %"
    assert interval(1 - 1e-8, 1.0) == "99.9–100.0 %"
    assert interval(0.5, 0.5) == "50.0–50.0 %"
