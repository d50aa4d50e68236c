from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.sign_flips import sign_flip

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


def uneven(count: int) -> list[float]:
    """Differences without a common grid."""
    return [math.sin(place * place) - 0.05 for place in range(1, count + 1)]


@pytest.mark.parametrize("vector", VECTORS["sign_flip"], ids=lambda vector: f"{len(vector['d'])} cases")
def test_reference(vector: dict[str, Any]) -> None:
    test = sign_flip(vector["d"])
    assert test.p_less == vector["p_less"]
    assert (test.method, test.n, test.seed) == ("sign-flip test, exact", 8, None)


def test_equal_sums_count_as_equal_whatever_floats_make_of_them() -> None:
    assert 0.1 + 0.2 != 0.3
    # Two of the 8 sums are really 0: 0.1 + 0.2 - 0.3 and its mirror image.
    assert sign_flip([0.1, 0.2, -0.3]).p_less == 5 / 8
    assert sign_flip([0.1, 0.2, -0.3]).p_greater == 5 / 8
    assert sign_flip([0.1 * math.pi, 0.2 * math.pi, -0.3 * math.pi]).p_less == 5 / 8


def test_twenty_uneven_differences_are_enumerated() -> None:
    test = sign_flip(uneven(20))
    assert (test.method, test.seed, test.error_bound) == ("sign-flip test, exact", None, 0.0)
    assert test.p_less * 2**20 == int(test.p_less * 2**20)


def test_more_uneven_differences_are_drawn_from_the_seed() -> None:
    test = sign_flip(uneven(21), seed=7)
    assert test == sign_flip(uneven(21), seed=7)
    assert test.p_less != sign_flip(uneven(21), seed=8).p_less
    assert (test.method, test.seed) == ("sign-flip test, 100,000 draws", 7)
    assert test.p_less + test.p_greater == pytest.approx(1, abs=1e-4)


def test_drawing_agrees_with_convolution() -> None:
    on_a_grid = [round(each, 1) for each in uneven(40)]
    exact = sign_flip(on_a_grid)
    drawn = sign_flip([*on_a_grid, 1e-9 * math.pi])
    assert (exact.method, drawn.method) == ("sign-flip test, exact", "sign-flip test, 100,000 draws")
    # Near ties are broken both ways, so half of the chance of the observed sum is missing on average.
    middle = (exact.p_less + 1 - exact.p_greater) / 2
    assert drawn.p_less == pytest.approx(middle, abs=0.01)


def test_draws_never_say_impossible() -> None:
    assert sign_flip([-math.sqrt(place) for place in range(2, 150)]).p_less == 1 / 100_001


def test_very_many_uneven_differences_follow_the_normal_law() -> None:
    test = sign_flip([-1.0, *uneven(400)])
    values = [-1.0, *uneven(400)]
    z = sum(values) / math.sqrt(sum(value * value for value in values))
    assert test.p_less == pytest.approx(0.5 * math.erfc(-z / math.sqrt(2)), rel=1e-9)
    assert (test.method, test.seed) == ("sign-flip test, normal law", None)


def test_many_cases_on_a_grid_are_still_exact() -> None:
    test = sign_flip([-0.25, 0.5, 0.75, -1.0, 0.0] * 400)
    assert (test.method, test.n, test.seed) == ("sign-flip test, exact", 1_600, None)
    assert test.error_bound < 1e-12


@pytest.mark.parametrize("values", [[], [0.0, 0.0]])
def test_no_change_is_not_an_alarm(values: list[float]) -> None:
    assert (sign_flip(values).p_less, sign_flip(values).p_greater, sign_flip(values).n) == (1.0, 1.0, 0)


def test_zeros_drop_out_and_the_scale_does_not_matter() -> None:
    values = [-0.25, 0.5, -0.75]
    assert sign_flip([*values, 0.0, 0.0]) == sign_flip(values)
    assert sign_flip([value * 1e307 for value in values]).p_less == sign_flip(values).p_less
    assert sign_flip([value * 1e-307 for value in values]).p_less == sign_flip(values).p_less


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_a_number_is_refused(bad: float) -> None:
    with pytest.raises(UsageError):
        sign_flip([0.5, bad])
