"""The table of exit codes, row by row, and which row takes precedence."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from evalharness.domain.gate import GateCheck, GateResult
from evalharness.domain.report import RunSummary, TrialCounts, worst
from evalharness.engine.gating.run_verdict import judge_by_gate, may_be_gated, run_verdict
from evalharness.reports.words.say import say

MAX_ERROR_RATE = 0.02


def summary(**cases: int) -> RunSummary:
    """Cases by state, each with one trial of the same state, unless `trials_…` says otherwise."""
    trials = {name.removeprefix("trials_"): cases.pop(name) for name in list(cases) if name.startswith("trials_")}
    counts = {"error" if state == "errors" else state: number for state, number in cases.items()} | trials
    total = sum(cases.values())
    return RunSummary(total_evals=total, trials=TrialCounts(planned=sum(counts.values()), **counts), **cases)


@pytest.mark.parametrize(
    ("found", "stopped", "verdict", "exit_code", "why"),
    [
        (summary(passed=3), "", "PASSED", 0, ""),
        (summary(passed=3, skipped=1), "", "PASSED", 0, ""),
        (summary(passed=2, failed=1), "", "FAILED", 1, "1 case failed"),
        (summary(failed=2), "", "FAILED", 1, "2 cases failed"),
        (summary(errors=6), "", "INVALID", 3, "all 6 trials ended in error, so nothing is known about the target"),
        (summary(errors=1), "", "INVALID", 3, "the only trial ended in error, so nothing is known about the target"),
        (summary(passed=9, errors=1), "", "INVALID", 3, "1 of 10 trials ended in error, more than the 2 % allowed"),
        (summary(passed=1, trials_passed=97, trials_error=3), "", "INVALID", 3, "3 of 100 trials"),
        (summary(passed=1, trials_passed=98, trials_error=2), "", "PASSED", 0, ""),
        (
            summary(passed=1, skipped=96, trials_passed=3, trials_error=1),
            "",
            "INVALID",
            3,
            "1 of 4 trials that were not",
        ),
        (summary(errors=4, skipped=96), "", "INVALID", 3, "all 4 trials that were not skipped ended in error"),
        (summary(errors=1, skipped=96), "", "INVALID", 3, "the only trial that was not skipped ended in error"),
        (summary(passed=99, errors=1), "", "INVALID", 3, "1 case could not be judged because of errors"),
        (summary(skipped=2), "", "INVALID", 3, "every case was skipped"),
        (summary(passed=1, pending=2), "time limit", "INVALID", 3, "time limit was reached: 2 trials"),
        (summary(passed=1, awaiting=2), "", "UNDECIDED", 4, "2 cases"),
        (summary(awaiting=1, skipped=1), "", "UNDECIDED", 4, "1 case"),
        (summary(passed=1, pending=2), "interrupted", "INTERRUPTED", 130, "2 of 3 trials not run yet"),
        (summary(passed=1, pending=2), "", "INTERRUPTED", 130, "2 of 3 trials"),
        (summary(failed=1, pending=2), "max failures", "FAILED", 1, "1 case failed"),
        (summary(pending=2, trials_failed=1), "max failures", "FAILED", 1, "stopped after failures"),
    ],
)
def test_table(found: RunSummary, stopped: str, verdict: str, exit_code: int, why: str) -> None:
    given = run_verdict(found, MAX_ERROR_RATE, stopped)
    assert given[:2] == (verdict, exit_code)
    assert why in say(given[2])
    assert bool(given[2]) == bool(why)


@pytest.mark.parametrize("stopped", ["interrupted", "time limit"])
def test_what_stopped_a_run_that_was_finished_all_the_same_does_not_matter(stopped: str) -> None:
    assert run_verdict(summary(passed=2), MAX_ERROR_RATE, stopped)[:2] == ("PASSED", 0)
    assert run_verdict(summary(failed=2), MAX_ERROR_RATE, stopped)[:2] == ("FAILED", 1)


@pytest.mark.parametrize(
    ("found", "stopped", "exit_code"),
    [
        pytest.param(summary(failed=1, errors=1, awaiting=1, pending=1), "interrupted", 130, id="130 before 3, 1, 4"),
        pytest.param(summary(failed=1, errors=1, awaiting=1), "", 3, id="3 before 1 and 4"),
        pytest.param(summary(failed=1, errors=1, pending=1), "max failures", 3, id="3 before 1 when stopped"),
        pytest.param(summary(passed=98, failed=1, errors=1), "", 3, id="3 before 1 for one case in error of many"),
        pytest.param(summary(failed=1, awaiting=1, pending=1), "time limit", 3, id="time limit before a failure"),
        pytest.param(summary(passed=1, failed=1, awaiting=1), "", 1, id="1 before 4"),
        pytest.param(summary(passed=1, awaiting=1), "", 4, id="4 before 0"),
    ],
)
def test_precedence_inside_one_run(found: RunSummary, stopped: str, exit_code: int) -> None:
    assert run_verdict(found, MAX_ERROR_RATE, stopped)[1] == exit_code


@pytest.mark.parametrize(
    ("rate", "errors", "invalid"), [(0.0, 1, True), (0.5, 50, False), (0.5, 51, True), (1.0, 100, False)]
)
def test_the_share_of_errors_a_suite_allows(rate: float, errors: int, invalid: bool) -> None:
    found = summary(passed=1, trials_passed=100 - errors, trials_error=errors)
    assert (run_verdict(found, rate, "")[1] == 3) is invalid


def test_a_share_that_is_not_a_whole_percent_is_shown_as_it_is() -> None:
    assert "the 2.5 % allowed" in say(run_verdict(summary(passed=1, errors=1), 0.025, "")[2])


def test_the_worst_of_several_runs_in_any_order() -> None:
    by_precedence = [2, 130, 3, 1, 4, 0]
    for better_at in range(1, len(by_precedence)):
        for pair in permutations((by_precedence[better_at - 1], by_precedence[better_at])):
            assert worst(list(pair)) == by_precedence[better_at - 1]
    assert worst(by_precedence) == 2
    assert worst([0, 0]) == 0
    assert worst([]) == 0


def check(name: str, passed: bool | None, **more: Any) -> GateCheck:
    return GateCheck(name=name, passed=passed, text="", **more)


@pytest.mark.parametrize(
    ("gate", "verdict", "exit_code", "why"),
    [
        (GateResult(verdict="PASSED", exit_code=0), "PASSED", 0, "the gate passed; 1 case failed"),
        (
            GateResult(verdict="FAILED", exit_code=1, checks=(check("a", True), check("b", False), check("c", None))),
            "FAILED",
            1,
            "the gate failed on b; 1 case failed",
        ),
        (
            GateResult(verdict="INCONCLUSIVE", exit_code=0, checks=(check("a", True), check("c", None))),
            "INCONCLUSIVE",
            0,
            "the gate is undecided on c; 1 case failed (inconclusive: pass, so exit code 0)",
        ),
        (
            GateResult(verdict="INCONCLUSIVE", exit_code=4, checks=(check("c", None),)),
            "UNDECIDED",
            4,
            "the gate is undecided on c; 2 cases not graded yet; 1 case failed",
        ),
        (
            GateResult(verdict="INVALID", exit_code=2, checks=(check("b", False), check("d", None, computable=False))),
            "INVALID",
            2,
            "the gate could not check d",
        ),
    ],
)
def test_with_a_gate_the_gate_alone_decides(gate: GateResult, verdict: str, exit_code: int, why: str) -> None:
    given = judge_by_gate(gate, summary(passed=3, failed=1, awaiting=2))
    assert (*given[:2], say(given[2])) == (verdict, exit_code, why)


@pytest.mark.parametrize("exit_code", [0, 4])
def test_an_inconclusive_gate_is_never_passed_nor_undecided(exit_code: int) -> None:
    gate = GateResult(verdict="INCONCLUSIVE", exit_code=exit_code, checks=(check("c", None),))
    assert judge_by_gate(gate, summary(passed=3))[:2] == ("INCONCLUSIVE", exit_code)


@pytest.mark.parametrize(
    ("found", "stopped", "gated"),
    [
        (summary(passed=1), "", True),
        (summary(failed=1), "", True),
        (summary(awaiting=1), "", True),
        (summary(errors=1), "", False),
        (summary(passed=1, pending=1), "interrupted", False),
        (summary(failed=1, pending=1), "max failures", False),
    ],
)
def test_only_whole_and_valid_runs_are_gated(found: RunSummary, stopped: str, gated: bool) -> None:
    verdict, _, _ = run_verdict(found, MAX_ERROR_RATE, stopped)
    assert may_be_gated(verdict, found) is gated
