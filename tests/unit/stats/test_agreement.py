from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.agreement import (
    Kappa,
    Reliability,
    agreement_interval,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    leading_measure,
    percent_agreement,
    reliability,
)

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())
PARADOX = [[118, 5], [2, 0]]


def pairs_of(table: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """A pair of ratings for each count in a table of first by second rater."""
    return [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]


def known(kappa: Kappa | None) -> Kappa:
    assert kappa is not None
    return kappa


@pytest.mark.parametrize("vector", VECTORS["agreement_2x2"], ids=lambda vector: str(vector["table"]))
def test_two_raters_of_the_reference(vector: dict[str, Any]) -> None:
    ratings = pairs_of(vector["table"])
    assert known(cohen_kappa(ratings)).value == pytest.approx(vector["kappa"], abs=1e-14)
    assert gwet_ac1(ratings) == pytest.approx(vector["ac1"], abs=1e-14)


def test_standard_error_of_the_reference() -> None:
    assert known(cohen_kappa(pairs_of([[20, 5], [10, 15]]))).standard_error == pytest.approx(0.127, abs=5e-4)


def test_the_kappa_paradox() -> None:
    ratings = pairs_of(PARADOX)
    assert percent_agreement(ratings) == pytest.approx(0.944)
    assert known(cohen_kappa(ratings)).value < 0
    assert leading_measure(ratings) == "AC1"
    assert leading_measure(pairs_of([[20, 5], [10, 15]])) == "alpha"


@pytest.mark.parametrize("vector", VECTORS["fleiss"])
def test_fleiss_of_the_reference(vector: dict[str, Any]) -> None:
    ratings = [[place for place, count in enumerate(row) for _ in range(count)] for row in vector["table"]]
    assert fleiss_kappa(ratings) == pytest.approx(vector["want"], rel=1e-13)


def test_weights_forgive_near_misses() -> None:
    near = [(1, 1), (2, 2), (3, 3), (1, 2), (2, 3), (3, 2)]
    far = [(1, 1), (2, 2), (3, 3), (1, 3), (3, 1), (3, 1)]
    for ratings, ordered in ((near, True), (far, False)):
        values = [known(cohen_kappa(ratings, weights)).value for weights in ("equal", "linear", "quadratic")]
        assert (values[0] < values[1] < values[2]) == ordered
    assert known(cohen_kappa(near, "quadratic")).value > known(cohen_kappa(far, "quadratic")).value


def test_two_categories_leave_no_near_miss() -> None:
    ratings = pairs_of([[20, 5], [10, 15]])
    assert cohen_kappa(ratings, "linear") == cohen_kappa(ratings, "quadratic") == cohen_kappa(ratings)


def test_the_scale_decides_how_near_is_near() -> None:
    ratings = [("low", "high"), ("low", "low"), ("high", "high"), ("low", "mid"), ("mid", "mid")]
    scale = ["low", "mid", "high"]
    assert known(cohen_kappa(ratings, "linear", scale)) != known(cohen_kappa(ratings, "linear", ["mid", "low", "high"]))
    with pytest.raises(UsageError, match="order"):
        cohen_kappa(ratings, "linear")
    with pytest.raises(UsageError, match="'mid' is not one of"):
        cohen_kappa(ratings, "linear", ["low", "high"])


def test_categories_without_ratings_count_for_ac1() -> None:
    ratings = [(1, 1), (2, 2), (1, 2), (1, 1)]
    assert gwet_ac1(ratings, [1, 2, 3]) != gwet_ac1(ratings)
    # shares 5/8 and 3/8; chance 2·(15/64)/(q - 1)
    assert gwet_ac1(ratings, [1, 2, 3]) == pytest.approx((0.75 - 15 / 64) / (1 - 15 / 64), rel=1e-14)


@pytest.mark.parametrize("ratings", [[("yes", "yes")] * 9, [("yes", None), (None, "no")], [], [(None, None)]])
def test_no_variation_is_not_agreement(ratings: list[tuple[Hashable, Hashable]]) -> None:
    assert cohen_kappa(ratings) is None
    assert gwet_ac1(ratings) is None
    assert krippendorff_alpha(ratings) is None
    assert agreement_interval(ratings, krippendorff_alpha) is None


def test_equal_ratings_agree_in_percent_alone() -> None:
    assert percent_agreement([("yes", "yes")] * 9) == 1.0
    assert fleiss_kappa([("yes", "yes", "yes")] * 9) is None
    assert percent_agreement([("yes", None)]) is None


def test_gaps_are_left_out() -> None:
    whole = pairs_of([[20, 5], [10, 15]])
    with_gaps = [*whole, (1, None), (None, 0), (None, None)]
    assert cohen_kappa(with_gaps) == cohen_kappa(whole)
    assert gwet_ac1(with_gaps) == gwet_ac1(whole)
    assert percent_agreement(with_gaps) == percent_agreement(whole)


def test_one_constant_rater_agrees_by_chance_only() -> None:
    assert known(cohen_kappa([(1, 1), (1, 0), (1, 1), (1, 0)])).value == 0.0


@pytest.mark.parametrize(
    ("alpha", "said"),
    [
        (1.0, "reliable"),
        (0.8, "reliable"),
        (0.7999, "tentative"),
        (0.667, "tentative"),
        (0.66, "do not gate"),
        (-0.2, "do not gate"),
        (None, "no variation"),
    ],
)
def test_thresholds(alpha: float | None, said: Reliability) -> None:
    assert reliability(alpha) == said


def test_an_interval_over_items() -> None:
    ratings = pairs_of([[45, 5], [5, 45]])
    found = agreement_interval(ratings, gwet_ac1, seed=11)
    assert found is not None
    assert 0.6 < found.low < 0.8 < found.high < 0.95
    assert (found.method, found.seed) == ("BCa bootstrap", 11)
    assert agreement_interval(ratings, gwet_ac1, seed=11) == found


def test_what_a_measure_cannot_compare_is_refused() -> None:
    with pytest.raises(UsageError, match="two raters"):
        cohen_kappa([(1, 2, 3)])
    with pytest.raises(UsageError, match="same number of ratings"):
        fleiss_kappa([(1, 2, 2), (1, 2, None)])
    with pytest.raises(UsageError, match="same number of ratings"):
        fleiss_kappa([(1,), (2,)])
    with pytest.raises(UsageError, match="Did you mean 'quadratic'"):
        cohen_kappa([(1, 2)], "quadratics")  # type: ignore[arg-type]
