"""The smallest drop for known distributions of rates."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from evalharness.stats.exact_power import MOST_DRAWN, MOST_SUMMED, mean_loss, smallest_drop, smallest_shift
from evalharness.stats.rate_laws import laws_of_history, laws_of_rows

ALPHA, POWER = 0.05, 0.8


def test_one_trial_of_each_case_is_the_power_of_a_sign_test() -> None:
    """All cases always pass: five failures are needed, and a shift of d causes each with chance d."""
    shift = smallest_shift(laws_of_history([(1000, 1000)] * 100, 100, 1), ALPHA, POWER)
    draw = random.Random(1)
    assert shift is not None
    found = sum(sum(draw.random() < shift for _ in range(100)) >= 5 for _ in range(4000)) / 4000
    assert found == pytest.approx(POWER, abs=0.03)


def test_where_cases_reach_zero_the_rate_loses_less_than_the_shift() -> None:
    laws = laws_of_rows([(4, 4, 4, 4)] * 8 + [(4, 0, 4, 0)] * 4 + [(4, 1, 4, 1)] * 4)
    shift, drop = smallest_shift(laws, ALPHA, POWER), smallest_drop(laws, ALPHA, POWER)
    assert shift is not None
    assert drop == mean_loss(laws, shift)
    assert drop < 0.9 * shift


@pytest.mark.parametrize("rows", [[(1, 1, 1, 1)] * 3, [(1, 0, 1, 0)] * 10, [(2, 1, 2, 1)] * 2])
def test_what_not_even_failing_all_would_show_has_no_size(rows: list[tuple[int, int, int, int]]) -> None:
    assert smallest_drop(laws_of_rows(rows), ALPHA, POWER) is None


def test_more_of_everything_shows_less() -> None:
    rows = [(4, 3, 4, 3), (4, 4, 4, 4), (4, 2, 4, 3)]
    sizes = [smallest_drop(laws_of_rows(rows * times), ALPHA, POWER) or 1 for times in (2, 4, 8, 30, 300)]
    assert sizes == sorted(sizes, reverse=True)
    usual = sizes[2]
    assert (smallest_drop(laws_of_rows(rows * 8), ALPHA, 0.95) or 1) > usual
    assert (smallest_drop(laws_of_rows(rows * 8), 0.01, POWER) or 1) > usual


def test_each_further_case_shows_a_little_less() -> None:
    """From 11 cases on, no drawn runs are behind the figure, whose chance would be seen from one size to the next."""
    counts = [(4, 4), (4, 3), (4, 4), (4, 2)] * 5
    sizes = [smallest_drop(laws_of_history(counts, cases, 4), ALPHA, POWER) or 1 for cases in range(11, 31)]
    assert all(0.94 < after / before < 0.985 for before, after in pairwise(sizes))


@pytest.mark.parametrize(("trials", "last"), [(1, MOST_SUMMED), (4, MOST_DRAWN // 4)])
def test_the_laws_for_small_and_large_runs_agree_where_they_meet(trials: int, last: int) -> None:
    counts = [(8, 8), (8, 7), (8, 4)] * 10
    here, next_ = (smallest_drop(laws_of_history(counts, cases, trials), ALPHA, POWER) for cases in (last, last + 1))
    assert here == pytest.approx(next_, rel=0.08)
