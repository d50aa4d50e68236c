from __future__ import annotations

import math
from itertools import product
from statistics import fmean, stdev

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sample_sizes import examples
from scipy import stats

from evalharness.stats.paired import paired_difference
from evalharness.stats.sign_flips import sign_flip

shares = st.tuples(st.integers(-8, 8), st.sampled_from([2, 3, 4, 5, 8])).map(lambda pair: pair[0] / pair[1] / 4)
scores = st.floats(-1, 1, allow_subnormal=False)


def enumerated(differences: list[float]) -> tuple[float, float]:
    observed = math.fsum(differences)
    sums = [
        math.fsum(sign * each for sign, each in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    less = sum(each <= observed + 1e-10 for each in sums) / len(sums)
    greater = sum(each >= observed - 1e-10 for each in sums) / len(sums)
    return less, greater


@examples(60)
@given(st.lists(shares, max_size=9) | st.lists(scores.filter(lambda each: abs(each) > 1e-6 or not each), max_size=9))
def test_sign_flip_agrees_with_enumeration(differences: list[float]) -> None:
    found = sign_flip(differences)
    assert (found.p_less, found.p_greater) == pytest.approx(enumerated(differences), abs=1e-9)
    assert found.seed is None


@examples(30)
@given(st.lists(st.integers(-6, 6).map(lambda eighths: eighths / 8), min_size=1, max_size=300))
def test_sign_flip_on_a_grid_agrees_with_counting_in_whole_numbers(differences: list[float]) -> None:
    ways = {0: 1}
    for difference in differences:
        step = round(difference * 8)
        summed: dict[int, int] = {}
        for total, count in ways.items():
            for each in (total - step, total + step):
                summed[each] = summed.get(each, 0) + count
        ways = summed
    observed, everything = round(sum(differences) * 8), 2 ** len(differences)
    less = sum(count for total, count in ways.items() if total <= observed) / everything
    greater = sum(count for total, count in ways.items() if total >= observed) / everything
    found = sign_flip(differences)
    assert (found.p_less, found.p_greater) == pytest.approx((less, greater), abs=1e-12)


@given(st.lists(shares, max_size=40))
def test_turning_all_signs_mirrors_the_answer(differences: list[float]) -> None:
    found, mirrored = sign_flip(differences), sign_flip([-each for each in differences])
    assert (found.p_less, found.p_greater) == pytest.approx((mirrored.p_greater, mirrored.p_less), abs=1e-12)


@given(st.lists(scores, min_size=2, max_size=60), st.floats(0.5, 0.999))
def test_the_interval_is_students(differences: list[float], level: float) -> None:
    assume(stdev(differences) > 1e-9)
    found = paired_difference(differences, level, span=math.inf)
    assert found is not None
    test = stats.ttest_1samp(differences, 0.0)
    interval = test.confidence_interval(level)
    assert (found.mean, found.low, found.high) == pytest.approx(
        (fmean(differences), interval.low, interval.high), rel=1e-9, abs=1e-9
    )
    one_sided = stats.ttest_1samp(differences, 0.0, alternative="greater").confidence_interval(level)
    assert found.lower_bound == pytest.approx(one_sided.low, rel=1e-9, abs=1e-9)


@given(st.lists(st.floats(-1, 0), min_size=2, max_size=60), st.floats(0.5, 0.999))
def test_losses_never_rule_out_more_than_no_change_does(losses: list[float], level: float) -> None:
    worse, same = paired_difference(losses, level), paired_difference([0.0] * len(losses), level)
    assert worse is not None
    assert same is not None
    assert worse.lower_bound <= same.lower_bound + 1e-12


@given(st.lists(st.tuples(scores, st.floats(0.01, 100)), min_size=1, max_size=40), st.floats(0.5, 0.999))
def test_bounds_contain_the_weighted_mean_and_stay_on_the_scale(cases: list[tuple[float, float]], level: float) -> None:
    found = paired_difference([each for each, _ in cases], level, [weight for _, weight in cases])
    assert found is not None
    mean = math.fsum(each * weight for each, weight in cases) / math.fsum(weight for _, weight in cases)
    assert found.mean == pytest.approx(mean, abs=1e-9)
    assert -1 <= found.low <= found.lower_bound <= 1
    assert found.low <= found.mean <= found.high <= 1
    assert found.low < found.high
