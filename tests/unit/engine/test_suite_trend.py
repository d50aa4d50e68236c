"""The trend of a target: what counts as a gap, as a change of the suite, as a case that moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalharness.domain.case_result import CaseResult
from evalharness.domain.measurement import Measurement
from evalharness.domain.report import FlakyCase, Report, RunMetadata, RunSummary, Verdict
from evalharness.domain.stored import RunOutline
from evalharness.domain.trend import SuiteChange, TargetTrend
from evalharness.engine.comparing.suite_trend import target_trend

PASSED, FAILED = {"state": "passed", "passed": 2}, {"state": "failed", "passed": 0}
FLAKY, ERROR = {"state": "failed", "passed": 1}, {"state": "error", "trials": 0}


def outline(number: int, cases: Mapping[str, Mapping[str, Any]], verdict: Verdict = "FAILED") -> RunOutline:
    name = f"run-{number}"
    moment = f"2026-01-{number:02d}T00:00:00Z"
    results = tuple(
        CaseResult(**{"case_id": case_id, "key": "k", "trials": 2, **about}) for case_id, about in cases.items()
    )
    report = Report(
        metadata=RunMetadata(suite_name="s", run_id=name, run_name=name, timestamp=moment),
        verdict=verdict,
        exit_code=1,
        summary=RunSummary(total_evals=len(cases)),
        measurements={"pass_rate": Measurement(value=0.5), "latency_s": Measurement(value=1.5)},
        cases=results,
    )
    return RunOutline(name, name, name, "s", moment, moment, "", report, "agent")


def trend(*outlines: RunOutline, present: tuple[str, ...] = (), flaky: tuple[FlakyCase, ...] = ()) -> TargetTrend:
    return target_trend("agent", outlines, {"run-1": ("main",)}, present, flaky)


def test_each_run_has_its_figures_and_its_baselines() -> None:
    found = trend(outline(1, {"a": PASSED}), outline(2, {"a": PASSED}))
    first, second = found.runs
    assert (first.run_name, first.baselines, first.latency_s, first.cost_usd) == ("run-1", ("main",), 1.5, None)
    assert (second.baselines, second.change, second.left_out, second.is_gap) == ((), None, 0, False)


def test_a_case_moves_against_the_last_run_that_judged_it() -> None:
    found = trend(
        outline(1, {"lost": PASSED, "won": FAILED, "same": PASSED, "other": PASSED}),
        outline(2, {"lost": ERROR, "same": PASSED}),
        outline(3, {"lost": FLAKY, "won": PASSED, "same": PASSED, "other": {**FAILED, "key": "changed"}}),
    )
    assert (found.now_failing, found.fixed) == (("lost",), ("won",)), "a changed case is another question"


def test_broken_and_unfinished_runs_are_gaps_that_decide_nothing() -> None:
    never = RunOutline("n", "n", "n", "s", "2026-01-04T00:00:00Z", None, "", None, "agent")
    found = trend(
        outline(1, {"a": PASSED}), outline(2, {"a": FAILED}, "INVALID"), outline(3, {"a": FAILED}, "INTERRUPTED"), never
    )
    assert [run.is_gap for run in found.runs] == [False, True, True, True]
    assert [run.run_name for run in found.counted] == ["run-1"]
    assert found.cases[0].moments == ("passed", "absent", "absent", "absent")
    assert found.cases[0].always_passed
    assert found.now_failing == ()


def test_a_case_that_nobody_asks_any_more_was_removed_and_one_that_comes_back_was_left_out() -> None:
    found = trend(
        outline(1, {"a": PASSED, "b": PASSED, "gone": PASSED}),
        outline(2, {"a": PASSED}),
        outline(3, {"a": {**PASSED, "key": "new"}, "b": PASSED, "c": PASSED}),
    )
    assert [run.change for run in found.runs] == [None, SuiteChange(removed=1), SuiteChange(changed=1, added=1)]
    assert [run.left_out for run in found.runs] == [0, 1, 0]


def test_a_case_that_the_suite_still_has_was_left_out_by_the_newest_run() -> None:
    runs = outline(1, {"a": PASSED, "b": PASSED}), outline(2, {"a": PASSED})
    assert trend(*runs).runs[-1].change == SuiteChange(removed=1)
    found = trend(*runs, present=("a", "b"))
    assert (found.runs[-1].change, found.runs[-1].left_out) == (None, 1)


def test_a_run_whose_cases_were_not_kept_changes_nothing() -> None:
    found = trend(outline(1, {"a": PASSED}), outline(2, {}), outline(3, {"a": PASSED}))
    assert [run.change for run in found.runs] == [None, None, None]


def test_only_cases_that_flip_often_are_flaky() -> None:
    often, seldom = (
        FlakyCase(case_id=name, flip_rate=rate, passed=1, trials=2) for name, rate in (("a", 0.5), ("b", 0.1))
    )
    assert trend(outline(1, {"a": FLAKY}), flaky=(often, seldom)).flaky == (often,)


def test_an_error_of_a_run_that_broke_is_not_a_case_that_was_not_asked() -> None:
    found = trend(outline(1, {"a": PASSED, "b": PASSED}), outline(2, {"a": ERROR, "b": PASSED}, "INVALID"))
    assert [case.moments for case in found.cases] == [("passed", "error"), ("passed", "absent")]
    assert (found.now_failing, found.fixed) == ((), ())


def test_no_run_with_a_figure_is_no_error() -> None:
    found = trend(outline(1, {"a": ERROR}, "INVALID"))
    assert (found.counted, found.now_failing, found.fixed) == ([], (), ())
