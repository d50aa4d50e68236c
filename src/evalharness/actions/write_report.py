"""Write the report of a run to a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.run import Run
from evalharness.errors import HarnessError
from evalharness.reports import report_files
from evalharness.steps.make_report import with_report


async def write_report(context: Context, run: Run | str, path: Path, reporter: str | None = None) -> None:
    """Of a run, or of a stored one by id or name. The ending of the file chooses the reporter, unless it is named.

    Raises UsageError for a file that no reporter writes, or that contains something else, which would be lost.
    """
    store = context.store
    found = with_report(context, store.find_run(run)) if isinstance(run, str) else run
    if found.report is None:
        raise HarnessError(f"run {found.name} has no report yet")
    trials = partial(tuple, found.trials) if found.trials else partial(store.trials, found.id)
    presentation = Presentation(store.redactor.redact, with_next_step=False)
    try:
        report_files.write_report(path, ReportedRun(found.report, found, trials), presentation, reporter)
    except OSError as error:
        raise HarnessError(f"cannot write {path}: {error.strerror or error}") from None
