"""Gate checks: whether a run may pass, check by check, as its gate says. Pure; the day is handed in.

A check that the data do not decide leaves the gate inconclusive, one that cannot be made at all makes it invalid. What
the verdict means for the run is decided in `run_verdict.py`; shares are checked in `threshold_checks.py`, limits in
`limit_checks.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date
from typing import Any

from evalharness.domain.comparison import LOST, Comparison, Flips
from evalharness.domain.finding import Finding, Severity, finding
from evalharness.domain.gate import EachCase, Gate, GateCheck, GateResult, GateVerdict, written_metric
from evalharness.domain.sequential import SequentialResult
from evalharness.domain.session_comparison import SessionComparison
from evalharness.domain.suite import Suite
from evalharness.engine.comparing.flips import lost_cases
from evalharness.engine.gating.threshold_checks import Counted, limit_checks, needed_trials, threshold_checks
from evalharness.engine.measuring.trial_counts import Measured
from evalharness.errors import Hint, UsageError

NAMED = 5
SOON_DAYS = 7
EXIT_CODES: dict[GateVerdict, tuple[int, ...]] = {
    "PASSED": (0,),
    "FAILED": (1,),
    "INCONCLUSIVE": (0, 4),
    "INVALID": (2,),
}
"""Of an inconclusive gate: 4 where it may not pass, or grades are still to come."""
CHANGES = {"REGRESSION": False, "NO REGRESSION": True, "IMPROVEMENT": True, "INCONCLUSIVE": None}
SEVERITIES: dict[bool | None, Severity] = {True: "info", None: "warning", False: "error"}
"""Of a check, by whether it is met."""


def judge_gate(
    gate: Gate,
    suite: Suite,
    trials: int,
    measured: Measured,
    *,
    comparison: Comparison | SessionComparison | None,
    today: date,
    not_compared: Finding | None = None,
    sequential: SequentialResult | None = None,
) -> GateResult:
    """`comparison` is that with the baseline; without one, `not_compared` says why there is none.

    That of docker-agent decides where its results are the baseline. `sequential` is what a run decided that was allowed
    to stop early: pass rate and regression follow it.
    """
    held = gate.quarantined_on(today)
    cases = tuple(case for case in suite.cases if case.id not in held)
    counted = Counted(suite.model_copy(update={"cases": cases}), trials, measured)
    checks: list[GateCheck] = []
    notes = list(_quarantine_notes(gate, suite, today))
    for found in threshold_checks(gate, counted):
        if isinstance(found, Finding):
            notes.append(found)
        else:
            checks.append(found)
    if gate.each_case is not None:
        checks.append(_each_case(gate.each_case, counted))
    if gate.required_cases:
        checks.append(_required(gate.required_cases, counted, held))
    checks += limit_checks(gate, counted)
    awaits = any(state == "awaiting" for state in counted.states().values())
    checks += _comparison_checks(gate, comparison, not_compared, awaits)
    if sequential is not None:
        checks = [_as_decided(check, sequential) for check in checks]
    if not checks:
        checks.append(_every_case(counted))
    present = {case.id for case in suite.cases}
    verdict = gate_verdict(checks)
    is_open = awaits or gate.inconclusive == "fail"
    return GateResult(
        verdict=verdict,
        exit_code=EXIT_CODES[verdict][-1 if is_open else 0],
        checks=tuple(checks),
        quarantined=tuple(sorted(held & present)),
        notes=tuple(notes),
        asked=gate,
    )


def check_trials(gate: Gate, suite: Suite, thresholds_from: str = "") -> None:
    """Raises UsageError where so few trials per case can never satisfy the gate, so that nothing is run in vain.

    `thresholds_from` names the file, beside the suite's own, that thresholds come from.
    """
    trials = suite.trials
    needed = {written_metric(name): number for name, number in needed_trials(gate, suite).items() if number > trials}
    if needed:
        most = max(needed.values())
        asked = "asks" if len(needed) == 1 else "ask"
        where = f" (some thresholds come from {thresholds_from})" if thresholds_from else ""
        metrics = " and ".join(needed)
        raise UsageError(
            f"the gate needs more trials{where}: {metrics} {asked} for {most} trials of each case, not {trials}",
            hint=Hint("hint.more_trials", trials=most),
        )
    rule = gate.each_case
    if rule is not None and _wanted_trials(rule, trials) != trials:
        number = _wanted_trials(rule, trials)
        raise UsageError(
            f"the gate's each_case asks for {number} trials of each case, not {trials}",
            hint=Hint("hint.more_trials", trials=number),
        )


def _wanted_trials(rule: EachCase, trials: int) -> int:
    return rule.of if rule.of is not None else max(rule.passed, trials)


def _quarantine_notes(gate: Gate, suite: Suite, today: date) -> Iterator[Finding]:
    ids = {case.id for case in suite.cases}
    for entry in gate.quarantine:
        about = {"case": entry.case, "reason": entry.reason, "owner": entry.owner, "expires": str(entry.expires)}
        if entry.case not in ids:
            yield finding("gate.quarantine_unknown", "warning", case=entry.case)
        elif entry.holds_on(today):
            days = (entry.expires - today).days
            # Said while there is still time to fix the case, or to ask for more.
            yield finding("gate.quarantined", **about, days_left=days if days <= SOON_DAYS else None)
        else:
            yield finding("gate.quarantine_expired", "warning", **about)


def _each_case(rule: EachCase, counted: Counted) -> GateCheck:
    asked = {"passed": rule.passed, "of": rule.of or counted.trials}
    wanted = _wanted_trials(rule, counted.trials)
    if wanted != counted.trials:
        text = finding("gate.each_case_trials", "error", **asked, trials=counted.trials, needed=wanted)
        return GateCheck(name="each_case", passed=None, text=text, computable=False)
    short: list[str] = []
    open_: list[str] = []
    for case in counted.suite.cases:
        tally = counted.measured.tallies[case.id]
        undecided = tally.error + tally.awaiting + tally.pending
        if tally.is_skipped or tally.passed >= rule.passed:
            continue
        (open_ if tally.passed + undecided >= rule.passed else short).append(case.id)
    skipped = sum(counted.measured.tallies[case.id].is_skipped for case in counted.suite.cases)
    found = {"missed": _listed(short), "undecided": _listed(open_), "skipped": skipped}
    passed = _passed(short, open_)
    text = finding("gate.each_case", SEVERITIES[passed], **asked, **found)
    return GateCheck(name="each_case", passed=passed, text=text, cases=(*short, *open_))


def _required(ids: Sequence[str], counted: Counted, held: frozenset[str]) -> GateCheck:
    """A case that is not there, or that nobody judged, has not passed."""
    states = counted.states()
    of = {id_: states.get(id_) for id_ in ids if id_ not in held}
    bad = {id_: state for id_, state in of.items() if state not in ("passed", "awaiting")}
    open_ = {id_: state for id_, state in of.items() if state == "awaiting"}
    passed = _passed(bad, open_)
    found = {"missed": _listed(bad, bad.values()), "undecided": _listed(open_, open_.values())}
    text = finding("gate.required_cases", SEVERITIES[passed], **found)
    return GateCheck(name="required_cases", passed=passed, text=text, cases=(*bad, *open_))


def _every_case(counted: Counted) -> GateCheck:
    """What a gate asks for that asks for nothing else."""
    states = counted.states()
    bad = [id_ for id_, state in states.items() if state in ("failed", "error", "pending")]
    open_ = [id_ for id_, state in states.items() if state == "awaiting"]
    if not any(state != "skipped" for state in states.values()):
        return GateCheck(name="cases", passed=None, text=finding("gate.no_case_judged", "error"), computable=False)
    passed = _passed(bad, open_)
    text = finding("gate.every_case", SEVERITIES[passed], missed=_listed(bad), undecided=_listed(open_))
    return GateCheck(name="cases", passed=passed, text=text, cases=(*bad, *open_))


def _passed(bad: Collection[str], undecided: Collection[str]) -> bool | None:
    return False if bad else None if undecided else True


def _listed(ids: Iterable[str], states: Iterable[str | None] = ()) -> dict[str, Any]:
    """The first of them, each with its state where one is given (None: not there), and how many there are."""
    names, known = list(ids), list(states)
    return {"cases": names[:NAMED], "states": known[:NAMED], "number": len(names)}


def _comparison_checks(
    gate: Gate,
    comparison: Comparison | SessionComparison | None,
    not_compared: Finding | None,
    awaits: bool,
) -> Iterator[GateCheck]:
    """While grades are outstanding, what cannot be compared may still become so."""
    if isinstance(comparison, SessionComparison):  # an eval that is lost is a regression to it: there are no flips
        yield _session_regression(comparison)
        return
    rules = [("regression", gate.rule is not None), ("strict_flips", gate.compares and gate.strict_flips is True)]
    for name, asked in rules:
        if asked and comparison is None:
            text = finding("gate.not_compared", "warning" if awaits else "error", awaits=awaits, why=not_compared)
            yield GateCheck(name=name, passed=None, text=text, computable=awaits)
        elif asked and comparison is not None:
            yield _regression(comparison) if name == "regression" else _strict_flips(comparison)
    if comparison is not None and comparison.flips is not None:
        yield flips_check(comparison, comparison.flips)


def _regression(comparison: Comparison) -> GateCheck:
    critical = "critical" in comparison.decisive
    lost = {change.case_id for change in comparison.worse if critical and change.critical}
    worse = tuple(change.case_id for change in comparison.cases if change.flagged or change.case_id in lost)
    passed = CHANGES[comparison.verdict]
    text = finding(
        "gate.regression",
        SEVERITIES[passed],
        verdict=comparison.verdict,
        why=comparison.why,
        settle=comparison.settle if passed is None else None,
        left_out=comparison.left_out,
    )
    rate = comparison.differences.get("pass_rate")
    return GateCheck(name="regression", passed=passed, text=text, value=rate.value if rate else None, cases=worse)


def _session_regression(sessions: SessionComparison) -> GateCheck:
    lost = tuple(change.name for change in sessions.changes if change.regressed)
    text = finding(
        "gate.session_regression",
        SEVERITIES[not sessions.is_worse],
        baseline=sessions.baseline,
        tolerance=sessions.tolerance,
        figures=[figure.model_dump() for figure in sessions.figures],
        lost=_listed(lost),
    )
    return GateCheck(name="regression", passed=not sessions.is_worse, text=text, cases=lost)


def _strict_flips(comparison: Comparison) -> GateCheck:
    flipped = tuple(change.case_id for change in comparison.cases if change.flipped)
    text = finding(
        "gate.strict_flips",
        SEVERITIES[not flipped],
        flipped=_listed(flipped),
        alarm=comparison.flip_alarm,
        left_out=comparison.left_out,
    )
    return GateCheck(name="strict_flips", passed=not flipped, text=text, cases=flipped)


def flips_check(comparison: Comparison, flips: Flips) -> GateCheck:
    """Undecided where a case is lost in too few trials: that leaves the gate to its other checks."""
    judged = {*flips.cases, *flips.excused}
    too_few = [case.case_id for case in lost_cases(comparison) if case.case_id not in judged]
    passed = _passed(flips.cases, too_few)
    trials = {change.case_id: min(change.old_trials, change.new_trials) for change in comparison.cases}
    text = finding(
        LOST,
        SEVERITIES[passed],
        lost=_listed(flips.cases),
        excused=_listed(flips.excused),
        too_few=_listed(too_few),
        single=any(trials.get(id_) == 1 for id_ in flips.cases),
        left_out=comparison.left_out,
    )
    return GateCheck(name="flips", passed=passed, text=text, cases=flips.cases)


def _as_decided(check: GateCheck, sequential: SequentialResult) -> GateCheck:
    """By the rule that stopped the run: tests for a number of trials fixed before do not hold here."""
    if check.name == "pass_rate" and check.wanted == sequential.floor:
        passed, why, value = sequential.floor_met, sequential.floor_why, sequential.rate
    elif check.name == "regression" and sequential.baseline:
        passed, why, value = False if sequential.is_worse else None, sequential.pairs_why, check.value
    else:
        return check
    at_the_cap = sequential.at_the_cap and passed is not None
    text = finding(
        "gate.sequential",
        SEVERITIES[passed],
        check=check.name,
        decided=passed is not None,
        at_the_cap=at_the_cap,
        why=why,
    )
    return GateCheck(name=check.name, passed=passed, text=text, value=value, wanted=check.wanted)


def gate_verdict(checks: Sequence[GateCheck]) -> GateVerdict:
    """`flips` only ever fails a gate: what it leaves undecided, the check for a regression decides."""
    if not all(check.computable for check in checks):
        return "INVALID"
    if any(check.passed is False for check in checks):
        return "FAILED"
    is_open = any(check.passed is None and check.name != "flips" for check in checks)
    return "INCONCLUSIVE" if is_open else "PASSED"
