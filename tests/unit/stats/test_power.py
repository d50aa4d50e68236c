from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.power import mde_fixed_cases, mde_sampled_cases
from evalharness.stats.standard_errors import variance_components

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())
AIRLINE = variance_components([(4, c) for c, cases in enumerate((14, 12, 10, 4, 10)) for _ in range(cases)])
assert AIRLINE is not None
WITHIN = AIRLINE.within


@pytest.mark.parametrize(("cases", "trials", "points"), [(50, 4, 9.5), (200, 4, 4.8), (200, 16, 2.4), (50, 12, 5.5)])
def test_detectable_drop_of_a_published_run(cases: int, trials: int, points: float) -> None:
    assert 100 * mde_fixed_cases(WITHIN, cases, trials) == pytest.approx(points, abs=0.05)


@pytest.mark.parametrize("vector", VECTORS["sample_size_paired"], ids=str)
def test_sampled_cases_of_the_reference(vector: dict[str, Any]) -> None:
    delta, *spread = vector["args"]
    assert mde_sampled_cases(vector["want"], *spread) == pytest.approx(delta, rel=1e-12)


def test_endless_trials_leave_the_spread_of_the_differences() -> None:
    endless = mde_sampled_cases(969, 1 / 9, 1 / 6, 1 / 6, math.inf, math.inf)
    assert endless == mde_sampled_cases(969, 1 / 9, 0, 0, 1, 1)
    assert endless == pytest.approx(0.03, abs=1e-5)


def test_with_more_power_or_less_risk_only_more_is_seen() -> None:
    assert mde_fixed_cases(WITHIN, 50, 4, power=0.9) > mde_fixed_cases(WITHIN, 50, 4)
    assert mde_sampled_cases(50, WITHIN, 0, 0, 1, 1, alpha=0.01) > mde_sampled_cases(50, WITHIN, 0, 0, 1, 1)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: mde_fixed_cases(-0.1, 50, 4),
        lambda: mde_fixed_cases(0.1, 0, 4),
        lambda: mde_fixed_cases(0.1, 50, 0),
        lambda: mde_fixed_cases(0.1, 50, 4, alpha=5),
        lambda: mde_fixed_cases(0.1, 50, 4, power=80),
        lambda: mde_sampled_cases(0, 0.1, 0.1, 0.1, 1, 1),
        lambda: mde_sampled_cases(50, math.nan, 0.1, 0.1, 1, 1),
        lambda: mde_sampled_cases(50, 0.1, 0.1, 0.1, 0, 1),
    ],
)
def test_impossible_plans_are_refused(refused: Any) -> None:
    with pytest.raises(UsageError):
        refused()
