"""Comparing again: the figures of a report's comparison are reproduced, with and without the baseline."""

from __future__ import annotations

from typing import Any

import pytest
from reported import E, F, P, changed, numbers, reported

from evalharness.domain.case import Case
from evalharness.domain.comparison import KEPT_CASES
from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.comparing.comparison import compare
from evalharness.engine.verifying.reported_comparison import recompare
from evalharness.engine.verifying.verified_report import verify_cases, verify_report
from evalharness.reports.words.say import say

CASES = (
    Case(id="a", input="?", criticality="critical"),
    Case(id="b", input="?", cluster="one"),
    Case(id="c", input="?", cluster="one", weight=2.0),
    *(Case(id=f"d{number}", input="?") for number in range(6)),
)
LAST = {f"d{number}": [P, P, F, P] for number in range(6)}
OLD = {"a": [P, P, P, P], "b": [P, P, E, P], "c": [P, P, F, P], **LAST}
NEW = {"a": [P, F, F, P], "b": [P, F, P, P], "c": [F, F, F, P], **LAST}
RULE = RegressionRule(metrics=("pass_rate", "score", "cost"))
# Without the baseline: what depends on how often it was tried, and what it took and cost.
BELIEVED = (
    *("p", "p_better", "p_adjusted", "detectable", "n_trials_old", "flip_alarm", "power", "q", "seed"),
    *(
        f"{metric}/{name}"
        for metric in ("latency", "cost")
        for name in ("old", "value", "low", "high", "lower_bound", "upper_bound", "level")
    ),
    *("old_score", "margin", "tolerance", "score/lacking", "cost/lacking"),
)


def told(rule: RegressionRule = RULE) -> tuple[Report, list[Any], Report]:
    """A report with its comparison, its rows, and the baseline."""
    old, _ = reported(OLD, CASES, cost_usd=0.02)
    new, rows = reported(NEW, CASES)
    return new.model_copy(update={"comparison": compare(old, new, rule)}), rows, old


def figures(report: Report) -> dict[str, Any]:
    assert report.comparison is not None
    return dict(numbers(report.comparison.model_dump(mode="json"), "comparison"))


def has_score(report: Report) -> bool:
    return report.comparison is not None and "score" in report.comparison.differences


def is_believed(place: str) -> bool:
    return any(place.endswith(f"/{name}") for name in BELIEVED) and not place.startswith("comparison/cases/0/p")


def test_a_comparison_agrees_with_its_report() -> None:
    report, rows, old = told()
    for found in (verify_report(report, rows), verify_cases(report)):
        assert found.mismatches == ()
        assert any(each.startswith("parts of the comparison: p-values") for each in tuple(map(say, found.believed)))
    with_baseline = verify_report(report, rows, comparison=compare(old, report, RULE))
    assert with_baseline.mismatches == ()
    assert not any("p-values" in each for each in tuple(map(say, with_baseline.believed)))


@pytest.mark.parametrize("whose", ["old", "new"])
def test_a_case_whose_score_lacks_a_part_in_one_of_the_runs_agrees_too(whose: str) -> None:
    lacks: dict[str, Any] = {"unscored": {("b", 0)}}
    old, _ = reported(OLD, CASES, **(lacks if whose == "old" else {}))
    new, rows = reported(NEW, CASES, **(lacks if whose == "new" else {}))
    comparison = compare(old, new, RULE)
    assert {change.case_id: change.new_score for change in comparison.cases}["b"] is None
    report = new.model_copy(update={"comparison": comparison})
    for found in (verify_report(report, rows), verify_cases(report)):
        assert found.mismatches == ()


def test_where_failed_answers_were_tried_again_scores_are_not_compared() -> None:
    report, _, old = told()
    again = report.model_copy(update={"metadata": report.metadata.model_copy(update={"retry_failed": True})})
    again = again.model_copy(update={"comparison": compare(old, again, RegressionRule())})
    found = [each for each in verify_cases(again).mismatches if each.figure.startswith("comparison")]
    assert found == [] and has_score(report) and not has_score(again)


@pytest.mark.parametrize("by", [0.3, -0.3])
def test_without_the_baseline_every_number_is_found_that_follows_from_the_cases(by: float) -> None:
    report, rows, _ = told()
    places = {place: value for place, value in figures(report).items() if not is_believed(place)}
    lies = {place: value + (by if isinstance(value, float) else 1) for place, value in places.items()}
    unnoticed = [
        place for place, lie in lies.items() if not verify_report(changed(report, place, lie), rows).mismatches
    ]
    assert len(lies) > 40
    assert unnoticed == []


