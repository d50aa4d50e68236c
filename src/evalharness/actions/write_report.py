"""Write reports: of a run to a file; and find the stored runs, or those in report files, that a report is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.run import Run
from evalharness.errors import HarnessError, UnknownName
from evalharness.formats.results.written_reports import ENDING, read_reports, read_trials
from evalharness.reports import report_files
from evalharness.steps.find_reports import no_such_file
from evalharness.steps.find_runs import counted_back, find_run, named_baseline
from evalharness.steps.make_report import with_report
from evalharness.steps.report_runs import reported_run, stored_run


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


async def find_reported(context: Context, references: Sequence[str]) -> list[ReportedRun]:
    """Runs, baselines (all their runs) and files with JSON reports (all their reports), in this order."""
    return [found for reference in references for found in _found(context, reference)]


async def find_together(context: Context, matrix_id: str) -> list[ReportedRun]:
    """The runs that one command started together, with their reports as they were kept, without what was asked: they
    may be large. Raises UnknownName if there are none."""
    store = context.store
    ends = store.ends(matrix_id)
    if not ends:
        raise UnknownName("matrix", matrix_id, [])
    return [stored_run(end.id, store) for end in ends]


def _found(context: Context, reference: str) -> Iterator[ReportedRun]:
    store = context.store
    try:
        run_ids = _run_ids(reference, store)
    except UnknownName as error:
        path = Path(reference)
        if not path.is_file():
            looks_like_file = path.suffix.lower() == ENDING
            raise (no_such_file(path, error) if looks_like_file else error) from None
        for position, report in enumerate(read_reports(path)):
            yield ReportedRun(report, trials=partial(read_trials, path, position))
        return
    for run_id in run_ids:
        yield reported_run(with_report(context, store.find_run(run_id)), store)


def _run_ids(reference: str, store: Store) -> tuple[str, ...]:
    try:
        return (store.outline(reference).id,)
    except UnknownName:
        if run_id := counted_back(reference, store):
            return (run_id,)
        baseline = named_baseline(reference, store)
        if baseline is None:
            raise
        return tuple(baseline.run_ids)


def _reported(run: Run | ReportedRun, store: Store) -> ReportedRun:
    if isinstance(run, ReportedRun):
        return run
    if run.report is None:
        raise HarnessError(f"run {run.name} has no report yet")
    return reported_run(run, store)
