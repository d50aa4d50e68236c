"""How many cases and trials show a drop: published figures, and what each kind of earlier run allows to say."""

from __future__ import annotations

import math

import pytest
from scipy.stats import nct
from scipy.stats import t as student

from evalharness.engine.planning.sample_size import (
    Known,
    WantedEffect,
    cases_needed,
    make_plan,
    seen_on_others,
    seen_on_these,
    spread_of,
    trials_needed,
)
from evalharness.errors import UsageError
from evalharness.stats.student import normal_quantile

AIRLINE = [(4, passed) for passed, cases in enumerate((14, 12, 10, 4, 10)) for _ in range(cases)]
FIVE_POINTS = WantedEffect(0.05)


@pytest.mark.parametrize(("cases", "trials", "drop"), [(50, 4, 9.8), (200, 4, 4.8), (200, 16, 2.4)])
def test_the_airline_run_shows_these_drops(cases: int, trials: int, drop: float) -> None:
    seen = seen_on_these(Known(AIRLINE), cases, trials, FIVE_POINTS).high
    assert 100 * (seen or 0) == pytest.approx(drop, abs=0.05)


def test_what_a_run_with_several_trials_reports_is_measured() -> None:
    spread = spread_of(AIRLINE)
    assert (spread.basis, spread.within, spread.between) == (
        "measured",
        pytest.approx(0.1467, abs=5e-5),
        pytest.approx(0.0997, abs=5e-5),
    )


def test_one_trial_per_case_gives_a_bound() -> None:
    spread = spread_of([(1, 1)] * 9 + [(1, 0)])
    assert (spread.basis, spread.within, spread.between) == ("bound", pytest.approx(0.09), None)


def test_one_trial_per_case_that_all_pass_does_not_promise_that_nothing_varies() -> None:
    assert spread_of([(1, 1)] * 20).within > 0


def test_without_a_run_the_worst_is_assumed() -> None:
    spread = spread_of([])
    assert (spread.basis, spread.within) == ("assumed", 0.25)
    assert (seen_on_these(Known(), 50, 4, FIVE_POINTS).high or 0) > (
        seen_on_these(Known(AIRLINE), 50, 4, FIVE_POINTS).high or 1
    )


@pytest.mark.parametrize("trials", [1, 2, 3, 8])
def test_an_unknown_split_is_planned_for_no_better_than_any_split_could_be(trials: int) -> None:
    """One trial per case shows only the sum of what cases and chance contribute."""
    unknown, total = spread_of([(1, 1)] * 3 + [(1, 0)]), 0.1875
    planned = seen_on_others(unknown, 100, trials, FIVE_POINTS)
    for part in (0.0, 0.25, 0.5, 1.0):
        known = unknown.model_copy(update={"within": total * (1 - part), "between": total * part})
        assert seen_on_others(known, 100, trials, FIVE_POINTS) <= planned + 1e-12


def test_the_trials_needed_are_the_fewest_that_show_it() -> None:
    known = Known(AIRLINE)
    needed = trials_needed(known, 50, FIVE_POINTS)
    assert needed == 15
    enough, too_few = (seen_on_these(known, 50, trials, FIVE_POINTS).high for trials in (needed, needed - 1))
    assert (enough or 1) <= 0.05 < (too_few or 0)


def by_normal_law(effect: float, variance: float) -> int:
    """How many cases show this drop, one-sided, if each case's difference has this variance."""
    return math.ceil(variance * ((normal_quantile(0.95) + normal_quantile(0.8)) / effect) ** 2)


@pytest.mark.parametrize("trials", [1, 4, math.inf])
def test_the_cases_needed_are_those_of_a_one_sided_paired_test(trials: float) -> None:
    """For Student's test: a few cases more than with the normal distribution."""
    spread = spread_of(AIRLINE)
    between, within = spread.between or 0.0, spread.within
    expected = by_normal_law(0.05, between + 2 * within / trials)
    assert expected < cases_needed(spread, trials, FIVE_POINTS) <= expected + 3


@pytest.mark.parametrize("trials", [1, 4, 16])
@pytest.mark.parametrize("effect", [0.3, 0.45, 0.6])
def test_very_few_cases_are_planned_by_students_law(effect: float, trials: int) -> None:
    """Its test with the needed cases finds the drop as often as required; the normal distribution needs too few."""
    spread, wish = spread_of([(3, 3)] * 5), WantedEffect(effect)
    needed = cases_needed(spread, trials, wish)
    error = math.sqrt(((spread.between or 0.0) + 2 * spread.within / trials) / needed)
    reach = nct.sf(student.ppf(0.95, needed - 1), needed - 1, effect / error)
    assert reach >= 0.8
    assert needed > by_normal_law(effect, spread.between or 0.0)


def test_one_case_says_nothing_about_others() -> None:
    assert cases_needed(spread_of([(3, 3)] * 1000), 16, WantedEffect(1.0)) > 1


