"""Judging again: a gate that lost a check, or contradicts its trials, is detected."""

from __future__ import annotations

from typing import Any

import pytest
from reported import F, P, counted, reported

from evalharness.domain.case import Case
from evalharness.domain.comparison import KEPT_CASES
from evalharness.domain.finding import finding
from evalharness.domain.gate import Gate, GateCheck, RegressionRule
from evalharness.domain.report import Report, Verified
from evalharness.domain.sequential import SequentialResult
from evalharness.engine.comparing.comparison import compare
from evalharness.engine.gating.threshold_checks import Counted
from evalharness.engine.verifying.reported_verdict import reported_gate
from evalharness.engine.verifying.verified_report import verify_cases, verify_report
from evalharness.reports.words.say import say

STATES = {"a": [P, P, F], "b": [P, P, P], "c": [F, F, F], "d": [P, F, P]}
CASES = tuple(Case(id=id_, input="?", category="search" if id_ < "c" else "billing") for id_ in STATES)
QUARANTINE = [{"case": "d", "reason": "flaky", "owner": "Ada", "expires": "2027-01-01"}]
GATES: dict[str, Any] = {
    "nothing else": {},
    "shares": {"thresholds": {"default": {"pass_rate": 0.4, "pass^2": 0.9}, "categories": {"search": {"score": 0.5}}}},
    "limits": {"max_cost_usd": 5, "max_latency_s": 0.1},
    "each case": {"each_case": "2 of 3", "quarantine": QUARANTINE},
    "each case, with too few trials": {"each_case": 5},
    "required, and missed": {"required_cases": ["b", "c", "z"]},
    "required": {"required_cases": ["b"], "thresholds": {"pass_rate": 0.9}},
    "required, and passed": {"required_cases": ["b"]},
    "required, and all of them held": {"required_cases": ["d"], "quarantine": QUARANTINE},
    "no baseline": {"regression": True, "strict_flips": True},
    "with a preset": {"preset": "production"},
}


def lied(report: Report, /, gate: dict[str, Any] | None = None, **changes: Any) -> Report:
    assert report.gate is not None
    return report.model_copy(update={"gate": report.gate.model_copy(update=gate or {}), **changes})


def passing(report: Report, **gate: Any) -> Report:
    """The gate as somebody would forge it to pass."""
    return lied(report, {"verdict": "PASSED", "exit_code": 0, **gate}, verdict="PASSED", exit_code=0)


def both(report: Report, rows: Any) -> list[Verified]:
    return [verify_report(report, rows), verify_cases(report)]


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_what_a_gate_said_is_said_again(gate: Any) -> None:
    report, rows = reported(STATES, CASES, gate)
    assert report.gate is not None
    suite, _ = counted(STATES, CASES)
    known = suite.model_copy(update={"gate": Gate.model_validate(gate)})
    for found in [*both(report, rows), verify_report(report, rows, known)]:
        assert found.mismatches == ()
    if report.verdict != "PASSED":
        for found in [*both(passing(report), rows), verify_report(passing(report), rows, known)]:
            assert "verdict" in [each.figure for each in found.mismatches]


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_a_gate_that_lost_its_checks_does_not_make_failed_cases_pass(gate: Any) -> None:
    report, rows = reported(STATES, CASES, gate)
    assert report.gate is not None
    names = ", ".join(sorted(check.name for check in report.gate.checks))
    for found in both(passing(report, checks=()), rows):
        assert ("gate.checks", "", names) in [(each.figure, each.reported, each.found) for each in found.mismatches]
    for found in both(passing(report, checks=(), asked=None), rows):
        wrong = {each.figure: (each.reported, each.found) for each in found.mismatches}
        assert wrong["gate.checks"] == ("", "cases")
        assert wrong["verdict"] == ("PASSED", "FAILED")


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_an_older_report_does_not_contain_its_gate_and_agrees_all_the_same(gate: Any) -> None:
    """Its checks state their limits, except how many trials of each case had to pass: that is accepted as it is."""
    report, rows = reported(STATES, CASES, gate)
    assert report.gate is not None
    sentences = tuple(
        check.model_copy(update={"text": finding("text", text=say(check.text))}) for check in report.gate.checks
    )
    old = lied(report, {"checks": sentences, "asked": None})
    for found in both(old, rows):
        assert found.mismatches == ()
        believes = "what the gate found for each_case" in map(say, found.believed)
        assert believes is ("each_case" in gate)


@pytest.mark.parametrize("gate", GATES.values(), ids=GATES)
def test_a_check_that_the_gate_of_the_run_asks_for_is_missed(gate: Any) -> None:
    report, rows = reported(STATES, CASES, gate)
    assert report.gate is not None
    suite, _ = counted(STATES, CASES)
    known = suite.model_copy(update={"gate": Gate.model_validate(gate)})
    for lost in report.gate.checks:
        checks = tuple(check for check in report.gate.checks if check != lost)
        forgery = passing(report, checks=checks)
        assert "gate.checks" in [each.figure for each in verify_report(forgery, rows, known).mismatches]
    without = report.model_copy(update={"gate": None, "verdict": "FAILED", "exit_code": 1})
    assert [each.figure for each in verify_report(without, rows, known).mismatches] == ["gate"]


