from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.power import (
    bernoulli_standard_error,
    se_for_trials,
    variance_components,
    within_variance,
)

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())
AIRLINE = [(4, passes) for passes, cases in enumerate((14, 12, 10, 4, 10)) for _ in range(cases)]


def test_independent_trials() -> None:
    assert bernoulli_standard_error(5 / 8, 8) == pytest.approx(0.17116, abs=5e-6)


def test_components_of_a_published_run() -> None:
    components = variance_components(AIRLINE)
    assert components is not None
    assert components.within == pytest.approx(0.1467, abs=5e-5)
    assert components.within == within_variance(AIRLINE)
    assert components.between == pytest.approx(0.0997, abs=5e-5)
    found = [se_for_trials(components.between, components.within, 50, k) for k in (1, 2, 4, 8, math.inf)]
    assert found == pytest.approx([0.070, 0.059, 0.052, 0.049, 0.045], abs=5e-4)
    measured = next(run["se"] for run in VECTORS["published_runs"] if run["k"] == 1)
    assert found[2] == pytest.approx(measured, rel=1e-12)


def test_unequal_trials() -> None:
    # variances of one trial: ⅓, ½, and for the single trial their mean; pass rates ½, ½, 1
    components = variance_components([(4, 2), (2, 1), (1, 1)])
    assert components is not None
    within = (1 / 3 + 1 / 2) / 2
    assert components.within == pytest.approx(within, rel=1e-14)
    noise = ((1 / 3) / 4 + (1 / 2) / 2 + within) / 3
    assert components.between == max(0.0, 1 / 12 - noise) == 0.0
    spread = variance_components([(4, 4), (2, 0), (4, 1)])
    assert spread is not None
    assert spread.between == pytest.approx(13 / 48 - (3 / 12) / 4 / 3, rel=1e-14)


def test_what_cannot_be_distinguished_is_not() -> None:
    assert variance_components([(1, 1), (1, 0), (1, 1)]) is None
    assert variance_components([(10, 5)]) is None
    assert variance_components([]) is None
    assert within_variance([(1, 1)]) is None
    assert within_variance([(10, 5)]) == pytest.approx(25 / 90, rel=1e-15)


@pytest.mark.parametrize("counts", [[(0, 0), (4, 2)], [(4, 5), (4, 2)], [(4, -1), (4, 2)]])
def test_impossible_counts_are_refused(counts: list[tuple[int, int]]) -> None:
    with pytest.raises(UsageError):
        variance_components(counts)


def test_other_impossible_input_is_refused() -> None:
    for between, within, cases, trials in [(-1, 1, 1, 1), (1, math.nan, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)]:
        with pytest.raises(UsageError):
            se_for_trials(between, within, cases, trials)
    for rate, n in [(1.1, 4), (0.5, 0)]:
        with pytest.raises(UsageError):
            bernoulli_standard_error(rate, n)
