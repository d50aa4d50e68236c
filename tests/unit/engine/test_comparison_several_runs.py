"""Comparing a run with a baseline of several runs: what is pooled, and what counts as passed before."""

from __future__ import annotations

from typing import Any

import pytest
from compared import alike, case, report

from evalharness.domain.case_result import CaseResult, earlier_cases, pooled
from evalharness.domain.comparison import Comparison
from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.comparing.comparison import compare
from evalharness.reports.words.say import say


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
    assert pooled([first, case("a", 1, 1, score=None)]).score is None, "what a run does not report is not known"


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


class TestNoiseBetweenRuns:
    """Five runs whose pass rates vary by themselves, and a new one slightly below the lowest."""

    def noisy(self, *passes: int) -> list[Report]:
        """40 cases × 5 trials: this many of ten cases pass one trial more than the others."""
        return runs(*([*alike(10 * n, 5, 4), *alike(40 - 10 * n, 5, 3, first=10 * n)] for n in passes))

    @pytest.mark.parametrize(
        ("passes", "verdict"), [((4, 0, 4, 0, 4), "INCONCLUSIVE"), ((2, 2, 2, 2, 3), "REGRESSION")]
    )
    def test_a_loss_must_be_more_than_runs_differ_by(self, passes: tuple[int, ...], verdict: str) -> None:
        new = report(*alike(40, 5, 0))
        shaky = report(*alike(20, 5, 2), *alike(20, 5, 3, first=20))
        olds = self.noisy(*passes)
        pooled_alone = compared([report(*(pooled([old.cases[n] for old in olds]) for n in range(40)))], shaky)
        assert pooled_alone.verdict == "REGRESSION", "by a test that sees only trials"
        found = compared(olds, shaky)
        assert (found.verdict, compared(olds, new).verdict) == (verdict, "REGRESSION")
        rate, alone = found.differences["pass_rate"], pooled_alone.differences["pass_rate"]
        assert "Student's t of one run against 5" in rate.method
        assert (rate.p or 0) >= (alone.p or 0) and (rate.low or 0) <= (alone.low or 0)
        assert (rate.lower_bound or 0) <= (alone.lower_bound or 0)
        assert (rate.detectable or 1) >= (alone.detectable or 0), "what it costs"

    def test_it_says_so_and_that_more_of_the_same_would_not_help(self) -> None:
        found = compared(self.noisy(4, 0, 4, 0, 4), report(*alike(20, 5, 2), *alike(20, 5, 3, first=20)))
        assert "more cases or trials are not enough: the 5 baseline runs differ too much" in say(found.settle)
        [note] = [say(note) for note in found.notes if note.code == "comparison.runs_vary"]
        assert note.startswith("the pass rates of the 5 baseline runs differ by 11 points (standard deviation): ")

    def test_where_trials_explain_the_spread_more_of_the_same_does_help(self) -> None:
        """Every run has the same pass rate overall, except for single trials."""

        def one(by: int, fewer: int = 0) -> list[CaseResult]:
            return [case(f"c{n}", 5, (2, 3, 4, 4, 4)[(n + by) % 5] - (n < fewer)) for n in range(40)]

        found = compared(runs(one(0), one(1), one(2, fewer=1), one(3, fewer=2)), report(*one(4, fewer=2)))
        assert found.verdict == "INCONCLUSIVE"
        assert "like these (now 40) would show NO REGRESSION" in say(found.settle)

    @pytest.mark.parametrize("number", [1, 2])
    def test_fewer_than_three_runs_show_nothing_of_it_and_say_so(self, number: int) -> None:
        found = compared(self.noisy(4, 0)[:number], report(*alike(40, 5, 2)))
        assert "Student's t of one run" not in found.differences["pass_rate"].method
        [note] = [say(note) for note in found.notes if note.code == "comparison.trials_assumed_independent"]
        assert note.startswith("the trials of a case are assumed to be independent: effects on a whole run")

    def test_runs_that_agree_leave_it_to_the_test_over_cases(self) -> None:
        olds = runs(*[alike(20, 4, 4)] * 3)
        found = compared(olds, report(*alike(10, 4, 4), *alike(10, 4, 3, first=10)))
        assert found.verdict == "REGRESSION"

    def test_critical_cases_scores_times_and_costs_too(self) -> None:
        def one(score: float, seconds: float) -> list[CaseResult]:
            return [
                case(f"c{n}", 4, 4, score=score - n / 1000, duration_s=seconds + n / 100, cost_usd=seconds / 10,
                     criticality="critical" if n < 8 else "")
                for n in range(30)
            ]  # fmt: skip

        olds = runs(*(one(0.9 - 0.1 * n, 1.0 + n) for n in (0, 1, 2)))
        found = compared(olds, report(*one(0.65, 3.5)), metrics=("pass_rate", "score", "latency", "cost"))
        assert [difference.verdict for difference in found.differences.values()].count("REGRESSION") == 0
        for difference in (found.critical, *(found.differences[name] for name in ("score", "latency", "cost"))):
            assert difference is not None and "Student's t of one run against 3" in difference.method
        one_run = compared([olds[1]], report(*one(0.65, 3.5)), metrics=("score", "latency", "cost"))
        assert {each.verdict for name, each in one_run.differences.items() if name != "pass_rate"} == {"REGRESSION"}
        assert not [note for note in found.notes if note.code == "comparison.between_runs"], "it was seen to"

    def test_runs_that_share_few_cases_are_left_out_while_three_stay(self) -> None:
        olds = runs(*[alike(20, 4, 3)] * 3, alike(2, 4, 3))
        [note] = [n for n in compared(olds, report(*alike(20, 4, 3))).notes if n.code == "comparison.runs_vary"]
        assert (note.params["runs"], note.params["left_out"], note.params["cases"]) == (3, 1, 20)
        apart = runs(*(alike(2, 4, 3, first=2 * n) for n in range(3)))
        notes = [note.code for note in compared(apart, report(*alike(6, 4, 3))).notes]
        assert "comparison.no_case_in_all_runs" in notes


def test_a_report_from_before_there_were_several_names_its_one_run() -> None:
    found = compared(runs(alike(5, 1, 1)), report(*alike(5, 1, 1)))
    written = found.model_dump(mode="json")
    del written["before"]
    assert Comparison.model_validate(written) == found


def test_a_run_of_the_baseline_is_compared_with_itself() -> None:
    olds = runs(alike(5, 1, 1), alike(5, 1, 1))
    assert compared(olds, olds[1]).is_of_one_run