def test_a_drop_that_the_pass_rate_does_not_allow_is_none_that_could_be_seen() -> None:
    """One case that passed three of six trials cannot drop by 86 points, and hardly by more than 40."""
    plan = make_plan("s", 1, 6, Known([(6, 3)]), WantedEffect(0.5))
    seen = {row.trials: row.detectable for row in plan.rows}
    assert seen[6] is None
    assert seen[32] == pytest.approx(0.345, abs=0.005)
    assert not make_plan("s", 1, 6, Known([(6, 3)]), WantedEffect(0.5), is_chosen=True).is_reasonable


def test_a_drop_that_is_impossible_is_not_reasonable_to_plan_for() -> None:
    plan = make_plan("s", 50, 4, Known([(4, 0)] * 49 + [(4, 1)]), FIVE_POINTS)
    assert (plan.recommended.detectable, plan.is_possible, plan.is_reasonable) == (None, False, False)


def test_where_cases_hardly_differ_trials_are_as_good_as_cases() -> None:
    """Then there is no number of trials after which cases should be added instead."""
    alike = [(4, passed) for passed, cases in enumerate((350, 1400, 2000, 1400, 350)) for _ in range(cases)]
    plan = make_plan("s", 10_000, 4, Known(alike), FIVE_POINTS)
    assert plan.spread.between
    assert plan.enough_trials is None
    assert make_plan("s", 50, 4, Known(AIRLINE), FIVE_POINTS).enough_trials == 6


def test_a_suite_without_any_variation_still_needs_the_evidence_a_test_needs() -> None:
    """Five trials that change from pass to fail: with 20 cases and one trial each, 5 points are one of them."""
    known = Known([(3, 3)] * 20)
    assert (seen_on_these(known, 20, 1, FIVE_POINTS).high or 0) > 0.25
    assert 20 * trials_needed(known, 20, FIVE_POINTS) > 100


@pytest.mark.parametrize("counts", [[(3, 3)] * 5, [(3, 0)] * 5, [(4, 2)] * 5], ids=["pass", "fail", "alike"])
def test_that_few_cases_are_alike_does_not_prove_that_others_are(counts: list[tuple[int, int]]) -> None:
    spread = spread_of(counts)
    assert spread.is_smoothed
    needed = cases_needed(spread, 16, FIVE_POINTS)
    assert needed > 280
    assert cases_needed(spread_of(counts * 40), 16, FIVE_POINTS) < needed / 2, "many similar clusters say more"


def test_what_cases_are_seen_to_differ_by_is_taken_as_it_is() -> None:
    assert not spread_of(AIRLINE).is_smoothed


# Four clusters of five cases each, which differ only between clusters.
CLUSTERED = [(4, passed) for passed in (4, 3, 1, 0) for _ in range(5)]
CLUSTERS = [f"cluster {number}" for number in range(4) for _ in range(5)]


def test_clusters_are_what_differs_and_what_is_needed() -> None:
    plan = make_plan("s", 20, 4, Known(CLUSTERED, CLUSTERS), FIVE_POINTS, clusters=4)
    alone = make_plan("s", 20, 4, Known(CLUSTERED), FIVE_POINTS)
    assert 100 * (plan.error_at_best or 0) == pytest.approx(22.5, abs=0.05)
    assert 100 * (alone.error_at_best or 0) == pytest.approx(8.2, abs=0.05)
    between, within = plan.spread.between or 0.0, plan.spread.within / 5
    expected = by_normal_law(0.05, between + 2 * within / 4)
    assert expected < plan.rows[2].cases_needed <= expected + 3


def test_too_few_clusters_show_no_drop_however_often_they_are_tried() -> None:
    few = make_plan("s", 20, 4, Known(CLUSTERED, CLUSTERS), FIVE_POINTS, clusters=4)
    assert {row.detectable for row in few.rows} == {None}
    assert (few.recommended.trials, few.is_reasonable) == (4, False)
    enough = make_plan("s", 30, 4, Known(CLUSTERED, CLUSTERS), FIVE_POINTS, clusters=6)
    assert enough.recommended.detectable is not None
    assert enough.is_reasonable
    alone = make_plan("s", 30, 4, Known(CLUSTERED), FIVE_POINTS)
    assert enough.recommended.trials > 1.5 * alone.recommended.trials, "six clusters estimate their own variance badly"


def test_one_cluster_of_most_cases_shows_less_than_even_ones() -> None:
    """The test flips it as a whole, so it alone decides."""
    counts = [(4, 3)] * 40
    even = Known(counts, [f"k{n % 11}" for n in range(40)])
    uneven = Known(counts, ["big"] * 30 + [f"k{n}" for n in range(10)])
    seen = [seen_on_these(known, 40, 4, FIVE_POINTS, 11).high or 0 for known in (even, uneven)]
    assert seen[1] > 1.5 * seen[0]


