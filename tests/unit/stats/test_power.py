from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.power import mde_sampled_cases

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["sample_size_paired"], ids=str)
def test_sampled_cases_of_the_reference(vector: dict[str, Any]) -> None:
    delta, *spread = vector["args"]
    assert mde_sampled_cases(vector["want"], *spread) == pytest.approx(delta, rel=1e-12)


def test_endless_trials_leave_the_spread_of_the_differences() -> None:
    endless = mde_sampled_cases(969, 1 / 9, 1 / 6, 1 / 6, math.inf, math.inf)
    assert endless == mde_sampled_cases(969, 1 / 9, 0, 0, 1, 1)
    assert endless == pytest.approx(0.03, abs=1e-5)


def test_with_more_power_or_less_risk_only_more_is_seen() -> None:
    seen = mde_sampled_cases(50, 0.1, 0, 0, 1, 1)
    assert mde_sampled_cases(50, 0.1, 0, 0, 1, 1, power=0.9) > seen
    assert mde_sampled_cases(50, 0.1, 0, 0, 1, 1, alpha=0.01) > seen


@pytest.mark.parametrize(
    "refused",
    [
        lambda: mde_sampled_cases(0, 0.1, 0.1, 0.1, 1, 1),
        lambda: mde_sampled_cases(50, math.nan, 0.1, 0.1, 1, 1),
        lambda: mde_sampled_cases(50, 0.1, 0.1, 0.1, 0, 1),
    ],
)
def test_impossible_plans_are_refused(refused: Any) -> None:
    with pytest.raises(UsageError):
        refused()
