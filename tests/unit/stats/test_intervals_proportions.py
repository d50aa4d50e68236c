from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.intervals import clopper_pearson, uniform_beta, wilson

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["proportion_ci_95"], ids=lambda vector: f"{vector['x']}/{vector['n']}")
def test_intervals_of_the_reference(vector: dict[str, Any]) -> None:
    for interval in (wilson, clopper_pearson, uniform_beta):
        found = interval(vector["x"], vector["n"])
        assert (found.low, found.high) == pytest.approx(vector[interval.__name__], rel=1e-12)


def test_unanimous_trials_reach_the_edge_exactly_and_keep_a_width() -> None:
    assert clopper_pearson(10, 10).high == 1.0
    assert clopper_pearson(0, 10).low == 0.0
    assert uniform_beta(10, 10).high < 1.0


def test_an_interval_names_its_method_level_and_trials() -> None:
    exact, believed = clopper_pearson(3, 7, 0.9), uniform_beta(3, 7, 0.9)
    assert (exact.method, exact.level, exact.n_eff) == ("Clopper-Pearson", 0.9, 7.0)
    assert (believed.method, believed.level, believed.n_eff) == ("uniform Beta", 0.9, 7.0)


@pytest.mark.parametrize(("n", "p"), [(10, 0.9), (10, 0.99), (20, 0.95), (50, 0.99), (100, 0.95), (300, 0.99)])
def test_coverage_as_published(n: int, p: float) -> None:
    """The reference's table of exact coverages, which only Clopper-Pearson reaches everywhere."""
    published = {
        (10, 0.9): (0.987, 0.930), (10, 0.99): (0.996, 0.904), (20, 0.95): (0.984, 0.925),
        (50, 0.99): (0.986, 0.911), (100, 0.95): (0.983, 0.966), (300, 0.99): (0.989, 0.967),
    }  # fmt: skip
    chances = [math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)]
    for interval, want in zip((clopper_pearson, uniform_beta), published[n, p], strict=True):
        covered = [x for x in range(n + 1) if interval(x, n).low <= p <= interval(x, n).high]
        assert math.fsum(chances[x] for x in covered) == pytest.approx(want, abs=5e-4)


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_impossible_counts_are_refused(successes: int, n: int) -> None:
    for interval in (clopper_pearson, uniform_beta):
        with pytest.raises(UsageError):
            interval(successes, n)


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_impossible_levels_are_refused(level: float) -> None:
    for refused in (
        lambda: clopper_pearson(1, 2, level),
        lambda: uniform_beta(1, 2, level),
    ):
        with pytest.raises(UsageError, match="level"):
            refused()