def test_of_uneven_clusters_more_are_needed() -> None:
    """A comparison weights them by their cases: three of four hardly count."""
    even, uneven = (
        spread_of(
            [(4, 4 * (n % 2)) for n in range(48)], [f"k{n}" for n, size in enumerate(sizes * 4) for _ in range(size)]
        )
        for sizes in ((3, 3, 3, 3), (9, 1, 1, 1))
    )
    assert (even.evenness, uneven.evenness) == (1.0, pytest.approx(144 / 84 / 4))
    alike = uneven.model_copy(update={"within": 0.0, "between": 0.05})
    needed = cases_needed(alike, 4, WantedEffect(0.1))
    expected = by_normal_law(0.1, 0.05 / uneven.evenness)
    assert expected < needed <= expected + 3
    assert cases_needed(alike.model_copy(update={"evenness": 1.0}), 4, WantedEffect(0.1)) < needed / 2


def test_cases_that_are_their_own_clusters_are_planned_as_cases() -> None:
    assert spread_of(AIRLINE, [f"case {number}" for number in range(50)]) == spread_of(AIRLINE)


def test_one_cluster_gives_a_bound() -> None:
    spread = spread_of(CLUSTERED, ["cluster 1"] * 20)
    assert (spread.basis, spread.within, spread.between) == ("bound", pytest.approx(0.25), None)


def test_the_plan_shows_doubling_trials_and_the_cheapest_that_suffices() -> None:
    plan = make_plan("airline", 50, 4, Known(AIRLINE, cost_usd=0.01, duration_s=2.0), FIVE_POINTS)
    assert [row.trials for row in plan.rows] == [1, 2, 4, 8, 15, 16]
    assert (plan.recommended.trials, plan.recommended.run_trials, plan.is_reasonable) == (15, 750, True)
    assert plan.recommended.cost_usd == pytest.approx(7.5)
    assert plan.recommended.duration_s == pytest.approx(1500)


def test_the_plan_says_from_when_on_only_more_cases_help() -> None:
    """σ²/K < ω²/4 from K = 6 on: with infinitely many trials, the standard error of the airline run stays at .045."""
    plan = make_plan("airline", 50, 4, Known(AIRLINE), FIVE_POINTS)
    assert plan.enough_trials == 6
    assert plan.error_at_best == pytest.approx(0.045, abs=5e-4)
    assert plan.cases_at_best == 250


def test_a_plan_that_would_take_hundreds_of_trials_per_case_is_not_reasonable() -> None:
    plan = make_plan("airline", 50, 4, Known(AIRLINE), WantedEffect(0.01))
    assert not plan.is_reasonable
    assert plan.recommended.trials > 100
    assert max(row.trials for row in plan.rows) <= 128


def test_a_drop_too_small_to_ever_be_seen_is_refused() -> None:
    with pytest.raises(UsageError, match="a drop this small"):
        make_plan("airline", 50, 4, Known(AIRLINE), WantedEffect(1e-5))


@pytest.mark.parametrize(("cases", "trials", "can"), [(4, 1, False), (5, 1, True), (1, 2, False), (1, 3, True)])
def test_a_design_that_the_exact_test_cannot_fail_shows_no_drop(cases: int, trials: int, can: bool) -> None:
    """Four flips occur in 1 of 16 runs by chance; three trials of one case in 1 of 20."""
    assert (seen_on_these(Known([(30, 30)] * cases), cases, trials, WantedEffect(1.0)).high is not None) is can


def test_a_test_that_can_fail_may_still_be_too_small_for_the_power_asked_for() -> None:
    """With five cases that pass half the time, the baseline seldom passes all, so all failing is seldom found."""
    assert seen_on_these(Known(), 5, 1, WantedEffect(1.0)).high is None


def test_a_design_that_can_never_show_a_loss_is_not_advised() -> None:
    plan = make_plan("s", 4, 1, Known([(1, 1)] * 4), WantedEffect(1.0))
    assert plan.rows[0].detectable is None
    assert (plan.recommended.trials, plan.rows[0].cases_needed) == (2, 6)
    assert not make_plan("s", 4, 1, Known([(1, 1)] * 4), WantedEffect(1.0), is_chosen=True).is_reasonable


def test_a_run_of_one_trial_per_case_plans_for_ranges_and_advises_for_their_upper_end() -> None:
    """Cases may be alike, or each may always pass or always fail: a drop is then much easier to see."""
    plan = make_plan("s", 50, 1, Known([(1, 1)] * 40 + [(1, 0)] * 10), WantedEffect(0.1))
    assert plan.detectable_unknown == "spread"
    assert all((row.detectable_from or 1) < 0.7 * (row.detectable or 0) for row in plan.rows)
    assert plan.is_reasonable
    assert (plan.recommended.detectable or 1) <= 0.1


def test_a_run_with_enough_trials_plans_for_one_number() -> None:
    plan = make_plan("airline", 50, 4, Known(AIRLINE), FIVE_POINTS)
    assert plan.detectable_unknown == ""
    assert {row.detectable_from for row in plan.rows} == {None}
