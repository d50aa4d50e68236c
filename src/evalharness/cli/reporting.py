"""What `run` and `resume` print: progress while it goes on, then the report. The worst run decides the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from evalharness.actions.execute_runs import NoWatcher
from evalharness.actions.run_suite import PlannedRun, dry_text
from evalharness.cli.stdout import console_on, reserved_stdout
from evalharness.contracts import Watcher
from evalharness.domain.run import Run
from evalharness.engine.judging import worst
from evalharness.formats.loading import LoadedFile
from evalharness.reports.json_report import write_json
from evalharness.reports.progress import LiveProgress, PlainProgress
from evalharness.reports.terminal import TerminalReport
from evalharness.reports.wording import count, harmless, money
from evalharness.stores.sql_store import SqlStore


@contextmanager
def watched(*, as_json: bool, verbose: bool) -> Iterator[tuple[Watcher, TextIO]]:
    """With --json, progress is shown on stderr, and only where a person is watching."""
    with reserved_stdout() as stream:
        watcher: Watcher
        if as_json:
            watcher = LiveProgress(console_on(sys.stderr)) if sys.stderr.isatty() else NoWatcher()
        elif stream.isatty():
            watcher = LiveProgress(console_on(stream), verbose=verbose)
        else:
            watcher = PlainProgress(console_on(stream), verbose=verbose)
        yield watcher, stream


def print_warnings(files: Sequence[LoadedFile]) -> None:
    for problem in (problem for file in files for problem in file.problems if problem.severity == "warning"):
        print(harmless(str(problem)), file=sys.stderr)


def report_runs(runs: Sequence[Run], store: SqlStore, stream: TextIO, *, as_json: bool) -> int:
    reported = [(run, run.report) for run in runs if run.report is not None]
    if as_json:
        write_json([(report, store.trials(run.id)) for run, report in reported], stream)
    else:
        TerminalReport(console_on(stream)).show(runs)
    stream.flush()
    return worst([report.exit_code for _, report in reported])


def print_dry_run(planned: Sequence[PlannedRun], *, as_json: bool) -> int:
    if as_json:
        print(dry_text(list(planned)))
        return 0
    for plan in planned:
        run = plan.run
        cases, trials = len(run.suite.cases), run.lock.trials
        print(
            f"{run.suite.name} on {run.variant}: {count(cases, 'case')} × {count(trials, 'trial')} = {cases * trials:,}"
        )
        cost = plan.known_cost_usd
        print(f"  cost: {'about ' + money(cost) + ', judging by the last run' if cost is not None else 'not known'}")
    print("nothing was started (--dry-run)")
    return 0
