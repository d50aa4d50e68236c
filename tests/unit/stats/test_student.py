from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy import special, stats

from evalharness.errors import UsageError
from evalharness.stats.beta import regularised_beta
from evalharness.stats.student import normal_quantile, student_t_quantile

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())
DEGREES = [1, 2, 3, 4, 9, 49, 199, 1_000, 100_000, 1_000_000]
TAILS = [1e-12, 1e-6, 0.001, 0.005, 0.025, 0.05, 0.2, 0.2499999, 0.25, 0.4, 0.499]


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("tail", TAILS)
def test_quantile_agrees_with_scipy_in_the_lower_tail(tail: float, df: int) -> None:
    assert student_t_quantile(tail, df) == pytest.approx(stats.t.ppf(tail, df), rel=1e-10)


@pytest.mark.parametrize("p", [1e-300, 1e-100, 1e-20, 0.01, 0.3, 0.4, 0.5 - 1e-9])
def test_one_and_two_degrees_follow_their_closed_forms(p: float) -> None:
    cauchy = -1 / math.tan(math.pi * p) if p < 0.25 else math.tan(math.pi * (p - 0.5))
    assert student_t_quantile(p, 1) == pytest.approx(cauchy, rel=1e-13)
    assert student_t_quantile(p, 2) == pytest.approx((p - 0.5) * math.sqrt(2) / math.sqrt(p * (1 - p)), rel=1e-12)


@pytest.mark.parametrize("df", DEGREES)
def test_the_distribution_is_symmetric(df: int) -> None:
    assert student_t_quantile(0.5, df) == 0.0
    assert student_t_quantile(0.875, df) == -student_t_quantile(0.125, df)


def test_the_median_neighbourhood_keeps_relative_accuracy() -> None:
    density_at_0 = math.gamma(5.5) / math.gamma(5) / math.sqrt(10 * math.pi)
    p = 0.5 + 2.0**-40
    assert student_t_quantile(p, 10) == pytest.approx(2.0**-40 / density_at_0, rel=1e-11)


def test_many_degrees_approach_the_normal_law() -> None:
    assert student_t_quantile(0.975, 1_000_000) == pytest.approx(normal_quantile(0.975), rel=2e-6)
    assert student_t_quantile(0.975, 1_000_000) > normal_quantile(0.975)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, 1.1, math.nan])
def test_quantiles_refuse_what_is_not_a_probability(p: float) -> None:
    with pytest.raises(UsageError):
        student_t_quantile(p, 5)
    with pytest.raises(UsageError):
        normal_quantile(p)


@pytest.mark.parametrize("df", [0, -1, 10**12])
def test_impossible_degrees_of_freedom_are_refused(df: int) -> None:
    with pytest.raises(UsageError):
        student_t_quantile(0.9, df)


@pytest.mark.parametrize("vector", VECTORS["proportion_ci_95"], ids=lambda vector: f"{vector['x']}/{vector['n']}")
def test_beta_reproduces_exact_binomial_limits(vector: dict[str, Any]) -> None:
    x, n = vector["x"], vector["n"]
    low, high = vector["clopper_pearson"]
    if x > 0:
        assert regularised_beta(low, x, n - x + 1) == pytest.approx(0.025, rel=1e-9)
    if x < n:
        assert regularised_beta(high, x + 1, n - x) == pytest.approx(0.975, rel=1e-9)
    for bound, share in zip(vector["uniform_beta"], (0.025, 0.975), strict=True):
        assert regularised_beta(bound, x + 1, n - x + 1) == pytest.approx(share, rel=1e-9)


@pytest.mark.parametrize(
    ("x", "a", "b"),
    [(0.5, 1e6, 1e6), (0.999999, 1e6, 0.5), (1e-6, 0.5, 1e6), (0.3, 0.5, 0.5), (0.01, 3, 200), (1e-80, 2, 3)],
)
def test_beta_agrees_with_scipy_at_the_corners(x: float, a: float, b: float) -> None:
    assert regularised_beta(x, a, b) == pytest.approx(special.betainc(a, b, x), rel=1e-10)


def test_beta_is_a_distribution_function() -> None:
    assert regularised_beta(0.0, 2, 3) == 0.0
    assert regularised_beta(1.0, 2, 3) == 1.0
    assert regularised_beta(0.25, 1, 1) == pytest.approx(0.25, rel=1e-15)


@pytest.mark.parametrize(
    ("x", "a", "b"), [(-0.1, 1, 1), (1.1, 1, 1), (math.nan, 1, 1), (0.5, 0, 1), (0.5, 1, -1), (0.5, math.inf, 1)]
)
def test_beta_refuses_values_outside_its_domain(x: float, a: float, b: float) -> None:
    with pytest.raises(UsageError):
        regularised_beta(x, a, b)