def test_with_the_baseline_every_number_is_found() -> None:
    report, rows, old = told()
    again = compare(old, report, RULE)
    places = figures(report)
    unnoticed = [
        place
        for place, value in places.items()
        if not verify_report(changed(report, place, value + 1), rows, comparison=again).mismatches
    ]
    assert len(places) > 100
    assert unnoticed == []


def test_a_verdict_follows_from_its_differences() -> None:
    report, rows, _ = told()
    assert report.comparison is not None
    lies: list[dict[str, Any]] = [
        {"verdict": "NO REGRESSION"},
        {"decisive": ("latency",)},
        {"critical": None},
        {"differences": {**report.comparison.differences, "pass_rate": report.comparison.differences["cost"]}},
    ]
    for lie in lies:
        comparison = report.comparison.model_copy(update=lie)
        assert verify_report(report.model_copy(update={"comparison": comparison}), rows).mismatches


@pytest.mark.parametrize(
    ("place", "value"), [("alpha", 2.0), ("cases/0/old_trials", 0), ("cases/0/old_passed", 99), ("n_cases", 0)]
)
def test_what_cannot_be_is_reported(place: str, value: float) -> None:
    report, rows, _ = told()
    assert verify_report(changed(report, f"comparison/{place}", value), rows).mismatches


def test_a_case_that_was_compared_must_have_trials() -> None:
    report, rows, _ = told()
    found = verify_report(changed(report, "cases/0/trials", 0), rows)
    assert {"cases.a.trials", "comparison.n_cases"} <= {wrong.figure for wrong in found.mismatches}


def test_where_only_the_worst_cases_are_reported_this_side_is_checked() -> None:
    states: dict[str, list[str]] = {f"case-{number}": [P] for number in range(KEPT_CASES + 1)}
    old, _ = reported(states)
    new, rows = reported({case_id: [F] for case_id in states})
    comparison = compare(old, new, RegressionRule()).storable
    report = new.model_copy(update={"comparison": comparison})
    found = verify_report(report, rows)
    assert found.mismatches == ()
    assert "the baseline's side of the comparison, of which only the worst cases are reported" in tuple(
        map(say, found.believed)
    )
    assert verify_report(changed(report, "comparison/differences/pass_rate/new", 0.5), rows).mismatches


def test_a_comparison_of_no_case_is_reported_and_no_crash() -> None:
    report, rows, _ = told()
    assert report.comparison is not None
    nothing = report.comparison.model_copy(update={"changed": tuple(case.id for case in CASES)})
    found = verify_report(report.model_copy(update={"comparison": nothing}), rows)
    assert "comparison.n_cases" in {wrong.figure for wrong in found.mismatches}


def test_without_its_cases_a_comparison_is_checked_as_far_as_it_goes() -> None:
    report, _, _ = told()
    assert {judged[0] for judged in recompare(report.model_copy(update={"cases": ()}), None)} >= {"comparison.verdict"}


@pytest.mark.parametrize("case_id", ["notes", "source", "why"])
def test_a_case_may_be_called_like_what_is_not_checked(case_id: str) -> None:
    old, _ = reported({case_id: [P, P], "other": [P, P]})
    new, _ = reported({case_id: [F, F], "other": [P, P]})
    comparison = compare(old, new, RULE)
    [change] = comparison.cases
    wrong = comparison.model_copy(update={"cases": (change.model_copy(update={"new_passed": 1}),)})
    found = recompare(new.model_copy(update={"comparison": wrong}), comparison)
    assert [place for place, told, recomputed in found if told != recomputed] == [
        f"comparison.cases.{case_id}.new_passed"
    ]


def test_intervals_that_rest_on_several_runs_are_believed_without_them_and_found_with_them() -> None:
    olds = [reported({**OLD, "d0": [P, F, F, P], "d1": [P] * n + [F] * (4 - n)}, CASES)[0] for n in (1, 2, 4)]
    new, rows = reported(NEW, CASES)
    found = compare(olds, new, RULE)
    report = new.model_copy(update={"comparison": found})
    assert not verify_report(report, rows).mismatches
    assert any("how much the baseline's runs vary" in say(each) for each in verify_report(report, rows).believed)
    narrower = changed(report, "comparison/differences/pass_rate/low", -0.01)
    assert verify_report(narrower, rows, comparison=found).mismatches
