from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

from evalharness.stats.rankings import bootstrapped_strengths, bradley_terry, is_rankable, kendall_w, wins_of

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["bradley_terry"], ids=lambda vector: str(vector["wins"]))
def test_strengths_of_the_reference(vector: dict[str, Any]) -> None:
    found = bradley_terry(vector["wins"])
    assert found is not None
    assert [each.value for each in found] == pytest.approx(vector["log_strength_sum_zero"], abs=1e-12)


def test_strengths_and_errors_are_those_of_a_logistic_regression() -> None:
    """Without an intercept, on +1 for one player and -1 for the other; the last player is the reference."""
    wins = [[0, 7, 9, 3], [3, 0, 6, 2], [1, 4, 0, 5], [4, 1, 2, 0]]
    rows, won = [], []
    for i in range(4):
        for j in range(4):
            for _ in range(wins[i][j]):
                rows.append([(k == i) - (k == j) for k in range(3)])
                won.append(1)
    flipped = [[-value for value in row] for row in rows]
    fit = sm.Logit(won + [0] * len(won), np.array(rows + flipped)).fit(disp=0)
    found = bradley_terry(wins)
    assert found is not None
    against_last = [each.value - found[3].value for each in found[:3]]
    assert against_last == pytest.approx(fit.params, abs=1e-9)
    centring = np.vstack([np.eye(3), np.zeros(3)]) - 0.25
    covariance = centring @ (2 * fit.cov_params()) @ centring.T  # every game was counted twice
    assert [each.standard_error for each in found] == pytest.approx(np.sqrt(np.diag(covariance)), abs=1e-9)


def test_thirty_wins_of_forty_are_a_log_odds_of_three() -> None:
    found = bradley_terry([[0, 30], [10, 0]])
    assert found is not None
    assert found[0].value - found[1].value == pytest.approx(math.log(3))
    assert found[0].low < found[0].value < found[0].high
    assert 2 * found[0].standard_error == pytest.approx(0.365, abs=5e-4)


@pytest.mark.parametrize(
    "wins", [[[0, 3], [0, 0]], [[0, 0], [0, 0]], [[0, 1, 0], [1, 0, 0], [0, 0, 0]], [[0]], []], ids=str
)
def test_who_is_unbeaten_or_apart_cannot_be_ranked(wins: list[list[float]]) -> None:
    assert not is_rankable(wins)
    assert bradley_terry(wins) is None


def test_a_tie_is_half_a_win_for_both() -> None:
    assert wins_of([[[0, 1], [2]]], 3) == [[0, 0.5, 1], [0.5, 0, 1], [0, 0, 0]]
    even = bradley_terry(wins_of([[[0, 1]]], 2))
    assert even is not None
    assert [each.value for each in even] == pytest.approx([0, 0])


def test_rankings_of_one_prompt_are_drawn_together() -> None:
    """Ten people of one mind about each of four prompts know no more than one: the intervals say so."""
    prompts = [[[[0], [1], [2]]], [[[0], [2], [1]]], [[[1], [0], [2]]], [[[2], [1], [0]]], [[[0], [1], [2]]]]
    alone = bootstrapped_strengths(prompts, 3, seed=5)
    repeated = bootstrapped_strengths([prompt * 10 for prompt in prompts], 3, seed=5)
    assert alone is not None
    assert repeated is not None
    assert [each.value for each in repeated] == pytest.approx([each.value for each in alone])
    assert [each.low for each in repeated] == pytest.approx([each.low for each in alone], abs=1e-6)
    assert repeated[0].standard_error < alone[0].standard_error
    assert bootstrapped_strengths(prompts, 3, seed=5) == alone


@pytest.mark.parametrize(
    ("rankings", "w"),
    [
        ([[[0], [1], [2]]] * 4, 1.0),
        ([[[0], [1], [2]], [[2], [1], [0]]], 0.0),
        # Ranks 1 2 3, 2 1 3 and 1 3 2: sums 4, 6 and 8, S = 8.
        ([[[0], [1], [2]], [[1], [0], [2]], [[0], [2], [1]]], 12 * 8 / (9 * 24)),
        # Ranks 1.5 1.5 3 and 1 2 3: sums 2.5, 3.5 and 6, S = 6.5; one pair is tied.
        ([[[0, 1], [2]], [[0], [1], [2]]], 12 * 6.5 / (4 * 24 - 2 * 6)),
    ],
)
def test_kendalls_w(rankings: list[list[list[int]]], w: float) -> None:
    assert kendall_w(rankings) == pytest.approx(w)


@pytest.mark.parametrize("rankings", [[], [[[0], [1]]], [[[0, 1]], [[0, 1]]], [[[0], [1]], [[0], [2]]], [[[0]], [[0]]]])
def test_no_w_where_there_is_nothing_to_agree_on(rankings: list[list[list[int]]]) -> None:
    assert kendall_w(rankings) is None
