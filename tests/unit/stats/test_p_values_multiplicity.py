from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.p_values import benjamini_hochberg, holm

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["multiplicity"], ids=lambda vector: f"{len(vector['p'])} questions")
def test_reference(vector: dict[str, Any]) -> None:
    assert holm(vector["p"]) == pytest.approx(vector["holm"], rel=1e-13)
    assert benjamini_hochberg(vector["p"]) == pytest.approx(vector["bh"], rel=1e-13)


def test_the_textbook_set_keeps_two() -> None:
    assert sum(q <= 0.05 for q in benjamini_hochberg(VECTORS["multiplicity"][1]["p"])) == 2


def test_one_question_needs_no_adjustment_and_none_gives_none() -> None:
    assert holm([0.04]) == benjamini_hochberg([0.04]) == [0.04]
    assert holm([]) == benjamini_hochberg([]) == []


def test_no_adjusted_value_exceeds_one() -> None:
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert benjamini_hochberg([1.0, 1.0]) == [1.0, 1.0]


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_what_is_not_a_probability_is_refused(bad: float) -> None:
    with pytest.raises(UsageError):
        holm([0.5, bad])
    with pytest.raises(UsageError):
        benjamini_hochberg([0.5, bad])
