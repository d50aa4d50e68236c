"""Write the report of a run to a file."""

from __future__ import annotations

from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.run import Run
from evalharness.errors import HarnessError
from evalharness.reports import report_files
from evalharness.steps.find_runs import find_run
from evalharness.steps.make_report import with_report
from evalharness.steps.report_runs import reported_run


async def write_report(context: Context, run: Run | ReportedRun | str, path: Path, reporter: str | None = None) -> None:
    """Of a run, of one that a gate judged, or of a stored one by id or name.

    The ending of the file chooses the reporter, unless it is named. Raises UsageError for a file that no reporter
    writes, or that contains something else, which would be lost.
    """
    store = context.store
    found = with_report(context, find_run(run, store)) if isinstance(run, str) else run
    presentation = Presentation(store.redactor.redact, with_next_step=False)
    try:
        report_files.write_report_file(path, _reported(found, store), presentation, reporter)
    except OSError as error:
        raise HarnessError(f"cannot write {path}: {error.strerror or error}") from None


def _reported(run: Run | ReportedRun, store: Store) -> ReportedRun:
    if isinstance(run, ReportedRun):
        return run
    if run.report is None:
        raise HarnessError(f"run {run.name} has no report yet")
    return reported_run(run, store)
