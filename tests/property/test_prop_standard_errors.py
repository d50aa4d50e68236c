from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalharness.stats.power import (
    se_for_trials,
    variance_components,
    within_variance,
)


@given(st.lists(st.lists(st.booleans(), min_size=2, max_size=6), min_size=2, max_size=20))
def test_components_are_those_of_the_rows(rows: list[list[bool]]) -> None:
    counts = [(len(row), sum(row)) for row in rows]
    own = [float(np.var(row, ddof=1)) for row in rows]
    between = np.var([np.mean(row) for row in rows], ddof=1) - np.mean(
        [variance / len(row) for variance, row in zip(own, rows, strict=True)]
    )
    found = variance_components(counts)
    assert found is not None
    assert found.within == pytest.approx(np.mean(own), rel=1e-9, abs=1e-12)
    assert found.between == pytest.approx(max(0.0, between), rel=1e-9, abs=1e-12)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=30))
def test_the_trials_run_give_the_error_measured(passes: list[int]) -> None:
    found = variance_components([(4, c) for c in passes])
    assert found is not None
    measured = float(stats.sem([c / 4 for c in passes]))
    predicted = se_for_trials(found.between, found.within, len(passes), 4)
    if found.between > 0:
        assert predicted == pytest.approx(measured, rel=1e-9)
    else:
        assert predicted >= measured - 1e-12


@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 4), st.integers(1, 4))
def test_the_variance_within_is_unbiased(p: float, q: float, n: int, m: int) -> None:
    """Over every outcome of two cases, the second perhaps with a single trial."""

    def chance(trials: int, passes: int, rate: float) -> float:
        return math.comb(trials, passes) * rate**passes * (1 - rate) ** (trials - passes)

    expected = math.fsum(
        chance(n, c, p) * chance(m, d, q) * (within_variance([(n, c), (m, d)]) or 0.0)
        for c, d in product(range(n + 1), range(m + 1))
    )
    parts = [p * (1 - p)] + ([q * (1 - q)] if m > 1 else [])
    assert expected == pytest.approx(math.fsum(parts) / len(parts), abs=1e-12)
