"""What can be concluded from cases, or clusters of them, with different weights."""

from __future__ import annotations

import pytest
from compared import case, report

from evalharness.domain.comparison import Difference
from evalharness.domain.gate import RegressionRule
from evalharness.domain.measurement import Measurement
from evalharness.engine.comparing.comparison import compare
from evalharness.engine.verifying.verified_report import verify_cases
from evalharness.reports.words.say import say

JITTER = (0.02, -0.02, 0.01, -0.01)


def score_after(drop: float, *, before: float = 0.9, number: int = 20) -> Difference:
    """All cases fell by the same amount, with some noise; half of them weigh ten times as much as the others."""
    old = [case(f"c{n}", 4, 2, score=before, weight=1 + 9 * (n % 2)) for n in range(number)]
    new = [case(f"c{n}", 4, 2, score=before - drop + JITTER[n // 2 % 4], weight=1 + 9 * (n % 2)) for n in range(number)]
    return compare(report(*old), report(*new), RegressionRule()).differences["score"]


@pytest.mark.parametrize("drop", [0.05, 0.3, 0.6])
def test_what_can_be_shown_does_not_depend_on_the_drop_that_was_found(drop: float) -> None:
    assert score_after(drop).detectable == pytest.approx(score_after(0.0).detectable)


def test_clusters_of_unequal_size_that_break_as_one_show_a_drop() -> None:
    sizes = (1, 1, 1, 1, 2, 2, 6, 10)
    ids = [(f"c{k}-{n}", f"k{k}") for k, size in enumerate(sizes) for n in range(size)]
    old = report(*(case(each, 4, 4, cluster=cluster) for each, cluster in ids))
    new = report(*(case(each, 4, 2, cluster=cluster) for each, cluster in ids))
    found = compare(old, new, RegressionRule())
    assert found.verdict == "REGRESSION"
    assert found.differences["pass_rate"].detectable is not None


def test_scores_that_one_run_lacks_are_named_and_never_no_regression() -> None:
    old = [case(f"c{n}", 4, 4, score=0.9 + n % 3 / 100) for n in range(200)]
    new = [case(f"c{n}", 4, 4, score=None if n < 60 else 0.9 + n % 3 / 100) for n in range(200)]
    found = compare(report(*old), report(*new), RegressionRule(metrics=("score",)))
    assert found.verdict == "INCONCLUSIVE"
    assert say(found.why) == (
        "scores of 60 cases are reported by one run only (c0, c1, c2, c3, c4 and 55 more); "
        "in the others the score is the same as before (91 %)"
    )
    assert say(found.settle) == "these cases need a score in both runs"


def test_where_no_score_is_reported_any_more_nothing_is_ruled_out() -> None:
    old = [case(f"c{n}", 4, 4, score=0.9) for n in range(200)]
    new = [case(f"c{n}", 4, 4, score=None) for n in range(200)]
    found = compare(report(*old), report(*new), RegressionRule())
    assert found.verdict == "INCONCLUSIVE"
    assert say(found.why).startswith("scores of 200 cases are reported by one run only")


@pytest.mark.parametrize(("metric", "name"), [("score", "score"), ("cost", "cost_usd")])
def test_judged_trials_without_a_figure_may_hide_a_loss(metric: str, name: str) -> None:
    same = report(*(case(f"c{n}", 4, 4, score=0.9, cost_usd=0.5) for n in range(200)))
    lacking = same.model_copy(update={"measurements": {name: Measurement(value=0.9, lacking=30)}})
    rule = RegressionRule(metrics=(metric,))
    assert compare(same, same, rule).verdict == "NO REGRESSION"
    found = compare(same, lacking, rule)
    assert found.verdict == "INCONCLUSIVE" and say(found.why).startswith("30 judged trials of the two runs have no")
    assert say(found.settle) == f"all judged trials of both runs need a {metric}"


def test_only_trials_of_cases_that_are_compared_can_hide_a_loss() -> None:
    cases = [case(f"c{n}", 4, 4, score=0.9, cost_usd=0.5) for n in range(200)]
    lacks = case("held", 4, 4, score=0.9, cost_usd=0.5, unscored=1, least_score=0.7, unpriced=2)
    measurements = {"score": Measurement(value=0.9, lacking=1), "cost_usd": Measurement(value=0.5, lacking=2)}
    new = report(*cases, lacks).model_copy(update={"measurements": measurements})
    rule = RegressionRule(metrics=("score", "cost"))
    left_out = compare(report(*cases, lacks), new, rule, ignored={"held"})
    assert left_out.verdict == "NO REGRESSION"
    found = compare(report(*cases, case("held", 4, 4, score=0.9, cost_usd=0.5)), new, rule).differences
    assert (found["score"].lacking, found["cost"].lacking) == (1, 2)
    assert (found["score"].verdict, found["cost"].verdict) == ("INCONCLUSIVE", "INCONCLUSIVE")


def test_what_one_run_lacks_is_not_a_loss_of_the_other() -> None:
    """Half of the cases look better, or cheaper, before: some of their trials were reported only in part."""
    half = {"unscored": 2, "least_score": 0.4, "unpriced": 2}
    old = [
        case(f"c{n}", 4, 4, score=1.0, cost_usd=0.2, **half) if n % 2 else case(f"c{n}", 4, 4, score=0.8, cost_usd=0.5)
        for n in range(60)
    ]
    new = report(*(case(f"c{n}", 4, 4, score=0.8, cost_usd=0.5) for n in range(60)))
    lacking = {"score": Measurement(value=0.9, lacking=60), "cost_usd": Measurement(value=0.4, lacking=60)}
    rule = RegressionRule(metrics=("score", "cost"))
    found = compare(report(*old).model_copy(update={"measurements": lacking}), new, rule)
    assert found.verdict == "INCONCLUSIVE"
    assert say(found.why).startswith(
        "scores of 30 cases are incomplete in one of the runs (c1, c3, c5, c7, c9 and 25 more)"
    )
    for difference in (found.differences["score"], found.differences["cost"]):
        assert (difference.n_cases, difference.value, len(difference.incomparable)) == (30, 0.0, 30)


def test_a_case_that_lacks_a_part_of_its_score_is_listed_by_its_passes_alone() -> None:
    lacks = {"unscored": 1, "least_score": 0.7}
    old = report(case("a", 4, 4, score=1.0, **lacks), case("b", 4, 4, score=1.0, **lacks), case("c", 4, 4, score=1.0))
    new = report(case("a", 4, 4, score=0.8), case("b", 4, 3, score=0.8), case("c", 4, 4, score=0.8))
    found = {change.case_id: change for change in compare(old, new, RegressionRule()).cases}
    assert set(found) == {"b", "c"}
    assert (found["b"].old_score, found["c"].old_score) == (None, 1.0)


@pytest.mark.parametrize("metric", ["score", "cost"])
def test_what_differs_only_by_how_it_was_added_up_is_no_change(metric: str) -> None:
    """0.1 + 0.2 is not 0.3: sums of different lengths differ in their last bit."""
    old = report(*(case(f"c{n}", 4, 2, score=0.3, cost_usd=0.3) for n in range(12)))
    new = report(*(case(f"c{n}", 4, 2, score=0.1 + 0.2, cost_usd=0.1 + 0.2) for n in range(12)))
    found = compare(old, new, RegressionRule(metrics=(metric,))).differences[metric]
    assert "no case changed" in found.method
    assert found.detectable is not None and found.detectable > 0.05


def test_a_loss_of_the_cases_that_lack_nothing_is_one() -> None:
    old = [case(f"c{n}", 4, 4, score=0.9) for n in range(60)]
    new = [case(f"c{n}", 4, 4, score=0.6) for n in range(59)]
    lacks = case("c59", 4, 4, score=1.0, unscored=1, least_score=0.7)
    lacking = {"score": Measurement(value=0.6, lacking=1)}
    found = compare(report(*old), report(*new, lacks).model_copy(update={"measurements": lacking}), RegressionRule())
    assert found.verdict == "REGRESSION"
    assert found.differences["score"].n_cases == 59


def test_a_case_that_weighs_nothing_lacks_no_score() -> None:
    cases = [case(f"c{n}", 4, 4, score=0.9) for n in range(200)]
    bare = case("bare", 4, 4, score=0.9, weight=0.0, unscored=4, least_score=0.0)
    assert say(compare(report(*cases, bare), report(*cases, bare), RegressionRule(metrics=("score",))).settle) == ""


def test_what_weighs_nothing_does_not_say_which_others_lack_a_score() -> None:
    """Two trials have no score, and no case in the score says that they are its own."""
    cases = [case(f"c{n}", 4, 4, score=0.9) for n in range(200)]
    bare = case("bare", 4, 4, score=0.9, weight=0.0, unscored=4, least_score=0.0)
    new = report(*cases, bare).model_copy(update={"measurements": {"score": Measurement(value=0.9, lacking=2)}})
    found = compare(report(*cases, bare), new, RegressionRule(metrics=("score",)))
    assert (found.differences["score"].lacking, found.verdict) == (2, "INCONCLUSIVE")


def test_what_trials_lack_does_not_hide_that_a_loss_may_be_chance() -> None:
    old = [case(f"c{n}", 4, 4, score=0.9) for n in range(8)]
    new = [case(f"c{n}", 4, 4, score=0.9 - (0.44 if n % 4 == 0 else 0.0)) for n in range(8)]
    lacking = {"score": Measurement(value=0.8, lacking=1)}
    found = compare(
        report(*old), report(*new).model_copy(update={"measurements": lacking}), RegressionRule(metrics=("score",))
    )
    assert say(found.why).startswith("the score is 11 points lower than before")
    assert "which may be chance" in say(found.why)
    assert say(found.settle).startswith("about ")
    assert say(found.settle).endswith("would show REGRESSION, if the drop stays the same")


def test_more_cases_rule_a_loss_out_only_where_no_trial_lacks_its_score() -> None:
    few = report(*(case(f"c{n}", 4, 4, score=0.9) for n in range(8)))
    new = few.model_copy(update={"measurements": {"score": Measurement(value=0.9, lacking=1)}})
    found = compare(few, new, RegressionRule(metrics=("score",)))
    assert say(found.settle).endswith("would show NO REGRESSION, if nothing else changes and every trial has a score")


def test_a_score_that_no_run_shares_reports_no_figure_and_costs_no_power() -> None:
    old = report(*(case(f"c{n}", 1, 1, score=0.9) for n in range(20)))
    new = report(*(case(f"c{n}", 1, int(n > 4), score=None) for n in range(20)))
    found = compare(old, new, RegressionRule())
    score = found.differences["score"]
    assert (score.old, score.new, score.p_adjusted, score.verdict) == (pytest.approx(0.9), None, None, "INCONCLUSIVE")
    assert found.differences["pass_rate"].p_adjusted == found.differences["pass_rate"].p == pytest.approx(1 / 32)
    assert found.verdict == "REGRESSION"
    told = new.model_copy(update={"comparison": found})
    assert [each for each in verify_cases(told).mismatches if each.figure.startswith("comparison")] == []


def test_a_score_of_nothing_cannot_fall() -> None:
    old = [case(f"c{n}", 4, 0, score=0.0, weight=1 + n % 2) for n in range(8)]
    found = compare(report(*old), report(*old), RegressionRule(metrics=("pass_rate", "score"))).differences
    assert [found[metric].detectable for metric in ("pass_rate", "score")] == [None, None]
