"""Reported verdict: the verdict of a report, and what its gate checked, decided again from counted trials. Pure.

By the gate of its run, where that is at hand, else by the one in the report. An older report does not contain its gate,
but most of its checks say what was wanted: enough to judge by the same again. A comparison with the baseline is taken
as it is: it is computed again in `reported_comparison.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import date
from typing import Any

from evalharness.domain.comparison import Comparison
from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import (
    METRIC,
    EachCase,
    Gate,
    GateCheck,
    GateResult,
    Quarantine,
    RegressionRule,
    Thresholds,
)
from evalharness.domain.report import Report, Verdict
from evalharness.engine.gating.gate_checks import EXIT_CODES, gate_verdict, judge_gate
from evalharness.engine.gating.run_verdict import judge_by_gate, may_be_gated, run_verdict
from evalharness.engine.gating.threshold_checks import Counted

COSTS = ("max_cost_usd", "max_cost_usd_per_trial")
LIMITS = (*COSTS, "max_latency_s", "max_median_latency_s")
COMPARED = ("regression", "strict_flips")
_JUDGED = ("passed", "value", "wanted", "computable", "basis")
Judged = tuple[str, Any, Any]
"""A figure as reported and as computed."""


def rejudge(
    report: Report, counted: Counted, gate: Gate | None, comparison: Comparison | None, believed: Collection[str] = ()
) -> Iterator[Judged]:
    """All that can be decided again, told beside found. `gate` is that of the run; its quarantines all hold.

    `believed` are the checks for which not enough was counted.
    """
    reported = report.gate
    if reported is None or gate is None:
        is_due = gate is not None and may_be_gated(report.verdict, report.summary)
        yield "gate", "not judged" if reported is None else "judged", "judged" if is_due else "not judged"
        yield from _verdict(report)
        return
    is_gated = any(may_be_gated(verdict, report.summary) for verdict, _ in _verdicts(report))
    yield "gate", "judged", "judged" if is_gated else finding("verify.gate_not_judged", "error")
    compared = comparison or report.comparison
    found = _judged_again(report, counted, gate, compared)
    found = _with_believed(found, reported, {*believed, *unread_checks(report)}, compared)
    yield from _checks(reported, found, tells_all=compared is None or compared.tells_all)
    yield "gate.quarantined", reported.quarantined, found.quarantined
    yield "gate.verdict", reported.verdict, found.verdict
    yield "gate.exit_code", reported.exit_code, found.exit_code
    verdict, exit_code, _ = judge_by_gate(found, report.summary)
    yield "verdict", report.verdict, verdict
    yield "exit_code", report.exit_code, exit_code


def may_say_so(report: Report) -> bool:
    """Whether a report without a gate can have come to its verdict."""
    return (report.verdict, report.exit_code) in _verdicts(report)


def unread_checks(report: Report) -> tuple[str, ...]:
    """Checks of an older report that do not say what was wanted, other than in words."""
    reported = report.gate
    return (
        ("each_case",)
        if reported and reported.asked is None and any(c.name == "each_case" for c in reported.checks)
        else ()
    )


def reported_gate(report: Report, counted: Counted) -> Gate | None:
    """The gate that judged, with those quarantines that counted.

    Of an older report: one that asks for what its checks say, and for what a sequential run had to decide. Unchecked: a
    value that no gate would take is one more thing that does not fit.
    """
    reported = report.gate
    if reported is None:
        return None
    held = tuple(Quarantine(case=id_, reason="?", owner="?", expires=date.max) for id_ in reported.quarantined if id_)
    asked = reported.asked or _gate_of_checks(report, reported, counted)
    return asked.model_copy(update={"quarantine": held})


def _gate_of_checks(report: Report, reported: GateResult, counted: Counted) -> Gate:
    plan = report.sequential
    minima: dict[str, dict[str, Any]] = {"": {}, "category": {}, "criticality": {}}
    asked: dict[str, Any] = {}
    for check in reported.checks:
        metric, _, group = check.name.partition(" ")
        kind, _, name = group.partition(" ")
        if METRIC.fullmatch(metric) and kind in minima and check.wanted is not None:
            (minima[kind].setdefault(name, {}) if kind else minima[kind])[metric] = check.wanted
        else:
            asked |= _asked(check, reported, counted)
    if plan is not None and plan.floor is not None:
        minima[""]["pass_rate"] = plan.floor
    if plan is not None and plan.baseline:
        asked["regression"] = RegressionRule()
    fields = zip(("default", "categories", "criticality"), minima.values(), strict=True)
    return Gate(inconclusive="fail" if reported.exit_code == EXIT_CODES["INCONCLUSIVE"][-1] else "pass").model_copy(
        update={"thresholds": Thresholds().model_copy(update=dict(fields)), **asked}
    )


def _asked(check: GateCheck, reported: GateResult, counted: Counted) -> dict[str, Any]:
    """By its key in the gate, what a check stands for."""
    if check.name in LIMITS:
        return {check.name: check.wanted}
    if check.name == "each_case":  # how many is not known: what became of it is believed
        return {"each_case": EachCase(passed=1)}
    if check.name == "required_cases":
        return {"required_cases": check.cases or _met(reported, counted)}
    if check.name in COMPARED:
        return {check.name: RegressionRule() if check.name == "regression" else True}
    return {}


def _met(gate: GateResult, counted: Counted) -> tuple[str, ...]:
    """In place of required cases that are not reported, as all of them passed: one that can have been."""
    passed = (id_ for id_, state in counted.states().items() if state == "passed")
    return (next(passed, next(iter(gate.quarantined), "none that passed")),)


def _judged_again(report: Report, counted: Counted, gate: Gate, comparison: Comparison | None) -> GateResult:
    return judge_gate(
        gate,
        counted.suite,
        counted.trials,
        counted.measured,
        comparison=report.session_comparison or comparison,
        today=date.min,
        not_compared=report.not_compared,
        sequential=report.sequential,
    )


def _with_believed(
    found: GateResult, reported: GateResult, believed: Collection[str], comparison: Comparison | None
) -> GateResult:
    """Where not all cases that changed are reported, that others flipped is believed, too."""
    is_cut = comparison is not None and not comparison.tells_all
    kept = {
        check.name: check
        for check in reported.checks
        if check.name in believed or (is_cut and check.name == "strict_flips" and check.passed is False)
    }
    checks = tuple(kept.get(check.name, check) for check in found.checks)
    verdict = gate_verdict(checks)
    exit_code = found.exit_code if verdict == found.verdict else EXIT_CODES[verdict][0]
    return found.model_copy(update={"checks": checks, "verdict": verdict, "exit_code": exit_code})


def _checks(reported: GateResult, found: GateResult, *, tells_all: bool) -> Iterator[Judged]:
    """Which cases a comparison found follows from it as long as it tells all of them."""
    made = {check.name: check for check in found.checks}
    yield "gate.checks", _names(reported), _names(found)
    for check in reported.checks:
        if check.name in made:
            yield from _figures(check, made[check.name])
            if check.name not in COMPARED or tells_all:
                yield f"gate.checks.{check.name}.cases", check.cases, made[check.name].cases


def _names(gate: GateResult) -> str:
    return ", ".join(sorted(check.name for check in gate.checks))


def _figures(reported: GateCheck, found: GateCheck) -> Iterator[Judged]:
    place = f"gate.checks.{reported.name}"
    yield from ((f"{place}.{name}", getattr(reported, name), getattr(found, name)) for name in _JUDGED)
    if reported.name not in COMPARED:
        yield f"{place}.text", _said(reported), _said(found)


def _said(check: GateCheck) -> Finding:
    """Of a limit, not which case is slowest: times are written with fewer digits than they were measured with.

    How many trials are to be graded is described elsewhere.
    """
    text = check.text
    if text.code == "gate.limit_open" and isinstance(text.params.get("found"), Finding):
        text = text.params["found"]
    return text.model_copy(update={"params": {key: value for key, value in text.params.items() if key != "case"}})


def _verdict(report: Report) -> Iterator[Judged]:
    """Whether the run was stopped is not reported: any that fits will do."""
    fitting = dict(_verdicts(report))
    verdict = report.verdict if report.verdict in fitting else next(iter(fitting))
    yield "verdict", report.verdict, verdict
    yield "exit_code", report.exit_code, fitting[verdict]


def _verdicts(report: Report) -> Iterator[tuple[Verdict, int]]:
    rate, failed = report.metadata.max_error_rate, report.summary.trials.failed
    for limit in (1.0, 0.0) if rate is None else (rate,):
        for stopped in ("", "time limit", "spend cap", *(["max failures"] if failed else [])):
            verdict, exit_code, _ = run_verdict(report.summary, limit, stopped)
            yield verdict, exit_code
