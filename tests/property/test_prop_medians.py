from __future__ import annotations

import math
from statistics import fmean
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sample_sizes import examples
from scipy import stats

from evalharness.stats.agreement import bca_bounds, bootstrap_interval, percentile_bounds, resampled
from evalharness.stats.medians import median, quantile

finite = st.floats(-1e6, 1e6)
levels = st.floats(0.5, 0.999)


@given(st.lists(finite, min_size=1, max_size=100), st.floats(0, 1))
def test_quantile_agrees_with_numpy(values: list[float], p: float) -> None:
    assert quantile(values, p) == pytest.approx(np.quantile(values, p), rel=1e-9, abs=1e-9)


@given(st.lists(finite, min_size=2, max_size=120), levels)
def test_the_ranks_around_a_median_are_the_narrowest_that_reach_the_level(values: list[float], level: float) -> None:
    found = median(values, level)
    assert found is not None
    n, ordered = len(values), sorted(values)
    coverage = {rank: 1 - 2 * stats.binom.cdf(rank - 1, n, 0.5) for rank in range(1, n // 2 + 1)}
    reaching = [rank for rank in coverage if coverage[rank] >= level]
    assume(all(abs(reached - level) > 1e-9 for reached in coverage.values()))
    rank = max(reaching, default=1)
    assert (found.low, found.high) == (ordered[rank - 1], ordered[n - rank])
    assert found.level == pytest.approx(coverage[rank], rel=1e-9)
    assert found.value == pytest.approx(np.median(values), rel=1e-12, abs=1e-9)
    assert (found.level >= level) == bool(reaching)


@given(
    st.lists(st.floats(0, 1e3), min_size=5, max_size=40),
    st.integers(0, 5),
    levels,
    st.sampled_from(["BCa", "percentile"]),
)
@examples(50)
def test_bounds_agree_with_scipy_on_the_same_draws(values: list[float], seed: int, level: float, method: str) -> None:
    assume(np.std(values) > 1e-3)
    figures = resampled(values, fmean, 200, seed)
    want = stats.bootstrap(
        (values,), np.mean, n_resamples=0, confidence_level=level, method=method,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=np.array(figures)),
    ).confidence_interval  # fmt: skip
    left_out = [fmean(values[:i] + values[i + 1 :]) for i in range(len(values))]
    found = bca_bounds(float(np.mean(values)), figures, left_out, level)
    if method == "percentile":
        found = percentile_bounds(figures, level)
    if found is not None:
        assert found == pytest.approx((want.low, want.high), rel=1e-9, abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=60), st.integers(0, 10), levels)
@examples(30)
def test_a_bootstrap_stays_within_what_was_seen(values: list[float], seed: int, level: float) -> None:
    found = bootstrap_interval(values, fmean, level=level, seed=seed, resamples=200)
    assert found is not None
    assert min(values) - 1e-12 <= found.low <= found.high <= max(values) + 1e-12
    assert math.isfinite(found.low)
