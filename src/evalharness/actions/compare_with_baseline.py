"""Compare with a baseline: the one that a gate names, else the suite's newest, and a new report held against it."""

from __future__ import annotations

from datetime import date

from evalharness.actions.find_reports import FoundReport, find_report
from evalharness.domain.comparison import Comparison
from evalharness.domain.gate import Gate, RegressionRule
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.engine.comparing import compare
from evalharness.engine.gating import quarantined
from evalharness.errors import UsageError
from evalharness.stores.sql_store import SqlStore

KEPT_CASES = 1000
"""So many of the cases that changed are stored with a report, the worst first."""


def find_baseline(gate: Gate, store: SqlStore, suite_name: str) -> FoundReport:
    """Raises UsageError where there is none."""
    named = gate.regression.baseline if gate.regression else ""
    if not named:
        known = store.baselines(suite_name)
        if not known:
            raise UsageError(
                f"the gate compares with a baseline, and suite {suite_name} has none",
                hint="run it once with --baseline none, then: eval-harness baseline RUN",
            )
        named = known[0].name
    return find_report(named, store, suite_name)


def compare_as_gated(gate: Gate, report: Report, store: SqlStore, today: date) -> Comparison:
    """As the gate asks; raises UsageError where the two cannot be compared."""
    found = find_baseline(gate, store, report.metadata.suite_name)
    return _compared(found, report, gate, today)


def compare_as_known(run: Run, report: Report, store: SqlStore, today: date) -> Comparison | None:
    """For information, where the suite has a baseline and this run tried its cases anew.

    Not for a run that stops when it is decided: its p-values would not be what they say.
    """
    known = store.baselines(run.suite.name)
    is_anew = not run.regrade_of and run.target.kind != "artifact" and run.options.sequential is None
    if not known or known[0].run_id == run.id or not is_anew:
        return None
    try:
        return _compared(find_report(known[0].name, store, run.suite.name), report, run.suite.gate or Gate(), today)
    except UsageError:  # nothing in common: no gate asked for it, so nobody misses it
        return None


def _compared(found: FoundReport, report: Report, gate: Gate, today: date) -> Comparison:
    rule = gate.regression or RegressionRule()
    return compare(found.report, report, rule, old_source=found.source, ignored=quarantined(gate, today))


def storable(comparison: Comparison) -> Comparison:
    if len(comparison.cases) <= KEPT_CASES:
        return comparison
    return comparison.model_copy(update={"cases": comparison.cases[:KEPT_CASES]})
