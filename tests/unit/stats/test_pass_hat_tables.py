from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.pass_hat_tables import contradiction, histogram_from_pass_hats, is_possible_rate

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["pass_hat_inversion"], ids=lambda vector: f"{vector['tasks']} cases")
def test_reference(vector: dict[str, Any]) -> None:
    found = histogram_from_pass_hats(vector["pass_1_to_n"], vector["tasks"])
    assert found.counts == pytest.approx(vector["want_hist"], abs=1e-9)
    assert found.possible == vector["possible"]
    if found.possible:
        assert found.histogram == tuple(vector["want_hist"])
        assert found.objection is None


def test_an_impossible_row_is_reported_by_what_cannot_be() -> None:
    found = histogram_from_pass_hats([0.0979, 0.0722, 0.0567, 0.0309], 97, decimals=4)
    assert not found.possible
    assert found.histogram is None
    assert found.objection is not None
    assert found.objection.kind == "cases"
    assert found.objection.numbers == {"number": pytest.approx(-5.995, abs=1e-3), "cases": 97, "passes": 2, "trials": 4}


def test_a_row_rounded_to_three_decimals_is_recognised() -> None:
    published = [0.420, 0.273, 0.220, 0.200]
    assert histogram_from_pass_hats(published, 50, decimals=3).histogram == (14, 12, 10, 4, 10)
    assert not histogram_from_pass_hats(published, 50).possible, "no trials give exactly this"
    assert not histogram_from_pass_hats([0.420, 0.278, 0.220, 0.200], 50, decimals=3).possible


def test_figures_that_fit_one_by_one_may_not_fit_together() -> None:
    # pass^2 = 1 means both cases passed twice, so pass^1 cannot be below 1.
    assert not histogram_from_pass_hats([0.5, 1.0], 2).possible


def test_one_trial_per_case() -> None:
    assert histogram_from_pass_hats([0.75], 4).histogram == (1, 3)
    assert not histogram_from_pass_hats([0.7], 4).possible
    assert histogram_from_pass_hats([0.8], 4, decimals=1).histogram == (1, 3)


def test_rounding_that_leaves_too_much_open_is_admitted() -> None:
    # With 30 trials, rounding to 2 decimals lets astronomically many histograms come close, and none may fit.
    shares = [round(0.5**k, 2) for k in range(1, 31)]
    found = histogram_from_pass_hats(shares, 5_000, decimals=2)
    assert found.possible
    assert (found.histogram is None) == (found.objection is not None and found.objection.kind == "untried")


@pytest.mark.parametrize(
    ("rate", "trials", "decimals", "possible"),
    [
        (0.642, 200, 3, False),
        (0.42, 200, None, True),
        (0.273, 150, 3, True),
        (0.5, 3, 0, True),
        (1 / 3, 3, None, True),
        (0.3333, 3, 4, True),
        (0.3333, 3, None, False),
        (1.2, 10, 1, False),
        (1.0, 7, None, True),
    ],
)
def test_rates_are_multiples_of_one_trial(rate: float, trials: int, decimals: int | None, possible: bool) -> None:
    assert is_possible_rate(rate, trials, decimals) is possible


@pytest.mark.parametrize(
    ("shares", "cases", "decimals"),
    [([], 5, None), ([0.5], 0, None), ([42.0], 5, None), ([math.nan], 5, None), ([0.5], 5, -1)],
)
def test_bad_input_is_refused(shares: list[float], cases: int, decimals: int | None) -> None:
    with pytest.raises(UsageError):
        histogram_from_pass_hats(shares, cases, decimals)


@pytest.mark.parametrize(
    ("rates", "trials", "why"),
    [
        ({1: 0.3, 2: 0.6}, 8, ("above", {"j": 1, "k": 2})),
        ({1: 0.3, 2: 0.6}, None, ("above", {"j": 1, "k": 2})),
        ({1: 0.95, 4: 0.10}, 4, ("least", {"j": 1, "k": 4, "rate": 0.95, "least": 0.78})),
        ({2: 0.9, 3: 0.95, 4: 0.2}, 4, ("above", {"j": 2, "k": 3})),
        ({1: 0.95, 4: 0.10}, None, None),  # with very many trials of every case
        ({1: 0.95, 4: 0.8}, 4, None),
        ({1: 0.75, 4: 0.0}, 4, None),  # every case passed 3 of 4
        ({1: 0.0, 2: 0.0}, 2, None),
        ({1: 1.0, 2: 1.0}, 2, None),
        ({1: 1.0, 2: 0.9}, 2, ("least", {"j": 1, "k": 2, "rate": 1.0, "least": 0.99})),
    ],
)
def test_two_rates_may_contradict_each_other(rates: dict[int, float], trials: int | None, why: Any) -> None:
    found = contradiction(rates, trials, decimals=2)
    assert (found and found.kind) == (why and why[0])
    assert found is None or found.numbers == pytest.approx(why[1])


def test_rates_of_very_many_trials_are_checked_quickly() -> None:
    assert contradiction({k: 0.9**k for k in range(1, 200)}, 1000, decimals=6) is None


def test_a_rate_needs_trials() -> None:
    with pytest.raises(UsageError):
        is_possible_rate(0.5, 0)
