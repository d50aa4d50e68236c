from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalharness.stats.power import (
    mde_fixed_cases,
    mde_sampled_cases,
    sample_size_mcnemar,
    sample_size_paired,
)

alphas = st.floats(0.001, 0.2)
powers = st.floats(0.5, 0.99)
variances = st.floats(0.001, 0.5)


def is_rounded_up(found: int, size: float) -> bool:
    return size * (1 - 1e-9) <= found < size * (1 + 1e-9) + 1


@given(variances, st.integers(1, 1_000), st.integers(1, 50), alphas, powers)
def test_the_detectable_drop_is_found_with_the_power_asked_for(
    within: float, cases: int, trials: int, alpha: float, power: float
) -> None:
    error = math.sqrt(2 * within / (cases * trials))
    drop = mde_fixed_cases(within, cases, trials, alpha, power)
    assert stats.norm.sf(stats.norm.isf(alpha) - drop / error) == pytest.approx(power, rel=1e-9)


@given(st.floats(0.01, 0.5), variances, variances, variances, st.integers(1, 20), st.integers(1, 20), alphas, powers)
def test_paired_sizes_invert_the_detectable_difference(
    delta: float, spread: float, a: float, b: float, k_a: int, k_b: int, alpha: float, power: float
) -> None:
    needed = sample_size_paired(delta, spread, a, b, k_a, k_b, alpha, power)
    variance = spread + a / k_a + b / k_b
    assert is_rounded_up(needed, (stats.norm.isf(alpha / 2) + stats.norm.ppf(power)) ** 2 * variance / delta**2)
    assert mde_sampled_cases(needed, spread, a, b, k_a, k_b, alpha, power) <= delta * (1 + 1e-9)


@given(st.floats(0.01, 0.5), st.floats(0.01, 1), alphas, powers, st.booleans())
def test_mcnemar_reaches_its_power_with_no_case_to_spare(
    delta: float, share: float, alpha: float, power: float, two_sided: bool
) -> None:
    discordant = delta + share * (1 - delta)

    def power_of(n: float) -> float:
        quantile = stats.norm.isf(alpha / 2 if two_sided else alpha)
        shift = delta * math.sqrt(n) - quantile * math.sqrt(discordant)
        return float(stats.norm.cdf(shift / math.sqrt(discordant - delta**2)))

    n = sample_size_mcnemar(discordant, delta, alpha, power, two_sided=two_sided)
    assert power_of(n) >= power - 1e-9
    assert n == 1 or power_of(n - 1) < power + 1e-9
