from __future__ import annotations

import math
from itertools import product

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from evalharness.stats.paired import mcnemar_exact
from evalharness.stats.stratified import smallest_p, stratified_exact

Row = tuple[int, int, int, int]


@st.composite
def cases(draw: st.DrawFn, most_trials: int = 20) -> Row:
    n_old, n_new = draw(st.integers(0, most_trials)), draw(st.integers(1, most_trials))
    return n_old, draw(st.integers(0, n_old)), n_new, draw(st.integers(0, n_new))


@given(cases(400))
def test_one_case_is_fishers_exact_test(row: Row) -> None:
    n_old, c_old, n_new, c_new = row
    law = stats.hypergeom(n_old + n_new, c_old + c_new, n_new)
    found = stratified_exact([row])
    assert found.p_less == pytest.approx(law.cdf(c_new), abs=1e-9)
    assert found.p_greater == pytest.approx(law.sf(c_new - 1), abs=1e-9)


@given(st.lists(cases(5), max_size=4))
def test_few_cases_agree_with_enumeration(rows: list[Row]) -> None:
    laws = [
        {
            c: math.comb(n_new, c) * math.comb(n_old, c_old + c_new - c) / math.comb(n_old + n_new, c_old + c_new)
            for c in range(max(0, c_old + c_new - n_old), min(n_new, c_old + c_new) + 1)
        }
        for n_old, c_old, n_new, c_new in rows
    ]
    chances: dict[int, float] = {}
    for drawn in product(*laws):
        chance = math.prod(law[c] for law, c in zip(laws, drawn, strict=True))
        chances[sum(drawn)] = chances.get(sum(drawn), 0.0) + chance
    observed = sum(row[3] for row in rows)
    found = stratified_exact(rows)
    less = math.fsum(chance for total, chance in chances.items() if total <= observed)
    greater = math.fsum(chance for total, chance in chances.items() if total >= observed)
    assert (found.p_less, found.p_greater) == pytest.approx((less, greater), abs=1e-12)


@given(st.lists(st.tuples(cases(), st.integers(1, 12)), min_size=1, max_size=12))
def test_many_cases_agree_with_plain_convolution(rows_with_repeats: list[tuple[Row, int]]) -> None:
    rows = [row for row, repeats in rows_with_repeats for _ in range(repeats)]
    law = numpy.ones(1)
    for (n_old, c_old, n_new, c_new), repeats in rows_with_repeats:
        one = stats.hypergeom.pmf(range(n_new + 1), n_old + n_new, c_old + c_new, n_new)
        for _ in range(repeats):
            law = numpy.convolve(law, one)
    observed = sum(row[3] for row in rows)
    found = stratified_exact(rows)
    assert found.p_less == pytest.approx(math.fsum(law[: observed + 1]), abs=1e-9)
    assert found.p_greater == pytest.approx(math.fsum(law[observed:]), abs=1e-9)
    assert found.error_bound <= 1e-12


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 9), st.integers(0, 9))
def test_one_trial_per_side_is_mcnemars_test(worse: int, better: int, both: int, neither: int) -> None:
    rows = [(1, 1, 1, 0)] * worse + [(1, 0, 1, 1)] * better + [(1, 1, 1, 1)] * both + [(1, 0, 1, 0)] * neither
    found, same = stratified_exact(rows), mcnemar_exact(worse, better)
    assert (found.p_less, found.p_greater, found.n) == pytest.approx((same.p_less, same.p_greater, same.n), abs=1e-12)
    if worse + better:
        want = stats.binomtest(worse, worse + better, alternative="greater").pvalue
        assert same.p_less == pytest.approx(want, abs=1e-9)
        table = [[both, worse], [better, neither]]
        two_sided = min(1.0, 2 * min(same.p_less, same.p_greater))
        assert two_sided == pytest.approx(mcnemar(table, exact=True).pvalue, abs=1e-9)


@given(st.lists(cases(), max_size=30))
def test_swapping_the_runs_mirrors_the_answer(rows: list[Row]) -> None:
    found = stratified_exact(rows)
    swapped = stratified_exact([(n_new, c_new, n_old, c_old) for n_old, c_old, n_new, c_new in rows])
    assert (found.p_less, found.p_greater) == pytest.approx((swapped.p_greater, swapped.p_less), abs=1e-12)
    assert found.p_less + found.p_greater >= 1


@given(st.lists(cases(6), min_size=1, max_size=10))
def test_no_result_beats_the_smallest_p(rows: list[Row]) -> None:
    baseline = [(n_old, c_old, n_new) for n_old, c_old, n_new, _ in rows]
    worst = stratified_exact([(n_old, c_old, n_new, 0) for n_old, c_old, n_new in baseline])
    assert smallest_p(baseline) == pytest.approx(worst.p_less, rel=1e-9, abs=1e-15)
