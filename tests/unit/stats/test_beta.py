from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from scipy import special

from evalharness.errors import UsageError
from evalharness.stats.beta import beta_quantile, log_beta, regularised_beta

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["proportion_ci_95"], ids=lambda vector: f"{vector['x']}/{vector['n']}")
def test_quantiles_are_the_limits_of_a_uniform_prior(vector: dict[str, Any]) -> None:
    a, b = vector["x"] + 1, vector["n"] - vector["x"] + 1
    limits = beta_quantile(0.025, a, b), beta_quantile(0.975, a, b)
    assert limits == pytest.approx(vector["uniform_beta"], rel=1e-12)


@pytest.mark.parametrize("p", [1e-100, 1e-20, 0.001, 0.3, 0.5, 0.9, 1 - 1e-9])
@pytest.mark.parametrize(("a", "b"), [(1e9, 1e9), (1e9, 1), (1, 1e9), (0.5, 0.5), (1e6, 0.01), (3, 200), (0.5, 1e6)])
def test_quantile_agrees_with_scipy_at_the_corners(p: float, a: float, b: float) -> None:
    want = special.betaincinv(a, b, p)
    assert beta_quantile(p, a, b) == pytest.approx(want, rel=1e-10, abs=1e-300)


@pytest.mark.parametrize(("a", "b"), [(1e9, 1e9), (1, 1e9), (3, 200), (40, 2)])
def test_the_far_tail_is_undone_by_the_distribution(a: float, b: float) -> None:
    # A steep tail magnifies the last bit of x.
    assert regularised_beta(beta_quantile(1e-300, a, b), a, b) == pytest.approx(1e-300, rel=1e-8)


def test_a_quantile_too_small_for_a_number_is_zero() -> None:
    assert beta_quantile(1e-20, 0.01, 0.01) == 0.0


def test_quantiles_with_closed_forms() -> None:
    assert beta_quantile(0.25, 1, 1) == pytest.approx(0.25, rel=1e-15)
    assert beta_quantile(0.3, 4, 1) == pytest.approx(0.3**0.25, rel=1e-14)
    assert beta_quantile(0.3, 1, 4) == pytest.approx(-math.expm1(math.log1p(-0.3) / 4), rel=1e-14)
    assert beta_quantile(0.5, 7, 7) == pytest.approx(0.5, rel=1e-14)


@pytest.mark.parametrize("p", [0.0, 1.0, -0.1, math.nan])
def test_quantile_refuses_what_is_not_a_probability(p: float) -> None:
    with pytest.raises(UsageError):
        beta_quantile(p, 2, 3)


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, -1), (math.inf, 1), (math.nan, 1), (1, 1e10)])
def test_impossible_parameters_are_refused(a: float, b: float) -> None:
    for refused in (lambda: beta_quantile(0.5, a, b), lambda: log_beta(a, b), lambda: regularised_beta(0.5, a, b)):
        with pytest.raises(UsageError):
            refused()


@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 7), (5, 3), (12, 40), (1_000, 3), (5_000, 700), (1_000_000, 2)])
def test_log_beta_of_integers_is_a_binomial_coefficient(a: int, b: int) -> None:
    want = -math.log(b * math.comb(a + b - 1, b))
    assert log_beta(a, b) == pytest.approx(want, rel=1e-13, abs=1e-13)
    assert log_beta(b, a) == log_beta(a, b)
