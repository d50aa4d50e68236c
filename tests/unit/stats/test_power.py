from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.power import (
    mde_fixed_cases,
    mde_sampled_cases,
    more_trials_help,
    sample_size_half_width,
    sample_size_mcnemar,
    sample_size_paired,
    sample_size_unpaired,
    trials_for_effect,
)
from evalharness.stats.standard_errors import variance_components

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())
AIRLINE = variance_components([(4, c) for c, cases in enumerate((14, 12, 10, 4, 10)) for _ in range(cases)])
assert AIRLINE is not None
BETWEEN, WITHIN = AIRLINE.between, AIRLINE.within


@pytest.mark.parametrize(("cases", "trials", "points"), [(50, 4, 9.5), (200, 4, 4.8), (200, 16, 2.4), (50, 12, 5.5)])
def test_detectable_drop_of_a_published_run(cases: int, trials: int, points: float) -> None:
    assert 100 * mde_fixed_cases(WITHIN, cases, trials) == pytest.approx(points, abs=0.05)


@pytest.mark.parametrize("vector", VECTORS["sample_size_paired"], ids=str)
def test_sampled_cases_of_the_reference(vector: dict[str, Any]) -> None:
    delta, *spread = vector["args"]
    assert mde_sampled_cases(vector["want"], *spread) == pytest.approx(delta, rel=1e-12)
    assert sample_size_paired(delta, *spread) == math.ceil(vector["want"])


def test_endless_trials_leave_the_spread_of_the_differences() -> None:
    assert sample_size_paired(0.03, 1 / 9, 1 / 6, 1 / 6, math.inf, math.inf) == 969


@pytest.mark.parametrize("vector", VECTORS["sample_size_mcnemar_two_sided"], ids=str)
def test_mcnemar_of_the_reference(vector: dict[str, Any]) -> None:
    assert sample_size_mcnemar(vector["discordant"], vector["delta"]) == vector["want"]


@pytest.mark.parametrize(("discordant", "delta", "want"), [(0.2, 0.1, 122), (0.15, 0.05, 369), (0.1, 0.05, 246)])
def test_mcnemar_one_sided(discordant: float, delta: float, want: int) -> None:
    assert sample_size_mcnemar(discordant, delta, two_sided=False) == want


@pytest.mark.parametrize(
    ("p1", "p2", "two_sided", "one_sided"),
    [(0.9, 0.8, 199, 157), (0.9, 0.85, 686, 540), (0.8, 0.75, 1_094, 862), (0.95, 0.9, 435, 343)],
)
def test_unpaired_trials(p1: float, p2: float, two_sided: int, one_sided: int) -> None:
    assert sample_size_unpaired(p1, p2) == sample_size_unpaired(p2, p1) == two_sided
    assert sample_size_unpaired(p1, p2, two_sided=False) == one_sided


def test_half_width() -> None:
    assert sample_size_half_width(0.05) == 385
    assert sample_size_half_width(0.05, 0.9) == 139


def test_trials_that_show_an_effect_on_fixed_cases() -> None:
    trials = trials_for_effect(0.055, WITHIN, 50)
    assert trials == 12
    assert mde_fixed_cases(WITHIN, 50, 12) <= 0.055 < mde_fixed_cases(WITHIN, 50, 11)
    assert trials_for_effect(0.9, WITHIN, 50) == 1
    assert trials_for_effect(0.001, 0.0, 50) == 1


def test_no_number_of_trials_makes_up_for_too_few_cases() -> None:
    def needed(cases: int) -> int | None:
        return trials_for_effect(0.03, 1 / 6, cases, difference_variance=1 / 9, two_sided=True)

    assert needed(968) is None
    assert needed(969) is not None
    assert needed(1_260) == 10
    assert needed(3_876) == 1
    assert trials_for_effect(0.03, 0.0, 968, difference_variance=1 / 9, two_sided=True) is None


def test_more_trials_stop_helping_a_published_run() -> None:
    # .1467/K falls below .0997/4 between 5 and 6 trials.
    assert [more_trials_help(BETWEEN, WITHIN, trials) for trials in (1, 4, 5, 6, 100)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert more_trials_help(0.0, WITHIN, 1_000)
    assert not more_trials_help(BETWEEN, 0.0, 1)
    assert not more_trials_help(0.0, 0.0, 1)


def test_more_power_or_less_risk_needs_more() -> None:
    base = sample_size_unpaired(0.9, 0.8)
    assert sample_size_unpaired(0.9, 0.8, power=0.9) > base
    assert sample_size_unpaired(0.9, 0.8, alpha=0.01) > base
    assert mde_fixed_cases(WITHIN, 50, 4, power=0.9) > mde_fixed_cases(WITHIN, 50, 4)


def test_rounding_costs_no_trial() -> None:
    reach = math.sqrt(2 * 0.25 / 12 / 10) / mde_fixed_cases(0.25, 10, 12)
    assert trials_for_effect(math.sqrt(2 * 0.25 / 12 / 10) / reach, 0.25, 10) == 12


@pytest.mark.parametrize(
    "refused",
    [
        lambda: mde_fixed_cases(-0.1, 50, 4),
        lambda: mde_fixed_cases(0.1, 0, 4),
        lambda: mde_fixed_cases(0.1, 50, 0),
        lambda: mde_fixed_cases(0.1, 50, 4, alpha=5),
        lambda: mde_fixed_cases(0.1, 50, 4, power=80),
        lambda: sample_size_paired(0, 0.1, 0.1, 0.1, 1, 1),
        lambda: sample_size_paired(0.1, math.nan, 0.1, 0.1, 1, 1),
        lambda: sample_size_paired(0.1, 0.1, 0.1, 0.1, 0, 1),
        lambda: sample_size_paired(1e-300, 0.1, 0.1, 0.1, 1, 1),
        lambda: sample_size_mcnemar(0.1, 0.2),
        lambda: sample_size_mcnemar(0.1, 0),
        lambda: sample_size_unpaired(0.5, 0.5),
        lambda: sample_size_unpaired(1.5, 0.5),
        lambda: sample_size_half_width(0),
        lambda: sample_size_half_width(0.05, 1.0),
        lambda: trials_for_effect(0, 0.1, 50),
        lambda: trials_for_effect(1e-12, 0.1, 50),
        lambda: more_trials_help(0.1, 0.1, 0),
    ],
)
def test_impossible_plans_are_refused(refused: Any) -> None:
    with pytest.raises(UsageError):
        refused()
