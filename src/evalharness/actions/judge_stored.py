"""Judge what is stored: the gate of a run, or the one that flags ask for, applied anew to its trials or its report."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from evalharness.actions.apply_gate import gated
from evalharness.actions.choose_gate import GateWishes, with_gate
from evalharness.actions.compare_with_baseline import find_baseline
from evalharness.actions.find_reports import find_report
from evalharness.actions.make_report import measured_trials, with_report
from evalharness.domain.report import Report
from evalharness.domain.suite import Suite
from evalharness.engine.judging import judge, may_be_gated
from evalharness.engine.recounting import recount
from evalharness.engine.tallying import Measured
from evalharness.errors import UsageError
from evalharness.stores.sql_store import SqlStore

WAYS = "give --gate production, --fail-under 90, --baseline B or --strict-flips, or write a `gate:` into the suite"


def judge_stored(reference: str, wishes: GateWishes, store: SqlStore, day: date) -> Report:
    """`reference` is a run, or a file with its JSON report. What is unfinished or INVALID is given back as it is."""
    path = Path(reference)
    is_file = path.suffix.lower() == ".json" and path.is_file()
    report, suite, measured = _of_file(reference, store) if is_file else _of_run(reference, store)
    suite = with_gate(suite, wishes, path.parent)
    if suite.gate is None:
        what = "a report file carries no gate" if is_file else f"run {report.metadata.run_name} has no gate"
        raise UsageError(f"{what}, and none is asked for", hint=WAYS)
    if report.exit_code in (130, 3) or not may_be_gated(report.verdict, report.summary):
        return report
    if suite.gate.compares:
        find_baseline(suite.gate, store, suite.name)  # one that cannot be found is a mistake in the command
    return gated(report, suite, measured, store, day)


def _of_run(reference: str, store: SqlStore) -> tuple[Report, Suite, Measured]:
    run = store.find_run(reference)
    report = with_report(store, run).report
    assert report is not None, "just made"
    stopped, _ = store.progress(run.id)
    return _ungated(report, run.suite.max_error_rate, stopped), run.suite, measured_trials(store, run)


def _of_file(reference: str, store: SqlStore) -> tuple[Report, Suite, Measured]:
    """Had errors made the run INVALID, no gate would have judged it."""
    report = find_report(reference, store).report
    suite, measured = recount(report)
    return report if report.gate is None else _ungated(report, 1.0, ""), suite, measured


def _ungated(report: Report, max_error_rate: float, stopped: str) -> Report:
    """As it would read without a gate."""
    not_needed = report.sequential.not_needed if report.sequential else 0
    verdict, exit_code, why = judge(report.summary, max_error_rate, stopped, not_needed)
    said = {"verdict": verdict, "exit_code": exit_code, "why": why}
    return report.model_copy(update={**said, "gate": None, "comparison": None})
