from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.intervals import Interval, clustered_wilson, wilson
from evalharness.stats.pass_k import pass_hat_k

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


def clustered(estimates: list[float], total_trials: int, **options: Any) -> Interval:
    interval = clustered_wilson(estimates, total_trials, **options)
    assert interval is not None
    return interval


def bounds(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


@pytest.mark.parametrize("vector", VECTORS["proportion_ci_95"], ids=lambda vector: f"{vector['x']}/{vector['n']}")
def test_wilson_reference(vector: dict[str, Any]) -> None:
    assert bounds(wilson(vector["x"], vector["n"])) == pytest.approx(vector["wilson"], rel=1e-13)


@pytest.mark.parametrize("vector", VECTORS["published_runs"], ids=lambda vector: f"{vector['name']} k={vector['k']}")
def test_clustered_wilson_on_published_runs(vector: dict[str, Any]) -> None:
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
    assert interval.n_eff == pytest.approx(vector["n_eff"], rel=1e-12)
    standard_error = math.sqrt(vector["mean"] * (1 - vector["mean"]) / interval.n_eff)
    assert standard_error == pytest.approx(vector["se"], rel=1e-12)


@pytest.mark.parametrize(
    "vector", VECTORS["clustered_wilson_edge"], ids=lambda vector: f"{len(vector['values'])} cases"
)
def test_unanimous_cases_keep_a_width(vector: dict[str, Any]) -> None:
    interval = clustered(vector["values"], vector["total_trials"])
    assert bounds(interval) == pytest.approx(vector["ci"], rel=1e-9)
    assert interval.n_eff == len(vector["values"])


def test_edges_as_a_report_prints_them() -> None:
    assert bounds(clustered([1.0] * 10, 40)) == (pytest.approx(0.6615, abs=5e-5), 1.0)
    assert bounds(clustered([0.0] * 5, 15)) == (0.0, pytest.approx(0.6066, abs=5e-5))
    assert bounds(clustered([1.0] * 100, 400)) == (pytest.approx(0.9621, abs=5e-5), 1.0)


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 0.7])
@pytest.mark.parametrize("cases", [2, 3, 7, 49, 93])
def test_equal_estimates_count_as_cases_whatever_their_last_bits(value: float, cases: int) -> None:
    estimates = [value] * (cases - 1) + [math.nextafter(value, 1)]
    assert clustered(estimates, 10 * cases).n_eff == cases


def test_effective_trials_never_exceed_the_trials_run() -> None:
    assert clustered([0.5, 0.5, 0.501], 12).n_eff == 12.0


def test_one_case_falls_back_to_its_trials() -> None:
    interval = clustered([0.8], 10)
    assert interval.method == "Wilson (this case only)"
    assert bounds(interval) == pytest.approx(bounds(wilson(8, 10)), rel=1e-14)
    assert interval.n_eff == 10


def test_no_case_no_interval() -> None:
    assert clustered_wilson([], 0) is None
    assert clustered_wilson([], 0, weights=[]) is None


def test_an_interval_names_its_method_and_level() -> None:
    assert (wilson(1, 2, 0.9).method, wilson(1, 2, 0.9).level) == ("Wilson", 0.9)
    interval = clustered([0.5, 1.0], 8, level=0.8)
    assert (interval.method, interval.level) == ("clustered Wilson", 0.8)


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
    assert clustered([1.0, 1.0], 8, weights=[3, 1]).n_eff == pytest.approx(1.6, rel=1e-14)


def test_one_overwhelming_weight_tells_little() -> None:
    interval = clustered([1.0, 0.0, 0.5], 300, weights=[1e9, 1, 1])
    assert interval.low < 0.01
    assert interval.high == pytest.approx(1.0, abs=1e-6)


def test_cluster_sizes_as_weights_keep_the_mean_over_cases() -> None:
    clusters: dict[Any, list[float]] = {"x": [1.0, 1.0, 1.0, 0.0], "y": [0.0, 1.0], "z": [1.0, 0.0]}
    means, sizes = zip(*((fmean(values), len(values)) for values in clusters.values()), strict=True)
    interval = clustered(list(means), 8, weights=list(sizes))
    q_squared_over_n = 4.302652729911275**2 / interval.n_eff
    centre = (0.625 + q_squared_over_n / 2) / (1 + q_squared_over_n)
    assert (interval.low + interval.high) / 2 == pytest.approx(centre, rel=1e-10)


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (0, 0), (-1, 5), (6, 5), (math.nan, 5), (1, math.inf)])
def test_wilson_refuses_impossible_counts(successes: float, n: float) -> None:
    with pytest.raises(UsageError):
        wilson(successes, n)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, math.nan])
def test_impossible_levels_are_refused(level: float) -> None:
    with pytest.raises(UsageError):
        wilson(1, 2, level)
    with pytest.raises(UsageError):
        clustered_wilson([], 0, level)


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
def test_clustered_wilson_refuses_impossible_input(
    estimates: list[float], total_trials: int, weights: list[float] | None
) -> None:
    with pytest.raises(UsageError):
        clustered_wilson(estimates, total_trials, weights=weights)
