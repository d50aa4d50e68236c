from __future__ import annotations

import math
from random import Random

import pytest

from evalharness.errors import UsageError
from evalharness.stats.medians import Estimate, median, quantile


def known(estimate: Estimate | None) -> Estimate:
    assert estimate is not None
    return estimate


def test_a_median_is_between_two_of_the_values() -> None:
    found = known(median([float(value) for value in range(1, 51)]))
    # Textbook ranks for n = 50: the 18th and the 33rd value, 96.7 %.
    assert (found.value, found.low, found.high) == (25.5, 18.0, 33.0)
    assert found.level == pytest.approx(1 - 2 * sum(math.comb(50, k) for k in range(18)) / 2**50, rel=1e-12)
    assert found.method == "order statistics 18 and 33"


@pytest.mark.parametrize(("n", "reached"), [(2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375)])
def test_few_values_say_which_level_they_reach(n: int, reached: float) -> None:
    found = known(median([float(value) for value in range(n)]))
    assert (found.low, found.high) == (0.0, n - 1.0)
    assert found.level == pytest.approx(reached, rel=1e-14)


def test_six_values_are_the_fewest_that_reach_95_percent() -> None:
    assert known(median([3, 1, 2, 6, 5, 4])).level == pytest.approx(0.96875, rel=1e-14)
    assert known(median([3, 1, 2, 6, 5, 4], 0.96875)).level == pytest.approx(0.96875, rel=1e-14)


def test_one_value_has_no_spread() -> None:
    assert median([2.5]) == Estimate(2.5, None, None, 0.0, "one value only")
    assert median([]) is None


def test_one_slow_trial_moves_no_median() -> None:
    latencies = [1.0 + i / 100 for i in range(30)]
    assert median(latencies) == median([*latencies[:-1], 3_600.0])


def test_many_values_are_not_a_burden() -> None:
    random = Random(5)
    found = known(median([random.random() for _ in range(100_000)]))
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.5 < found.high
    assert found.level == pytest.approx(0.95, abs=0.005)


def test_quantiles_interpolate() -> None:
    assert quantile([4, 1, 3, 2], 0.5) == 2.5
    assert quantile([float(value) for value in range(101)], 0.95) == pytest.approx(95.0, rel=1e-14)
    assert (quantile([7, 5], 0), quantile([7, 5], 1)) == (5, 7)
    assert quantile([0.1] * 3, 0.35) == 0.1


def test_impossible_input_is_refused() -> None:
    for refused in (
        lambda: quantile([], 0.5),
        lambda: quantile([1.0], 1.5),
        lambda: quantile([math.nan], 0.5),
        lambda: median([math.inf, 1.0]),
        lambda: median([1.0, 2.0], 95),
    ):
        with pytest.raises(UsageError):
            refused()
