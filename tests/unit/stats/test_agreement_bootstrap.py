from __future__ import annotations

import random as global_random
from collections.abc import Sequence
from statistics import fmean

import pytest

from evalharness.errors import UsageError
from evalharness.stats.agreement import bca_bounds, bootstrap_interval, percentile_bounds, resampled
from evalharness.stats.pass_k import pass_hat_k

AIRLINE = [(4, passes) for passes, cases in enumerate((14, 12, 10, 4, 10)) for _ in range(cases)]


@pytest.mark.parametrize(("k", "low", "high"), [(1, 0.320, 0.520), (2, 0.170, 0.387), (4, 0.100, 0.320)])
def test_percentiles_of_a_published_run(k: int, low: float, high: float) -> None:
    estimates = [estimate for n, c in AIRLINE if (estimate := pass_hat_k(n, c, k)) is not None]
    found = percentile_bounds(resampled(estimates, fmean, 2000, seed=1), 0.95)
    # The reference drew other random numbers; the bounds of 2,000 draws vary by this much.
    assert found == (pytest.approx(low, abs=0.011), pytest.approx(high, abs=0.011))


def test_the_seed_alone_decides() -> None:
    first = bootstrap_interval([1.0, 5.0, 2.0, 9.0], fmean, seed=3)
    global_random.random()
    assert bootstrap_interval([1.0, 5.0, 2.0, 9.0], fmean, seed=3) == first
    assert bootstrap_interval([1.0, 5.0, 2.0, 9.0], fmean, seed=4) != first
    assert first is not None
    assert (first.seed, first.resamples, first.level, first.undefined) == (3, 2000, 0.95, 0)


def test_fewer_than_fifty_items_get_percentiles() -> None:
    few = bootstrap_interval([i / 7 for i in range(49)], fmean)
    enough = bootstrap_interval([i / 7 for i in range(50)], fmean)
    assert few is not None
    assert enough is not None
    assert (few.method, enough.method) == ("percentile bootstrap", "BCa bootstrap")


def test_a_skewed_figure_is_shifted() -> None:
    skewed = [0.0] * 55 + [10.0] * 5
    found = bootstrap_interval(skewed, fmean)
    assert found is not None
    figures = [fmean(global_random.Random(seed).choices(skewed, k=60)) for seed in range(2000)]
    low, high = percentile_bounds(figures, 0.95)
    assert found.low >= low
    assert found.high > high


def test_equal_items_fall_back_to_percentiles() -> None:
    found = bootstrap_interval([0.1] * 60, fmean)
    assert found is not None
    assert found.method == "percentile bootstrap"
    assert found.low == found.high == pytest.approx(0.1)


def test_one_item_says_nothing() -> None:
    assert bootstrap_interval([1.0], fmean) is None
    assert bootstrap_interval([], fmean) is None


def test_undefined_resamples_are_counted() -> None:
    def mean_if_mixed(values: Sequence[float]) -> float | None:
        return fmean(values) if len(set(values)) > 1 else None

    found = bootstrap_interval([0.0, 0.0, 1.0], mean_if_mixed)
    assert found is not None
    assert found.undefined == pytest.approx(2000 * (8 + 1) / 27, abs=120)
    assert bootstrap_interval([0.0, 0.0, 0.0], mean_if_mixed) is None


def test_mostly_undefined_figures_have_no_interval() -> None:
    def mean_of_four_kinds(values: Sequence[float]) -> float | None:
        return fmean(values) if len(set(values)) == 4 else None

    assert bootstrap_interval([1.0, 2.0, 3.0, 4.0], mean_of_four_kinds) is None


def test_bca_needs_figures_on_both_sides_and_items_that_matter() -> None:
    assert bca_bounds(5.0, [1.0, 2.0, 3.0], [2.0, 3.0], 0.95) is None
    assert bca_bounds(2.0, [1.0, 2.0, 3.0], [2.0, 2.0], 0.95) is None
    assert bca_bounds(2.0, [1.0, 2.0, 3.0], [2.0, 2.5, 1.0], 0.95) is not None


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(UsageError, match="resamples"):
        bootstrap_interval([1.0, 2.0], fmean, resamples=10)
    with pytest.raises(UsageError, match="level"):
        bootstrap_interval([1.0, 2.0], fmean, level=95)
