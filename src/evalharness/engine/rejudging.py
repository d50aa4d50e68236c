"""Rejudging: the verdict of a report, and what its gate checked, decided anew from counted trials. Pure.

A report does not hold its gate, but each check says what was wanted: enough to judge shares and limits again. A
comparison with the baseline is taken as it is told: it is found anew in `recomparing.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalharness.domain.gate import METRIC, Gate, GateCheck, GateResult, Thresholds
from evalharness.domain.report import Report, Verdict
from evalharness.engine.gating import EXIT_CODES, as_decided, comparison_check, gate_verdict
from evalharness.engine.judging import judge, judge_by_gate, may_be_gated
from evalharness.engine.limiting import limit_checks
from evalharness.engine.thresholding import Counted, threshold_checks

LIMITS = ("max_cost_usd", "max_cost_usd_per_trial", "max_latency_s", "max_median_latency_s")
COMPARED = ("regression", "strict_flips")
Judged = tuple[str, Any, Any]
"""A figure, as told and as found."""


def rejudge(report: Report, counted: Counted) -> Iterator[Judged]:
    """All that can be decided anew, told beside found."""
    if report.gate is None:
        yield from _verdict(report)
        return
    is_gated = any(may_be_gated(verdict, report.summary) for verdict, _ in _verdicts(report))
    yield "gate", "judged", "judged" if is_gated else "not judged: errors, or trials to be done"
    for told, made in _checks(report, report.gate, counted):
        check = as_decided(made, report.sequential) if report.sequential else made
        yield f"gate.checks.{told.name}.passed", told.passed, check.passed
        yield f"gate.checks.{told.name}.value", told.value, check.value
        if told.name not in COMPARED:
            yield f"gate.checks.{told.name}.text", _needed(told), _needed(check)
    found = gate_verdict(report.gate.checks)
    yield "gate.verdict", report.gate.verdict, found
    yield "gate.exit_code", report.gate.exit_code, _nearest(report.gate.exit_code, EXIT_CODES[found])
    verdict, exit_code, _ = judge_by_gate(report.gate, report.summary)
    yield "verdict", report.verdict, verdict
    yield "exit_code", report.exit_code, exit_code


def may_say_so(report: Report) -> bool:
    """Whether a report without a gate can have come to its verdict."""
    return (report.verdict, report.exit_code) in _verdicts(report)


def believed_checks(report: Report) -> list[str]:
    """The checks that are not made anew."""
    made = {*LIMITS, *_compared(report)}
    checks = report.gate.checks if report.gate else ()
    return [check.name for check in checks if check.name not in made and not _metric(check)]


def _compared(report: Report) -> tuple[str, ...]:
    """The checks that follow from the comparison."""
    told = report.comparison
    return () if told is None else COMPARED if told.tells_all else COMPARED[:1]


def _checks(report: Report, gate: GateResult, counted: Counted) -> Iterator[tuple[GateCheck, GateCheck]]:
    held = set(gate.quarantined)
    counted = counted.narrowed(tuple(case for case in counted.suite.cases if case.id not in held))
    for told in gate.checks:
        if told.name in LIMITS:
            asked = Gate().model_copy(update={told.name: told.wanted})
            found = list(limit_checks(asked, counted))
        elif metric := _metric(told):
            asked = Gate().model_copy(update={"thresholds": _thresholds(metric, told)})
            found = [made for made in threshold_checks(asked, counted) if isinstance(made, GateCheck)]
        elif report.comparison is not None and told.name in _compared(report):
            found = [comparison_check(told.name, report.comparison)]
        else:
            continue
        missing = GateCheck(name=told.name, passed=None, text="no case of this group counts")
        yield told, found[0] if found else missing


def _metric(check: GateCheck) -> str:
    metric = check.name.partition(" ")[0]
    return metric if METRIC.fullmatch(metric) else ""


def _thresholds(metric: str, check: GateCheck) -> Thresholds:
    """Unchecked: a value that no gate would take is one more thing that does not fit."""
    kind, _, name = check.name.partition(" ")[2].partition(" ")
    minimum = {metric: check.wanted}
    field = {"": "default", "category": "categories"}.get(kind, kind)
    return Thresholds().model_copy(update={field: {name: minimum} if kind else minimum})


def _needed(check: GateCheck) -> str:
    """Of a limit, what was wanted: times are written with fewer digits than they were measured with."""
    return check.text.rpartition(", ")[2] if check.name in LIMITS else check.text


def _verdict(report: Report) -> Iterator[Judged]:
    """Whether the run was stopped is not told: any that fits will do."""
    fitting = dict(_verdicts(report))
    verdict = report.verdict if report.verdict in fitting else next(iter(fitting))
    yield "verdict", report.verdict, verdict
    yield "exit_code", report.exit_code, fitting[verdict]


def _verdicts(report: Report) -> Iterator[tuple[Verdict, int]]:
    rate, failed = report.metadata.max_error_rate, report.summary.trials.failed
    for limit in (1.0, 0.0) if rate is None else (rate,):
        for stopped in ("", "time limit", "spend cap", *(["max failures"] if failed else [])):
            verdict, exit_code, _ = judge(report.summary, limit, stopped)
            yield verdict, exit_code


def _nearest(told: int, allowed: tuple[int, ...]) -> int:
    """What an inconclusive gate means is for its suite to say."""
    return told if told in allowed else allowed[0]
