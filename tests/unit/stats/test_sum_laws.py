from __future__ import annotations

import math

import pytest

from evalharness.stats.sum_laws import COIN, ONE, SumLaw, law_of_sum


def test_two_dice() -> None:
    die = SumLaw(1, [ONE // 6] * 6)
    both = law_of_sum([(die, 2)])
    assert both.start == 2
    assert len(both.weights) == 11
    assert both.at_most(3) == pytest.approx(3 / 36, rel=1e-15)
    assert both.at_least(7) == pytest.approx(21 / 36, rel=1e-15)
    assert both.at_most(1) == both.at_least(13) == both.error_bound < 1e-36
    assert both.at_most(12) == both.at_least(2) == both.at_least(-5) == 1.0


def test_coins_are_exact() -> None:
    tosses = law_of_sum([(COIN, 20)])
    assert tosses.error_bound == 0.0
    assert tosses.at_most(5) == sum(math.comb(20, heads) for heads in range(6)) / 2**20


def test_repeats_are_the_same_as_listing() -> None:
    skewed = SumLaw(-1, [ONE // 2, ONE // 4, ONE // 4])
    repeated = law_of_sum([(COIN.times(3), 5), (skewed, 6)])
    listed = law_of_sum([(COIN.times(3), 1)] * 5 + [(skewed, 1)] * 6)
    assert repeated == listed
    assert repeated.error_bound == 0.0


def test_times_spreads_the_values() -> None:
    tripled = COIN.times(3)
    assert [tripled.at_most(value) for value in (-1, 0, 2, 3)] == [0.0, 0.5, 0.5, 1.0]


def test_nothing_sums_to_zero() -> None:
    empty = law_of_sum([])
    assert (empty.at_most(-1), empty.at_most(0), empty.at_least(0), empty.at_least(1)) == (0.0, 1.0, 1.0, 0.0)


def test_a_certain_value_shifts_the_sum() -> None:
    shifted = law_of_sum([(SumLaw(5, [ONE]), 3), (COIN, 1)])
    assert [shifted.at_most(value) for value in (14, 15, 16)] == [0.0, 0.5, 1.0]


def test_cut_tails_are_counted_and_the_figures_err_on_the_safe_side() -> None:
    tosses = law_of_sum([(COIN, 4_000)])
    assert len(tosses.weights) < 1_000
    assert 0 < tosses.error_bound < 1e-20
    exact = sum(math.comb(4_000, heads) for heads in range(1_701)) / 2**4_000
    assert exact <= tosses.at_most(1_700) <= exact + tosses.error_bound
