"""Apply the gate: a finished report gets its comparison with the baseline, and the gate's verdict, which decides."""

from __future__ import annotations

from datetime import date

from evalharness.contracts.store import Store
from evalharness.domain.comparison import Comparison
from evalharness.domain.finding import Finding, as_finding, finding
from evalharness.domain.gate import GateResult
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.engine.gating.gate_checks import judge_gate
from evalharness.engine.gating.run_verdict import judge_by_gate, may_be_gated, run_verdict
from evalharness.engine.measuring.trial_counts import Measured
from evalharness.errors import Hint, UsageError
from evalharness.steps.compare_with_baseline import compare_as_gated, compare_as_known


def apply_gate(run: Run, report: Report, measured: Measured, store: Store, day: date) -> Report:
    """A run that was not finished, or cannot be trusted, is neither compared nor gated."""
    if not may_be_gated(report.verdict, report.summary):
        return report
    if run.suite.gate is not None:
        report = gated(report, run.suite, measured, store, day)
    if report.comparison is None and not report.not_compared:
        report = report.model_copy(update=compare_as_known(run, report, store, day))
    return report


def gated(report: Report, suite: Suite, measured: Measured, store: Store, day: date) -> Report:
    """By the suite's gate alone, whatever the report said before."""
    gate = suite.gate
    assert gate is not None, "asked for where there is one"
    comparison: Comparison | None = None
    not_compared: Finding | None = None
    if gate.compares:
        try:
            comparison = compare_as_gated(gate, report, store, day)
        except UsageError as error:  # the run is over: its report says what it cannot be compared with
            hint = error.hint or Hint("hint.other_baseline", run=report.metadata.run_name)
            not_compared = finding("comparison.refused", "warning", message=error.message, hint=as_finding(hint))
    trials = report.metadata.trials_per_case
    found = judge_gate(
        gate,
        suite,
        trials,
        measured,
        comparison=comparison,
        today=day,
        not_compared=not_compared,
        sequential=report.sequential,
    )
    return decided(report.model_copy(update={"comparison": comparison, "not_compared": not_compared}), found)


def without_gate(report: Report) -> Report:
    """As it would read had it none. Errors cannot have made it INVALID: no gate would have judged it."""
    if report.gate is not None:
        verdict, exit_code, why = run_verdict(report.summary, 1.0, "")
        report = report.model_copy(update={"verdict": verdict, "exit_code": exit_code, "why": why})
    return report.model_copy(update={"gate": None, "comparison": None, "not_compared": None})


def decided(report: Report, gate: GateResult) -> Report:
    verdict, exit_code, why = judge_by_gate(gate, report.summary)
    return report.model_copy(update={"gate": gate, "verdict": verdict, "exit_code": exit_code, "why": why})
