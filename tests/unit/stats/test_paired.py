from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.stats.p_values import PValues
from evalharness.stats.paired import PairedDifference, mcnemar_exact, paired_difference

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


def difference(differences: list[float], **options: Any) -> PairedDifference:
    result = paired_difference(differences, **options)
    assert result is not None
    return result


def two_sided(test: PValues) -> float:
    return min(1.0, 2 * min(test.p_less, test.p_greater))


@pytest.mark.parametrize("vector", VECTORS["mcnemar_exact"], ids=str)
def test_mcnemar_reference(vector: dict[str, Any]) -> None:
    test = mcnemar_exact(vector["old_pass_new_fail"], vector["old_fail_new_pass"])
    found = [test.p_less, two_sided(test)]
    assert found == pytest.approx(vector["one_sided_and_two_sided"], rel=1e-13)
    assert test.n == vector["old_pass_new_fail"] + vector["old_fail_new_pass"]


def test_mcnemar_mirrors() -> None:
    worse, better = mcnemar_exact(10, 2), mcnemar_exact(2, 10)
    assert (worse.p_less, worse.p_greater) == (better.p_greater, better.p_less)
    assert two_sided(mcnemar_exact(3, 3)) == 1.0


def test_mcnemar_without_changes_is_not_an_alarm() -> None:
    assert (mcnemar_exact(0, 0).p_less, mcnemar_exact(0, 0).p_greater) == (1.0, 1.0)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(UsageError):
        mcnemar_exact(-1, 3)


def test_difference_by_hand() -> None:
    # mean -0.2, sd 0.3291403, t(9) 2.2621572 and 1.8331129
    found = difference([-0.25, -0.5, 0, 0.25, -0.75, -0.25, 0, -0.5, -0.25, 0.25], span=math.inf)
    assert found.mean == pytest.approx(-0.2)
    assert (found.low, found.high) == pytest.approx((-0.43545278, 0.03545278), abs=1e-8)
    assert found.lower_bound == pytest.approx(-0.39079644, abs=1e-8)
    assert (found.level, found.n, found.method) == (0.95, 10, "Student's t over cases")


@pytest.mark.parametrize("value", [0.0, 0.1, -0.3, 1 / 3])
def test_equal_differences_keep_a_margin(value: float) -> None:
    found = difference([value] * 9 + [math.nextafter(value, 1)])
    margin = 1 - 0.05**0.1
    assert (found.low, found.high) == pytest.approx((value - margin, value + margin), rel=1e-12)
    assert found.lower_bound == pytest.approx(value - margin, rel=1e-12)
    assert "equal differences" in found.method


def test_one_case_that_differs_makes_the_others_no_surer() -> None:
    same, one_worse = difference([0.0] * 40), difference([0.0] * 39 + [-0.5])
    margin = 1 - 0.05 ** (1 / 40)
    assert same.lower_bound == pytest.approx(-margin)
    # Student's bound would be -0.0336, above that of forty cases that did not change at all.
    assert one_worse.lower_bound == pytest.approx(-0.0125 - margin)
    assert (one_worse.low, one_worse.high) == pytest.approx((-0.0125 - margin, -0.0125 + margin))
    assert one_worse.method == "least margin of so few cases, wider than Student's t"
    half = difference([-1.0, 1.0] * 20)
    assert half.method == "Student's t over cases"


def test_the_method_is_that_of_the_interval_where_only_the_one_sided_bound_is_widened() -> None:
    differences = [-1.0] * 3 + [0.0] * 27
    found, plain = difference(differences), difference(differences, span=math.inf)
    assert (found.low, found.high) == (plain.low, plain.high)
    assert found.lower_bound == pytest.approx(found.mean - (1 - 0.05 ** (1 / 30)))
    assert found.method == ("Student's t over cases (one-sided bound: least margin of so few cases)")


def test_the_margin_of_equal_differences_follows_level_and_scale() -> None:
    assert difference([0.0] * 30, level=0.9).high == pytest.approx(1 - 0.1 ** (1 / 30))
    assert difference([0.0] * 30, span=100).high == pytest.approx(100 * (1 - 0.05 ** (1 / 30)))


def test_without_a_scale_equal_differences_leave_open_a_step_of_one_or_of_their_own_size() -> None:
    margin = 1 - 0.05 ** (1 / 30)
    same, far = difference([0.0] * 30, span=math.inf), difference([-4.0] * 30, span=math.inf)
    assert (same.low, same.high, same.lower_bound) == pytest.approx((-margin, margin, -margin))
    assert (far.low, far.high, far.lower_bound) == pytest.approx((-4 - 4 * margin, -4 + 4 * margin, -4 - 4 * margin))


def test_a_single_case_leaves_everything_open() -> None:
    found = difference([-0.25])
    assert (found.mean, found.low, found.high, found.lower_bound) == (-0.25, -1.0, 1.0, -1.0)
    assert "single case" in found.method
    assert difference([3.0], span=math.inf).low == -math.inf


def test_agreeing_cases_leave_open_what_as_many_of_equal_weights_would() -> None:
    heavy = difference([0.0] * 60, weights=[600.0] + [1.0] * 59)
    as_many = 659**2 / (600**2 + 59)
    assert heavy.high == pytest.approx(1 - 0.05 ** (1 / as_many))
    assert heavy.high > 0.9
    assert difference([0.0] * 59 + [-1.0], weights=[600.0] + [1.0] * 59).lower_bound < -0.9


def test_no_bound_leaves_the_scale() -> None:
    found = difference([1.0, 1.0, -1.0])
    assert (found.low, found.high, found.lower_bound) == (-1.0, 1.0, -1.0)
    assert difference([1.0, 1.0, -1.0], span=math.inf).lower_bound < -1.0


def test_no_cases_have_no_difference() -> None:
    assert paired_difference([]) is None


def test_weights_of_one_change_nothing_and_a_heavy_case_pulls_the_mean() -> None:
    values = [-0.5, 0.0, 0.25, 0.25]
    assert difference(values, weights=[1.0] * 4) == difference(values)
    assert difference(values, weights=[7.0] * 4) == difference(values)
    heavy = difference(values, weights=[5.0, 1, 1, 1])
    assert heavy.mean == pytest.approx(-0.25)
    assert heavy.high - heavy.low > difference(values).high - difference(values).low


@pytest.mark.parametrize(
    ("values", "options"),
    [
        ([0.1, math.nan], {}),
        ([0.1, math.inf], {"span": math.inf}),
        ([0.1, 1.5], {}),
        ([0.1], {"level": 1.0}),
        ([0.1], {"level": 0.0}),
        ([0.1], {"span": 0.0}),
        ([0.1], {"weights": [1.0, 1.0]}),
        ([0.1, 0.2], {"weights": [1.0, 0.0]}),
    ],
)
def test_bad_input_is_refused(values: list[float], options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        paired_difference(values, **options)
