from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from evalharness.errors import UsageError
from evalharness.stats.stratified import smallest_p, stratified_exact

FIXTURES = Path(__file__).parents[2] / "fixtures"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((FIXTURES / "statistics-vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["stratified_exact"], ids=lambda vector: f"{len(vector['rows'])} cases")
def test_reference(vector: dict[str, Any]) -> None:
    assert stratified_exact(vector["rows"]).p_less == pytest.approx(vector["p_regression"], rel=1e-13)


def test_one_case_by_hand() -> None:
    # 4 of 4 before, 2 of 4 now: of the 28 ways to place 6 passes among 8 trials, 6 leave the new run 2 passes.
    drop = stratified_exact([(4, 4, 4, 2)])
    assert drop.p_less == pytest.approx(6 / 28, rel=1e-15)
    assert drop.p_greater == 1.0
    assert drop.method == "exact stratified permutation test"


def test_cases_that_cannot_show_a_change_drop_out() -> None:
    telling = [(4, 4, 4, 2), (4, 1, 4, 2)]
    silent = [(4, 4, 4, 4), (16, 0, 3, 0), (0, 0, 4, 1), (5, 3, 0, 0), (0, 0, 0, 0)]
    assert stratified_exact(telling + silent) == stratified_exact(telling)
    assert stratified_exact(telling).n == 2


@pytest.mark.parametrize("rows", [[], [(4, 4, 4, 4)], [(0, 0, 4, 1)]])
def test_nothing_to_learn_is_said_and_is_not_an_alarm(rows: list[tuple[int, int, int, int]]) -> None:
    nothing = stratified_exact(rows)
    assert (nothing.p_less, nothing.p_greater, nothing.n) == (1.0, 1.0, 0)
    assert "no case could show a change" in nothing.method


def test_many_trials_in_few_cases_and_many_cases_of_few_kinds_keep_the_error_negligible() -> None:
    deep = stratified_exact([(20_000, 18_000, 20_000, 17_900)])
    wide = stratified_exact([(4, 3, 4, 3), (4, 2, 4, 1), (1, 1, 1, 0), (1, 0, 1, 1)] * 5_000)
    assert 0 <= deep.error_bound < 1e-12
    assert 0 <= wide.error_bound < 1e-12
    assert deep.p_less == pytest.approx(stats.hypergeom.cdf(17_900, 40_000, 35_900, 20_000), rel=1e-9)
    assert wide.p_less < 1e-12


def test_an_overwhelming_drop_is_never_reported_as_impossible() -> None:
    drop = stratified_exact([(16, 16, 16, 0)] * 1_000)
    assert 0 < drop.p_less < 1e-18
    assert drop.p_less <= drop.error_bound
    assert drop.p_greater == 1.0


def test_the_order_of_cases_does_not_matter() -> None:
    rows = [(4, 4, 2, 0), (3, 2, 4, 1), (4, 3, 4, 3), (2, 2, 4, 2), (7, 1, 5, 3)]
    assert stratified_exact(rows) == stratified_exact(rows[::-1])


@pytest.mark.parametrize("row", [(4, 5, 4, 1), (4, 1, 4, 5), (4, -1, 4, 1), (-1, 0, 4, 1)])
def test_impossible_counts_are_refused(row: tuple[int, int, int, int]) -> None:
    with pytest.raises(UsageError, match="passes <= trials"):
        stratified_exact([row])


def test_four_single_trials_can_never_show_a_regression_and_five_can() -> None:
    assert smallest_p([(1, 1, 1)] * 4) == pytest.approx(0.0625)
    assert smallest_p([(1, 1, 1)] * 5) == pytest.approx(0.03125)
    assert smallest_p([(1, 1, 1)] * 4 + [(1, 0, 1)] * 100) == pytest.approx(0.0625)
    assert smallest_p([]) == 1.0


def test_smallest_p_is_the_p_value_of_the_worst_run() -> None:
    baseline = [(4, 4, 4), (4, 3, 2), (5, 1, 4)]
    worst = stratified_exact([(n_old, c_old, n_new, 0) for n_old, c_old, n_new in baseline])
    assert smallest_p(baseline) == pytest.approx(worst.p_less, rel=1e-12)
    assert smallest_p([(1_000, 900, 1_000)] * 9) >= 0.0


@pytest.mark.parametrize("case", [(1, 1, 1), (3, 3, 3), (4, 4, 4), (4, 3, 2), (19, 1, 1)])
@pytest.mark.parametrize("repeats", [1, 2, 5])
def test_smallest_p_is_not_rounded_above_the_test(case: tuple[int, int, int], repeats: int) -> None:
    """One case that falls from 3 of 3 to 0 of 3 has p = 1/20, which is just rare enough for 0.05."""
    assert smallest_p([case] * repeats) == stratified_exact([(*case, 0)] * repeats).p_less


def test_smallest_p_refuses_impossible_counts() -> None:
    with pytest.raises(UsageError):
        smallest_p([(4, 5, 4)])
    with pytest.raises(UsageError):
        smallest_p([(4, 4, -1)])
