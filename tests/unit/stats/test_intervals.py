from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scipy import stats

from evalharness.errors import UsageError
from evalharness.stats.intervals import Interval, bootstrap_plus_one_case, wilson
from evalharness.stats.pass_k import pass_hat_k

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


def clustered(estimates: list[float], total_trials: int, **options: Any) -> Interval:
    interval = bootstrap_plus_one_case(estimates, total_trials, **options)
    assert interval is not None
    return interval


def bounds(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


@pytest.mark.parametrize("vector", VECTORS["proportion_ci_95"], ids=lambda vector: f"{vector['x']}/{vector['n']}")
def test_wilson_reference(vector: dict[str, Any]) -> None:
    assert bounds(wilson(vector["x"], vector["n"])) == pytest.approx(vector["wilson"], rel=1e-13)


@pytest.mark.parametrize("vector", VECTORS["published_runs"], ids=lambda vector: f"{vector['name']} k={vector['k']}")
def test_interval_over_cases_on_published_runs(vector: dict[str, Any]) -> None:
    histogram = vector["hist_of_successes_0_to_4"]
    by_successes = [pass_hat_k(vector["trials"], successes, vector["k"]) for successes in range(len(histogram))]
    estimates = [
        estimate
        for estimate, cases in zip(by_successes, histogram, strict=True)
        for _ in range(cases)
        if estimate is not None
    ]
    interval = clustered(estimates, vector["trials"] * len(estimates))
    assert bounds(interval) == pytest.approx(vector["ci"], rel=1e-9)
    assert interval.n_eff is not None
    assert interval.n_eff == pytest.approx(vector["n_eff"], rel=1e-12)
    standard_error = math.sqrt(vector["mean"] * (1 - vector["mean"]) / interval.n_eff)
    assert standard_error == pytest.approx(vector["se"], rel=1e-12)


@pytest.mark.parametrize(
    "vector", VECTORS["clustered_wilson_edge"], ids=lambda vector: f"{len(vector['values'])} cases"
)
def test_unanimous_cases_keep_a_width(vector: dict[str, Any]) -> None:
    interval = clustered(vector["values"], vector["total_trials"])
    assert bounds(interval) == pytest.approx(vector["ci"], rel=1e-9)
    assert interval.n_eff is None, "cases that all agree do not show how much they vary"


def test_edges_as_a_report_prints_them() -> None:
    assert bounds(clustered([1.0] * 10, 40)) == (pytest.approx(0.7117, abs=5e-5), 1.0)
    assert bounds(clustered([0.0] * 5, 15)) == (0.0, pytest.approx(0.4935, abs=5e-5))
    assert bounds(clustered([1.0] * 100, 400)) == (pytest.approx(0.9666, abs=5e-5), 1.0)


def test_one_failure_makes_nothing_surer() -> None:
    every, all_but_one = clustered([1.0] * 30, 300), clustered([1.0] * 29 + [0.9], 300)
    assert bounds(every) == (pytest.approx(0.8928, abs=5e-5), 1.0)
    assert bounds(all_but_one) == (pytest.approx(0.8897, abs=5e-5), pytest.approx(0.9999, abs=5e-5))


@pytest.mark.parametrize(("passed", "cases"), [(0, 2), (1, 2), (3, 3), (18, 20), (45, 50), (1, 200), (9_000, 10_000)])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_with_one_trial_per_case_it_is_between_an_exact_interval_and_its_mid_p_version(
    passed: int, cases: int, level: float
) -> None:
    low, high = bounds(clustered([1.0] * passed + [0.0] * (cases - passed), cases, level=level))
    if passed:  # at a true rate of `low`, this many passes or more occur just rarely enough
        chance = 0.75 * stats.binom.sf(passed - 1, cases, low) + 0.25 * stats.binom.sf(passed, cases, low)
        assert chance == pytest.approx((1 - level) / 2, rel=1e-8)
    if passed < cases:
        chance = 0.75 * stats.binom.cdf(passed, cases, high) + 0.25 * stats.binom.cdf(passed - 1, cases, high)
        assert chance == pytest.approx((1 - level) / 2, rel=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_different_estimates_give_what_a_slow_exact_method_gives(weighted: bool) -> None:
    """Above 200 cases a grid limits the time; it may widen the interval, by much less than is printed."""
    random = Random(4)
    estimates = [random.random() for _ in range(300)]
    weights = [random.lognormvariate(0, 1) for _ in range(300)] if weighted else [1.0] * 300
    low, high = bounds(clustered(estimates, 3_000, weights=weights))
    total, room = sum(weights), 1e-3 if weighted else 1e-5
    imagined = sum(weight**2 for weight in weights) / total

    def chance(rate: float, values: list[float]) -> float:
        terms = [weight * (value - rate) for value, weight in zip(values, weights, strict=True)]
        fails, passes = ([*terms, imagined * (outcome - rate)] for outcome in (0, 1))
        return 0.75 * chance_of_a_negative_sum(fails) + 0.25 * chance_of_a_negative_sum(passes)

    failed = [1 - estimate for estimate in estimates]
    assert chance(low, estimates) <= 0.025 <= chance(low + room, estimates)
    assert chance(1 - high, failed) <= 0.025 <= chance(1 - high + room, failed)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_lower_estimate_raises_neither_end_of_many_cases(weighted: bool) -> None:
    random = Random(5)
    estimates = [random.random() for _ in range(250)]
    weights = [random.lognormvariate(0, 1) for _ in range(250)] if weighted else None
    before = clustered(estimates, 2_500, weights=weights)
    for case in random.sample(range(250), 5):
        lower = [estimate * (0.9 if i == case else 1) for i, estimate in enumerate(estimates)]
        after = clustered(lower, 2_500, weights=weights)
        assert after.low < before.low
        assert after.high < before.high


def chance_of_a_negative_sum(terms: list[float]) -> float:
    """Of Σ term·E with exponential E: two clocks race, and which side is used up first decides."""
    ups, downs = [term for term in terms if term > 0], [-term for term in terms if term < 0]
    row = [0.0] * len(ups) + [1.0]
    for down in downs:
        above = row
        row = [0.0] * len(ups) + [1.0]
        for i in reversed(range(len(ups))):
            row[i] = (down * row[i + 1] + ups[i] * above[i]) / (ups[i] + down)
    return row[0]


@pytest.mark.parametrize("last", [0.5, 0.5000001, 0.501])
def test_effective_trials_never_exceed_the_trials_run(last: float) -> None:
    assert clustered([0.5, 0.5, last], 12).n_eff == 12.0


def test_one_case_falls_back_to_its_trials() -> None:
    interval = clustered([0.8], 10)
    assert interval.method == "Wilson (this case only)"
    assert bounds(interval) == pytest.approx(bounds(wilson(8, 10)), rel=1e-14)
    assert interval.n_eff == 10


def test_no_case_no_interval() -> None:
    assert bootstrap_plus_one_case([], 0) is None
    assert bootstrap_plus_one_case([], 0, weights=[]) is None


def test_an_interval_names_its_method_and_level() -> None:
    assert (wilson(1, 2, 0.9).method, wilson(1, 2, 0.9).level) == ("Wilson", 0.9)
    interval = clustered([0.5, 1.0], 8, level=0.8)
    assert (interval.method, interval.level) == ("Bayesian bootstrap plus one case", 0.8)


def test_equal_weights_change_nothing() -> None:
    estimates = [0.25, 0.5, 1.0, 0.75, 0.0]
    assert bounds(clustered(estimates, 20, weights=[7.0] * 5)) == pytest.approx(bounds(clustered(estimates, 20)))


def test_weights_move_the_interval_towards_the_heavy_cases() -> None:
    estimates = [1.0] * 20 + [0.25] * 20
    plain, weighted = clustered(estimates, 160), clustered(estimates, 160, weights=[2.0] * 20 + [1.0] * 20)
    assert weighted.low > plain.low
    assert weighted.high > plain.high


def test_weighted_effective_trials_by_hand() -> None:
    # mean .75; weighted variance 3/16; (Σw)²/Σw² = 1.6; squared error (3/16)/.6; n_eff = (3/16)/((3/16)/.6)
    assert clustered([1.0, 0.0], 8, weights=[3, 1]).n_eff == pytest.approx(0.6, rel=1e-14)


def test_one_overwhelming_weight_says_little() -> None:
    interval = clustered([1.0, 0.0, 0.5], 300, weights=[1e9, 1, 1])
    assert interval.low == pytest.approx(1 / 30, abs=1e-6)  # as of one passing case: 0.75 times the rate is 2.5 %
    assert interval.high == pytest.approx(1.0, abs=1e-6)


def test_cluster_sizes_as_weights_count_as_so_many_observations_of_that_size() -> None:
    means = [0.75, 0.5, 0.5]
    by_size, evenly = clustered(means, 8, weights=[4, 2, 2]), clustered(means, 8)
    assert by_size.low < 0.625 < by_size.high
    assert by_size.high - by_size.low > evenly.high - evenly.low  # as 2.7 clusters of equal size


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (0, 0), (-1, 5), (6, 5), (math.nan, 5), (1, math.inf)])
def test_wilson_refuses_impossible_counts(successes: float, n: float) -> None:
    with pytest.raises(UsageError):
        wilson(successes, n)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, math.nan])
def test_impossible_levels_are_refused(level: float) -> None:
    with pytest.raises(UsageError):
        wilson(1, 2, level)
    with pytest.raises(UsageError):
        bootstrap_plus_one_case([], 0, level)


@pytest.mark.parametrize(
    ("estimates", "total_trials", "weights"),
    [
        ([1.1, 0.5], 8, None),
        ([-0.1, 0.5], 8, None),
        ([math.nan, 0.5], 8, None),
        ([0.5, 0.5, 0.5], 2, None),
        ([0.5, 0.5], 8, [1.0]),
        ([0.5, 0.5], 8, []),
        ([0.5, 0.5], 8, [1.0, 0.0]),
        ([0.5, 0.5], 8, [1.0, -1.0]),
        ([0.5, 0.5], 8, [1.0, math.inf]),
    ],
)
def test_interval_over_cases_refuses_impossible_input(
    estimates: list[float], total_trials: int, weights: list[float] | None
) -> None:
    with pytest.raises(UsageError):
        bootstrap_plus_one_case(estimates, total_trials, weights=weights)
