from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalharness.stats.power import mde_sampled_cases

alphas = st.floats(0.001, 0.2)
powers = st.floats(0.5, 0.99)
variances = st.floats(0.001, 0.5)


@given(st.integers(1, 1_000), variances, variances, variances, st.integers(1, 20), st.integers(1, 20), alphas, powers)
def test_the_detectable_difference_is_found_with_the_power_asked_for(
    cases: int, spread: float, a: float, b: float, k_a: int, k_b: int, alpha: float, power: float
) -> None:
    error = math.sqrt((spread + a / k_a + b / k_b) / cases)
    difference = mde_sampled_cases(cases, spread, a, b, k_a, k_b, alpha, power)
    assert stats.norm.sf(stats.norm.isf(alpha / 2) - difference / error) == pytest.approx(power, rel=1e-9)
