"""A run compared with a baseline of several runs: what is pooled, and what counts as passed before."""

from __future__ import annotations

from typing import Any

import pytest
from compared import alike, case, report

from evalharness.domain.case_result import CaseResult, earlier_cases, pooled
from evalharness.domain.comparison import Comparison
from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.comparing.comparison import compare


def compared(olds: list[Report], new: Report, **rule: Any) -> Comparison:
    return compare(olds, new, RegressionRule(**rule))


def runs(*cases: list[CaseResult]) -> list[Report]:
    return [report(*each, name=f"calm-cedar-{number:03d}") for number, each in enumerate(cases)]


def test_a_case_pools_the_runs_that_asked_the_same() -> None:
    olds = runs(
        [case("a", 4, 4), case("b", 4, 1, key="another"), case("c", 2, 2)],
        [case("a", 4, 2), case("b", 4, 3), case("gone", 1, 1)],
    )
    new = report(case("a", 4, 3), case("b", 4, 3), case("c", 0, 0), case("d", 1, 1))
    found = compared(olds, new)
    assert (found.n_cases, found.differences["pass_rate"].n_trials_old) == (2, 12)
    assert found.differences["pass_rate"].old == pytest.approx((6 / 8 + 3 / 4) / 2)
    assert (found.added, found.removed, found.unjudged, found.changed) == (("d",), ("gone",), ("c",), ())
    assert [run.run_name for run in found.before] == ["calm-cedar-000", "calm-cedar-001"]
    assert found.old == found.before[0]
    changed = compared([olds[0]], new).changed
    assert changed == ("b",)


def test_the_pool_is_tested_as_one_run_of_as_many_trials() -> None:
    once = compared([report(*alike(10, 8, 6))], report(*alike(10, 4, 2)))
    twice = compared(runs(alike(10, 4, 4), alike(10, 4, 2)), report(*alike(10, 4, 2)))
    assert twice.differences["pass_rate"].p == once.differences["pass_rate"].p


def test_scores_times_and_costs_are_means_of_the_runs() -> None:
    first = case("a", 1, 1, score=1.0, duration_s=1.0, longest_s=3.0, cost_usd=0.1, errors=1, state="passed")
    second = case("a", 3, 3, score=0.5, duration_s=3.0, longest_s=9.0, cost_usd=0.3, state="passed")
    both = pooled([first, second])
    assert (both.score, both.duration_s, both.longest_s) == (0.75, 2.0, 9.0)
    assert (both.trials, both.passed, both.errors, both.state) == (4, 4, 1, "passed")
    assert both.cost_usd == pytest.approx(0.2)
    assert pooled([first, case("a", 1, 1, score=None)]).score is None, "what a run does not tell is not known"


def test_unequal_numbers_of_trials_make_no_score_of_its_own() -> None:
    olds = runs(alike(20, 4, 2), [*alike(10, 3, 3), *alike(10, 4, 2, first=10)])
    assert "score" not in compared(olds, report(*alike(20, 4, 2))).differences


def test_passed_before_means_in_all_runs() -> None:
    olds = runs([case("a", 2, 2), case("b", 2, 2)], [case("a", 2, 2), case("b", 2, 1)])
    found = compared(olds, report(case("a", 2, 1), case("b", 2, 0)))
    assert {change.case_id: change.flipped for change in found.cases} == {"a": True, "b": False}
    states = [[case("a", 2, 2, state="passed")], [case("a", 2, 1, state="failed")]]
    [earlier] = earlier_cases(states, [case("a", 2, 0, state="failed")])
    assert earlier.state == "failed"


def test_a_report_from_before_there_were_several_names_its_one_run() -> None:
    found = compared(runs(alike(5, 1, 1)), report(*alike(5, 1, 1)))
    written = found.model_dump(mode="json")
    del written["before"]
    assert Comparison.model_validate(written) == found


def test_a_run_of_the_baseline_is_compared_with_itself() -> None:
    olds = runs(alike(5, 1, 1), alike(5, 1, 1))
    assert compared(olds, olds[1]).is_of_one_run
