"""The drop that a comparison names must be found as often as promised: by simulation, with the test itself.

Of a range, the upper end at least so often, and the lower end at most.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalharness.stats.drop_range import DropRange, drops_of_history, drops_of_rows
from evalharness.stats.stratified import stratified_exact

ALPHA, POWER = 0.05, 0.8
DRAWS, PAIRS = 25, 40
OFF = 0.05
"""1,000 pairs of new runs: four standard errors."""
RateOf = Callable[[random.Random, int], float]


def share_found(
    cases: int, trials: int, rate_of: RateOf, *, known_trials: int | None = None
) -> tuple[float, float, set[str]]:
    """At the lower and the upper end, and what is unknown; `known_trials` of an earlier run are planned by."""
    draw = random.Random(f"{cases} {trials}")

    def run(rates: list[float], number: int = trials) -> list[int]:
        return [sum(draw.random() < rate for _ in range(number)) for rate in rates]

    found, unknown = [0, 0], set()
    for _ in range(DRAWS):
        rates = [rate_of(draw, case) for case in range(cases)]
        if known_trials is None:
            rows = [(trials, old, trials, new) for old, new in zip(run(rates), run(rates), strict=True)]
            drop = drops_of_rows(rows, ALPHA, POWER)
        else:
            counts = [(known_trials, passed) for passed in run(rates, known_trials)]
            drop = drops_of_history(counts, cases, trials, ALPHA, POWER)
        unknown.add(drop.unknown)
        for place, end in enumerate((drop.low, drop.high)):
            assert end is not None
            lowered = fallen(rates, end)
            for _ in range(PAIRS):
                rows = [(trials, old, trials, new) for old, new in zip(run(rates), run(lowered), strict=True)]
                found[place] += stratified_exact(rows).p_less <= ALPHA
    low, high = (number / (DRAWS * PAIRS) for number in found)
    return low, high, unknown


def fallen(rates: list[float], drop: float) -> list[float]:
    """Every rate lower by the same amount, but not below 0, so that the mean falls by the drop."""
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if sum(min(p, middle) for p in rates) >= drop * len(rates) else (middle, high)
    return [max(0.0, rate - high) for rate in rates]


@pytest.mark.parametrize("is_plan", [False, True], ids=["compared", "planned"])
@pytest.mark.parametrize(
    ("cases", "trials", "rate_of"),
    [
        (30, 4, lambda draw, _: 0.97),
        (30, 4, lambda _, case: (0.95, 0.4)[case % 2]),
        (50, 4, lambda draw, _: draw.betavariate(2, 2)),
        (20, 8, lambda draw, _: 1.0 if draw.random() < 0.7 else draw.uniform(0.3, 0.9)),
    ],
    ids=["hardly a failure", "two kinds", "many trials", "sure cases"],
)
def test_one_number_is_found_four_times_of_five(cases: int, trials: int, rate_of: RateOf, is_plan: bool) -> None:
    low, high, unknown = share_found(cases, trials, rate_of, known_trials=trials if is_plan else None)
    assert unknown == {""}
    assert low == pytest.approx(POWER, abs=OFF)
    assert high == pytest.approx(POWER, abs=OFF)


@pytest.mark.parametrize("known_trials", [None, 1], ids=["compared", "planned"])
@pytest.mark.parametrize(
    ("cases", "rate_of"),
    [
        (20, lambda _, case: (0.95, 0.4)[case % 2]),
        (20, lambda draw, _: 0.9),
        (50, lambda draw, _: draw.betavariate(0.5, 0.5)),
        (50, lambda draw, _: 0.0 if draw.random() < 0.1 else 0.95),
    ],
    ids=["two kinds", "all alike", "extremes", "some always fail"],
)
def test_the_range_of_single_trials_holds_the_drop_that_is_found_four_times_of_five(
    cases: int, rate_of: RateOf, known_trials: int | None
) -> None:
    """One number was found in .76 to .96 of such runs."""
    low, high, unknown = share_found(cases, 1, rate_of, known_trials=known_trials)
    assert unknown == {"spread"}
    assert low < POWER + 0.02 + OFF
    assert high > POWER - 0.02 - OFF
    assert low < high


def test_a_plan_for_repeated_trials_from_single_ones_is_a_range_as_well() -> None:
    low, high, unknown = share_found(20, 4, lambda draw, _: draw.betavariate(2, 2), known_trials=1)
    assert unknown == {"spread"}
    assert low < POWER < high


def test_few_trials_name_a_range_because_they_leave_the_rate_open() -> None:
    few, enough = ([(4, 4, 4, 4)] * (cases - 1) + [(4, 3, 4, 4)] for cases in (20, 30))
    assert drops_of_rows(few, ALPHA, POWER).unknown == "rate"
    assert drops_of_rows(enough, ALPHA, POWER).unknown == ""


def test_cases_that_differ_between_two_runs_of_one_trial_raise_both_ends() -> None:
    """They show chance; without any, cases may well always pass or always fail."""
    none = [(1, 1, 1, 1)] * 35 + [(1, 0, 1, 0)] * 15
    some = [(1, 1, 1, 1)] * 27 + [(1, 0, 1, 0)] * 7 + [(1, 1, 1, 0)] * 8 + [(1, 0, 1, 1)] * 8
    steady, changing = (drops_of_rows(rows, ALPHA, POWER) for rows in (none, some))
    assert (steady.high or 1) < (changing.low or 0)


def test_where_no_drop_may_be_found_so_often_there_is_no_upper_end() -> None:
    """Ten single trials of which six passed: the baseline may easily have four passes, and needs five."""
    drop = drops_of_history([(1, 1)] * 6 + [(1, 0)] * 4, 10, 1, ALPHA, POWER)
    assert drop.low is not None
    assert drop.high is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_the_ends_are_in_order_for_any_results_of_single_trials(results: list[tuple[bool, bool]]) -> None:
    rows = [(1, int(old), 1, int(new)) for old, new in results]
    in_order(drops_of_rows(rows, ALPHA, POWER))
    in_order(drops_of_history([(1, int(old)) for old, _ in results], len(results), 4, ALPHA, POWER))


def in_order(drop: DropRange) -> None:
    assert (drop.low is None) <= (drop.high is None)
    if drop.low is not None:
        assert 0 < drop.low <= (1.0 if drop.high is None else drop.high) <= 1
