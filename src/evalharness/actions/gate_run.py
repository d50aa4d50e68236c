"""Gate a run: its own gate, or the one that flags ask for, applied again to its stored trials or its report."""

from __future__ import annotations

from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.gate import GateOverrides
from evalharness.domain.report import Report
from evalharness.domain.reported_run import ReportedRun
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.engine.gating.run_verdict import may_be_gated
from evalharness.engine.measuring.trial_counts import Measured
from evalharness.engine.verifying.reported_counts import recount
from evalharness.engine.verifying.reported_verdict import may_say_so
from evalharness.errors import Hint, UnknownName, UsageError
from evalharness.formats.results.written_reports import ENDING, read_report, read_trials
from evalharness.steps.apply_gate import find_baseline, gated, with_gate, without_gate
from evalharness.steps.choose_stopping import apply_stopping, check_question
from evalharness.steps.find_reports import no_such_file
from evalharness.steps.find_runs import find_run
from evalharness.steps.make_report import make_report, measured_trials
from evalharness.steps.report_runs import reported_run


async def gate_run(context: Context, reference: str, overrides: GateOverrides) -> ReportedRun:
    """`reference` is a run, or a file with its JSON report. What is unfinished or INVALID is given back as it is."""
    store = context.store

    def reported(report: Report) -> ReportedRun:
        if run is None:
            return ReportedRun(report, trials=lambda: read_trials(path))
        return reported_run(run, store, report)

    path, is_file = Path(reference), _is_report_file(reference)
    run = None if is_file else _find(reference, store)
    report, suite, measured = _of_file(path) if run is None else _of_run(run, store)
    suite = with_gate(suite, overrides, path.parent, store)
    if suite.gate is None:
        what = (
            "the gate in a report file is not applied again"
            if is_file
            else f"run {report.metadata.run_name} has no gate"
        )
        raise UsageError(f"{what}, and none was given", hint=Hint("hint.ask_for_gate"))
    if report.exit_code in (130, 3) or not may_be_gated(report.verdict, report.summary):
        return reported(report)
    check_question(suite.gate, report, store)
    if suite.gate.compares:
        find_baseline(suite.gate, store, suite.name, suite)  # one that cannot be found is a mistake in the command
    return reported(gated(report, suite, measured, store, context.today, run))


def _is_report_file(reference: str) -> bool:
    path = Path(reference)
    return path.suffix.lower() == ENDING and path.is_file()


def _find(reference: str, store: Store) -> Run:
    try:
        return find_run(reference, store)
    except UnknownName as error:
        path = Path(reference)
        if path.suffix.lower() == ENDING and not path.exists():
            raise no_such_file(path, error) from None
        raise


def _of_run(run: Run, store: Store) -> tuple[Report, Suite, Measured]:
    """As it reads without a gate."""
    stopped, elapsed_s = store.progress(run.id)
    measured = measured_trials(store, run)
    report = make_report(run, measured, stopped=stopped, elapsed_s=elapsed_s)
    return apply_stopping(run, report, store), run.suite, measured


def _of_file(path: Path) -> tuple[Report, Suite, Measured]:
    """The same."""
    report = read_report(path)
    try:
        suite, measured = recount(report)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", hint=error.hint) from None
    report = without_gate(report)
    if report.summary.trials.planned and not may_say_so(report):
        raise UsageError(
            f"{path}: the verdict {report.verdict} (exit code {report.exit_code}) does not follow from its trials",
            hint=Hint("hint.verify_file", path=str(path)),
        )
    return report, suite, measured