def test_what_a_file_cannot_say_about_its_gate_is_said_to_be_unchecked() -> None:
    report, rows = reported(STATES, CASES, GATES["shares"])
    for found in both(report, rows):
        assert "what the gate asks for (its checks, their limits, required cases)" in tuple(map(say, found.believed))
    suite, _ = counted(STATES, CASES)
    known = suite.model_copy(update={"gate": Gate.model_validate(GATES["shares"])})
    for found in (verify_report(report, rows, known), verify_report(reported(STATES, CASES)[0], rows)):
        assert not any("gate" in each for each in tuple(map(say, found.believed)))


@pytest.mark.parametrize("name", ["regression", "strict_flips"])
def test_a_check_needs_the_comparison_that_it_is_for(name: str) -> None:
    report, rows = reported(STATES, CASES, {name: True})
    assert report.gate is not None and report.gate.verdict == "INVALID"
    checks = tuple(
        check.model_copy(update={"passed": True, "computable": True}) if check.name == name else check
        for check in report.gate.checks
    )
    for found in both(passing(report, checks=checks), rows):
        assert f"gate.checks.{name}.passed" in [each.figure for each in found.mismatches]


def test_a_limit_that_was_changed_is_reported_where_the_gate_is_known() -> None:
    gate = {"thresholds": {"pass_rate": 0.9}, "max_latency_s": 0.1}
    report, rows = reported(STATES, CASES, gate)
    lax, _ = reported(STATES, CASES, {"thresholds": {"pass_rate": 0.1}, "max_latency_s": 60})
    assert (report.verdict, lax.verdict) == ("FAILED", "PASSED")
    suite, _ = counted(STATES, CASES)
    found = verify_report(lax, rows, suite.model_copy(update={"gate": Gate.model_validate(gate)}))
    wrong = {each.figure: (each.reported, each.found) for each in found.mismatches}
    assert wrong["gate.checks.pass_rate.wanted"] == (0.1, 0.9)
    assert wrong["gate.checks.max_latency_s.wanted"] == (60, 0.1)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "pass_rate default x"},
        {"name": "pass_rate tag x"},
        {"name": "somewhat_good"},
        {"name": "pass_rate", "wanted": None},
        {"name": "each_case", "text": finding("text", text="all good")},
        {"name": "cases", "text": finding("text", text="every case must pass")},
        {"name": "required_cases", "cases": ("b",), "passed": True},
    ],
    ids=str,
)
def test_a_check_that_no_gate_makes_is_found(change: dict[str, Any]) -> None:
    report, rows = reported(STATES, CASES, {"thresholds": {"pass_rate": 0.5}})
    assert report.gate is not None and report.verdict == "PASSED"
    [check] = report.gate.checks
    forged = check.model_copy(update={"passed": True, **change})
    for checks in [(forged,), (check, forged)]:
        for found in both(passing(report, checks=checks), rows):
            assert any(each.figure.startswith("gate.checks") for each in found.mismatches)


def test_a_case_that_is_called_quarantined_must_be_one_of_the_run() -> None:
    report, rows = reported(STATES, CASES, GATES["each case"])
    for ids in [("d", "z"), ("",)]:
        for found in both(lied(report, {"quarantined": ids}), rows):
            assert "gate.quarantined" in [each.figure for each in found.mismatches]


def test_flips_that_are_not_reported_one_by_one_are_believed() -> None:
    """If very many cases changed, only the worst are kept."""
    states: dict[str, list[str]] = {f"case-{number}": [P] for number in range(KEPT_CASES + 1)}
    old, _ = reported(states)
    new, rows = reported({case_id: [F] for case_id in states}, gate={"thresholds": {"pass_rate": 0}})
    whole = compare(old, new, RegressionRule())
    unflipped = tuple(case.model_copy(update={"flipped": False}) for case in whole.cases[:KEPT_CASES])
    assert new.gate is not None
    flips = GateCheck(name="strict_flips", passed=False, text="…", cases=("case-7",))
    gate = {"checks": (*new.gate.checks, flips), "verdict": "FAILED", "exit_code": 1, "asked": None}
    told = lied(new, gate, verdict="FAILED", exit_code=1, comparison=whole.model_copy(update={"cases": unflipped}))
    found = verify_report(told, rows)
    assert not any(each.figure.startswith(("gate", "verdict")) for each in found.mismatches)
    assert "whether other cases failed that had always passed (strict_flips)" in tuple(map(say, found.believed))
    wrong = verify_report(passing(told, checks=(*new.gate.checks, flips)), rows).mismatches
    assert {"gate.verdict", "verdict"} <= {each.figure for each in wrong}


def test_a_sequential_run_is_checked_for_what_it_had_to_decide() -> None:
    result = SequentialResult(
        seed=1, floor=0.9, rule="SPRT", decision="FAILED", why="", is_over=True, trials_used=12, cap=12, floor_met=False
    )
    report, _ = reported(STATES, CASES, {"thresholds": {"pass@1": 0.1}})
    suite, measured = counted(STATES, CASES)
    told = Counted(suite, 3, measured)
    older = lied(report, {"asked": None}, sequential=result)
    asked = reported_gate(older, told)
    assert asked is not None and asked.thresholds.default == {"pass_at_1": 0.1, "pass_rate": 0.9}
