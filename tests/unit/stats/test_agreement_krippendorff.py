from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.agreement import Scale, krippendorff_alpha

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


def by_item(vector: dict[str, Any]) -> list[tuple[int | None, ...]]:
    return list(zip(*vector["rows"], strict=True))


CASES = [(vector, scale) for vector in VECTORS["krippendorff"] for scale in vector if scale != "rows"]


@pytest.mark.parametrize(("vector", "scale"), CASES, ids=[f"{len(v['rows'])} raters {s}" for v, s in CASES])
def test_alpha_of_the_reference(vector: dict[str, Any], scale: Scale) -> None:
    assert krippendorff_alpha(by_item(vector), scale) == pytest.approx(vector[scale], rel=1e-14)


def test_the_ratio_scale_of_the_reference() -> None:
    assert krippendorff_alpha(by_item(VECTORS["krippendorff"][0]), "ratio") == pytest.approx(0.797403, abs=5e-7)


def test_two_labels_make_all_scales_alike() -> None:
    ratings = by_item(VECTORS["krippendorff"][1])
    for scale in ("ordinal", "interval", "ratio"):
        assert krippendorff_alpha(ratings, scale) == pytest.approx(krippendorff_alpha(ratings), rel=1e-14)


def test_labels_may_be_anything_on_a_nominal_scale() -> None:
    ratings = by_item(VECTORS["krippendorff"][1])
    labelled = [[{0: "fail", 1: "pass"}[rating] for rating in item if rating is not None] for item in ratings]
    assert krippendorff_alpha(labelled) == krippendorff_alpha(ratings)


def test_single_ratings_say_nothing() -> None:
    ratings = [(1, 1), (2, 2), (1, 2)]
    assert krippendorff_alpha([*ratings, (5, None), (None, None), ()], "interval") == krippendorff_alpha(
        ratings, "interval"
    )


def test_perfect_agreement_needs_variation() -> None:
    assert krippendorff_alpha([(1, 1), (2, 2)]) == 1.0
    assert krippendorff_alpha([(1, 1), (1, 1)]) is None
    assert krippendorff_alpha([(1, 1), (2, None)]) is None
    assert krippendorff_alpha([]) is None


def test_steady_disagreement_is_worse_than_chance() -> None:
    alpha = krippendorff_alpha([(0, 1), (1, 0), (0, 1)])
    assert alpha is not None
    assert alpha < 0


@pytest.mark.parametrize("scale", ["ordinal", "interval", "ratio"])
@pytest.mark.parametrize("ratings", [[("a", "b")], [(1, "b")], [(1.0, math.nan)], [(math.inf, 1)]])
def test_other_scales_need_numbers(scale: Scale, ratings: list[tuple[Any, Any]]) -> None:
    with pytest.raises(UsageError, match="must be numbers"):
        krippendorff_alpha(ratings, scale)


def test_a_ratio_scale_starts_at_zero() -> None:
    assert krippendorff_alpha([(0, 0), (0, 2), (2, 2)], "ratio") is not None
    with pytest.raises(UsageError, match="below 0"):
        krippendorff_alpha([(-1, 1), (1, 1)], "ratio")


def test_a_misspelt_scale_is_named_with_the_likely_one() -> None:
    with pytest.raises(UsageError, match="Did you mean 'ordinal'"):
        krippendorff_alpha([(1, 2)], "ordnal")  # type: ignore[arg-type]
