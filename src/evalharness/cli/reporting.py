"""What `run` and `resume` print: progress while it goes on, then the report. The worst run decides the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from evalharness.actions.analyse_items import with_items
from evalharness.actions.execute_runs import NoWatcher
from evalharness.actions.foresee_code import runs_code
from evalharness.actions.run_suite import PlannedRun
from evalharness.actions.save_sessions import save_runs
from evalharness.cli.redacting import errors_redacted, redaction_of
from evalharness.cli.stdout import ProgressConsole, is_live, reserved_stdout, screen_on
from evalharness.contracts import Watcher
from evalharness.domain.plain_numbers import count
from evalharness.domain.problem import shortened
from evalharness.domain.run import Run
from evalharness.engine.judging import worst
from evalharness.formats.loading import LoadedFile
from evalharness.reports.json_report import write_json
from evalharness.reports.progress import PlainProgress
from evalharness.reports.report_files import write_reports
from evalharness.reports.screen import Screen
from evalharness.reports.sequential_text import announced
from evalharness.reports.session_files import make_folder
from evalharness.reports.terminal import TerminalReport
from evalharness.reports.wording import harmless, money
from evalharness.stores.sql_store import SqlStore


@contextmanager
def watched(store: SqlStore, flags: Mapping[str, Any]) -> Iterator[tuple[Watcher, TextIO]]:
    """With --json, progress is shown on stderr, and only where a person is watching."""
    if flags["save_sessions"]:
        make_folder(Path(flags["save_sessions"]))  # a folder that cannot be made is told before anything is run
    redact, as_json = redaction_of(store), flags["as_json"]
    with reserved_stdout() as stream, errors_redacted(redact):
        shown_on = sys.stderr if as_json else stream
        screen = screen_on(shown_on, redact, ProgressConsole)
        yield _watcher(screen, is_live(shown_on), as_json=as_json, verbose=flags["verbose"]), stream


def _watcher(screen: Screen, live: bool, *, as_json: bool, verbose: bool) -> Watcher:
    if live:
        from evalharness.reports.live_progress import LiveProgress  # slow to load: only for those who watch

        return LiveProgress(screen, verbose=verbose and not as_json)
    return NoWatcher() if as_json else PlainProgress(screen, verbose=verbose)


def print_warnings(files: Sequence[LoadedFile]) -> None:
    warnings = (problem for file in files for problem in file.problems if problem.severity == "warning")
    for problem in shortened(warnings):
        print(harmless(str(problem)), file=sys.stderr)


def warn_unprotected(files: Sequence[LoadedFile], targets: Sequence[str]) -> None:
    if any(runs_code(file.suite, targets) for file in files if file.suite):
        print("warning: --sandbox none: code that nobody vouches for runs here unprotected", file=sys.stderr)


def report_runs(runs: Sequence[Run], store: SqlStore, stream: TextIO, flags: Mapping[str, Any]) -> int:
    runs = [with_items(store, run) for run in runs]
    reported = [(run, run.report) for run in runs if run.report is not None]
    told = [(report, partial(store.trials, run.id)) for run, report in reported]
    try:
        if flags["as_json"]:
            write_json([(report, store.trials(run.id)) for run, report in reported], stream, redaction_of(store))
        else:
            TerminalReport(screen_on(stream, redaction_of(store)), flags["store"]).show(runs)
        stream.flush()
    finally:  # files are for others than those who read the screen
        write_reports(flags["outputs"], told, redaction_of(store))
    if flags["save_sessions"]:
        shown_on = sys.stderr if flags["as_json"] else stream
        _print_saved(save_runs(runs, store, Path(flags["save_sessions"])), screen_on(shown_on, redaction_of(store)))
    return worst([report.exit_code for _, report in reported])


def _print_saved(files: Sequence[tuple[str, Path]], screen: Screen) -> None:
    for label, path in files:
        screen.say(f"{label}: {path}")


def print_dry_run(planned: Sequence[PlannedRun], store: SqlStore, *, as_json: bool) -> int:
    redact = redaction_of(store)
    if as_json:
        print(redact(json.dumps({"dry_run": [_dry_row(plan) for plan in planned]}, ensure_ascii=False, indent=1)))
        return 0
    screen = screen_on(sys.stdout, redact)
    for plan in planned:
        run = plan.run
        cases, trials = count(len(run.suite.cases), "case"), count(run.lock.trials, "trial")
        screen.say(f"{run.suite.name} on {run.variant}: {cases} × {trials} = {run.planned_trials:,}")
        if run.options.sequential:
            screen.say(f"  {announced(run.options.sequential, run.planned_trials)}")
        cost = plan.known_cost_usd
        screen.say(f"  cost: {'not known' if cost is None else f'about {money(cost)}, judging by the last run'}")
    screen.say("nothing was started (--dry-run)")
    return 0


def _dry_row(plan: PlannedRun) -> dict[str, Any]:
    run = plan.run
    return {
        "suite": run.suite.name,
        "variant": run.variant,
        "target": run.target.label,
        "cases": len(run.suite.cases),
        "trials_per_case": run.lock.trials,
        "trials": run.planned_trials,
        "known_cost_usd": plan.known_cost_usd,
    }
