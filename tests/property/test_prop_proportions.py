from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from statsmodels.stats.proportion import proportion_confint

from evalharness.stats.beta import beta_quantile, log_beta, regularised_beta
from evalharness.stats.intervals import clopper_pearson, uniform_beta

levels = st.floats(0.5, 0.999)
parameters = st.one_of(st.integers(1, 50).map(float), st.floats(0.1, 1e5))


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.one_of(st.integers(1, 60), st.integers(1, 100_000)))
    return draw(st.integers(0, n)), n


@given(st.floats(1e-12, 1 - 1e-12), parameters, parameters)
def test_beta_quantile_agrees_with_scipy(p: float, a: float, b: float) -> None:
    assert beta_quantile(p, a, b) == pytest.approx(special.betaincinv(a, b, p), rel=1e-9, abs=1e-300)


@given(st.floats(1e-12, 1 - 1e-12), parameters, parameters)
def test_the_distribution_undoes_the_quantile(p: float, a: float, b: float) -> None:
    # Where b is small, many p share the last float below 1: the upper tail is undone in the mirror.
    x = beta_quantile(p, a, b) if p <= 0.5 else beta_quantile(1 - p, b, a)
    back = regularised_beta(x, a, b) if p <= 0.5 else 1 - regularised_beta(x, b, a)
    if 1e-300 < x < 0.99:
        assert back == pytest.approx(p, rel=1e-9)


# Beyond 1e4 scipy's difference of log Γ loses digits next to a small parameter.
@given(st.floats(0.1, 1e4), st.floats(0.1, 1e4))
def test_log_beta_agrees_with_scipy(a: float, b: float) -> None:
    assert log_beta(a, b) == pytest.approx(special.betaln(a, b), rel=1e-9, abs=1e-9)


@given(st.integers(1, 100_000), st.integers(1, 200))
def test_log_beta_agrees_with_exact_integers(a: int, b: int) -> None:
    assert log_beta(a, b) == pytest.approx(-math.log(b * math.comb(a + b - 1, b)), rel=1e-12, abs=1e-12)


@given(counts(), levels)
def test_clopper_pearson_agrees_with_scipy_and_statsmodels(x_n: tuple[int, int], level: float) -> None:
    x, n = x_n
    found = clopper_pearson(x, n, level)
    want = stats.binomtest(x, n).proportion_ci(level, method="exact")
    assert (found.low, found.high) == pytest.approx((want.low, want.high), rel=1e-9)
    assert (found.low, found.high) == pytest.approx(proportion_confint(x, n, 1 - level, method="beta"), rel=1e-9)


@given(counts(), levels)
def test_uniform_beta_agrees_with_scipy(x_n: tuple[int, int], level: float) -> None:
    x, n = x_n
    found = uniform_beta(x, n, level)
    assert (found.low, found.high) == pytest.approx(stats.beta.interval(level, x + 1, n - x + 1), rel=1e-9)


@given(counts(), levels)
def test_the_exact_interval_contains_the_believed_one(x_n: tuple[int, int], level: float) -> None:
    exact, believed = clopper_pearson(*x_n, level), uniform_beta(*x_n, level)
    assert exact.low <= believed.low < believed.high <= exact.high
