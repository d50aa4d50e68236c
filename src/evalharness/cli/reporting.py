"""What `run` and `resume` print: progress while it goes on, then the report. The worst run decides the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from evalharness.cli.github import github_step
from evalharness.cli.process import DivertedOutput, StoppedCommands, reserved_stdout, signals_handled
from evalharness.cli.run_pages import RunPages
from evalharness.cli.stdout import ProgressConsole, command_name, is_live, screen_on
from evalharness.cli.written_files import WIDTH, Written, from_here, say_written, write_all
from evalharness.domain.case import session_file
from evalharness.domain.finding import Finding
from evalharness.domain.plain_numbers import count
from evalharness.domain.problem import without_repeats
from evalharness.domain.report import worst
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.run import PlannedRun, Run
from evalharness.domain.suite import LoadedFile
from evalharness.domain.trial import Trial
from evalharness.harness import Execution, Harness, StopSignal
from evalharness.reports.json_text import json_text
from evalharness.reports.report_files import print_report, write_reports
from evalharness.reports.report_folders import foreign_link, write_folder
from evalharness.reports.terminal.progress import PlainProgress
from evalharness.reports.terminal.screen import Screen
from evalharness.reports.terminal.sequential import announced
from evalharness.reports.wording import harmless, money
from evalharness.reports.words.say import say

MOST_REPEATED = 10
"""Evals whose repeats are shown; the files have all of them."""


class Announcer:
    """Hears how a command goes: prints what was noticed in its files, then shows progress."""

    def __init__(self) -> None:
        self.progress: Any = None
        self.diverted: Any = None
        self.pages: Any = None
        self.stopped = StoppedCommands()
        self._redactor: Any = None
        self._announced: set[str] = set()
        self._started: set[str] = set()

    def redact(self, text: str) -> str:
        """What is shown is redacted as what is stored is; which secrets there are is known once files are read."""
        return text if self._redactor is None else str(self._redactor.redact(text))

    @property
    def redactor(self) -> Any:
        return self._redactor

    def begun(self, files: Sequence[LoadedFile], redactor: Any, *, is_unprotected: bool = False) -> None:
        self._redactor = redactor
        print_warnings(files)
        if is_unprotected:
            print("warning: --sandbox none: untrusted code runs without protection", file=sys.stderr)

    def has_announced(self, run: Run) -> bool:
        """Whether progress has named it already."""
        return run.id in self._announced

    def has_started(self, run: Run) -> bool:
        """Whether something was done for it: `resume` may also print an old verdict again."""
        return run.id in self._started

    def preparing(self, found: Finding, *, is_passing: bool = False) -> None:
        if self.progress is not None:
            self.progress.preparing(found, is_passing=is_passing)

    def run_started(self, run: Run, finished_before: int) -> None:
        if not self._started and self.pages is not None:
            self.pages.run_started(run)
        self._started.add(run.id)
        if self.progress is not None:
            self._announced.add(run.id)
            self.progress.run_started(run, finished_before)
        if self.diverted is not None:
            self.diverted.start()

    def trial_finished(self, trial: Trial) -> None:
        if self.progress is not None:
            self.progress.trial_finished(trial)

    def run_ended(self, run: Run) -> None:
        if self.progress is not None:
            self.progress.run_ended(run)

    def finish(self) -> None:
        """No run is under way any more, however it ended: the line of progress goes, the last words of targets stay."""
        if self.diverted is not None:
            self.diverted.stop()
            self.progress.stop()
        self.stopped.stop()


class RunCommand:
    """A command that runs something: how it is executed, and where its report goes."""

    def __init__(self, execution: Execution, announcer: Announcer, stream: TextIO, flags: Mapping[str, Any]) -> None:
        self.execution = execution
        self._announcer = announcer
        self._stream = stream
        self._flags = flags
        self._pages = announcer.pages

    def redact(self, text: str) -> str:
        return self._announcer.redact(text)

    def selftest(self, request: Any, harness: Harness) -> tuple[int, Any]:
        """The exit code of a selftest of what is to be run, and what is left to do: with what it spent off the caps.

        Only a selftest that keeps the run from starting is printed whole.
        """
        from evalharness.actions.selftest_suite import SelftestRequest, selftest_suites
        from evalharness.cli.selftest import show

        asked = SelftestRequest(
            suites=request.suites,
            format_name=request.format_name,
            selection=request.selection,
            variables=request.variables,
            env=request.env,
            options=request.options,
        )
        result = harness.call(selftest_suites, asked)
        code = worst([each.exit_code for each in result.selftests])
        if code:
            return show(result, self._stream, self._flags), request
        from evalharness.reports.terminal.selftest import why

        screen = screen_on(sys.stderr, result.redactor.redact)
        for each in result.selftests:
            screen.say(f"selftest of {each.suite_name}: {each.verdict}: {why(each)}")
        return 0, replace(request, options=result.left_of(request.options))

    def print_doubts(self, runs: Sequence[Run]) -> None:
        """What the reports warn of, also where they are printed as JSON for a program to read."""
        for note in (note for run in runs if run.report for note in run.report.notes):
            if self._flags["as_json"] and note.severity == "warning":
                print(harmless(f"warning: {self.redact(say(note))}"), file=sys.stderr)

    def finish(self) -> TextIO:
        """No run is under way any more; returns where results are printed."""
        self._announcer.finish()
        return self._stream

    def has_announced(self, runs: Iterable[Run]) -> bool:
        return all(map(self._announcer.has_announced, runs))

    def report(self, runs: Sequence[Run], harness: Harness) -> int:
        """Everything that was asked for; returns the exit code."""
        flags, redact = self._flags, self._announcer.redact
        self.finish()
        reported = [harness.reported(run) for run in runs if run.report]
        presentation = Presentation(
            redact,
            command_name(),
            flags["store"],
            is_live(self._stream),
            with_header=not self.has_announced(runs),
            verbosity=flags["verbosity"],
        )
        try:
            if step := github_step(harness, flags, self._stream, redact):
                step.show_runs(reported)
            print_report("json" if flags["as_json"] else "terminal", reported, self._stream, presentation)
            self._stream.flush()
        finally:  # files are for others than those who read the screen
            code, files = self._write_files(reported, presentation)
            saved = self._save_sessions(runs, harness)
        if not flags["as_json"] and flags["verbosity"] >= 0:
            width = len(f"{reported[0].report.verdict}   ") if len(reported) == 1 else WIDTH
            say_written(files, screen_on(self._stream, redact), width)
            self._pages.say(runs, screen_on(self._stream, redact), width)
        self._pages.open_report()
        for each in saved:
            self._say_saved(each)
        if not saved and not flags["as_json"] and flags["verbosity"] >= 0:
            _print_diagnosed(filter(_repeats_sessions, runs), harness, screen_on(self._stream, redact))
        self._stream.flush()
        self._notify([run for run in runs if run.report and self._announcer.has_started(run)], harness)
        return code

    def _save_sessions(self, runs: Sequence[Run], harness: Harness) -> list[Any]:
        """Save each run whose sessions are wanted; returns each as a SavedRun (Any: its module is slow to load)."""
        folders = [self._flags["save_sessions"] or run.options.sessions_folder for run in runs]
        if not any(folders):
            return []
        from evalharness.actions.save_sessions import save_run

        return [
            harness.call(save_run, run, self._announcer.redactor, from_here(Path(folder)))
            for run, folder in zip(runs, folders, strict=True)
            if folder
        ]

    def _say_saved(self, saved: Any) -> None:
        screen = screen_on(sys.stderr if self._flags["as_json"] else self._stream, self._announcer.redact)
        _print_repeats(saved.summary.repeats, screen, rest_in="the log")
        screen.say()
        for label, path in saved.files.items():
            screen.say(f"{label}: {path}")

    def _notify(self, runs: Sequence[Run], harness: Harness) -> None:
        """At last, as it may take its time; Ctrl-C ends it. The exit code is what it was."""
        if self.execution.stop.is_sent or not any(
            run.suite.notify or harness.context.settings.notifies for run in runs
        ):
            return
        from evalharness.actions.notify_of_runs import notify_of_runs  # slow to load: only for those who want it

        print_notify_warnings(
            lambda: harness.call(notify_of_runs, runs, self._flags["variables"], self._flags["env"]),
            self.execution.stop,
            self.redact,
        )

    def _write_files(self, reported: Sequence[ReportedRun], presentation: Presentation) -> Written:
        """What was asked for by flags, and what suites ask for; with the exit code of the runs."""
        code = worst([each.report.exit_code for each in reported])
        writes: list[Callable[[], Iterable[Path]]] = [
            partial(write_reports, [path], reported, presentation) for path in self._flags["outputs"]
        ]
        writes += [partial(write_folder, each, presentation) for each in reported]
        writes += [partial(write_reports, [path], reported, presentation) for path in self._pages.reports(reported)]
        warn_of_links(reported, presentation.redact)
        return write_all(code, writes, presentation.redact)


def warn_of_links(reported: Iterable[ReportedRun], redact: Callable[[str], str]) -> None:
    for link in dict.fromkeys(filter(None, map(foreign_link, reported))):
        warning = f"warning: {from_here(link)} links to {link.readlink()}, so it does not show the newest reports"
        print(harmless(redact(warning)), file=sys.stderr)


def print_notify_warnings(
    notify: Callable[[], Sequence[Finding]], stop: StopSignal, redact: Callable[[str], str]
) -> None:
    """Notify, until Ctrl-C; whatever comes of it is a warning at most."""

    def give_up(_at_once: bool) -> None:
        raise KeyboardInterrupt

    try:
        with stop.heard_by(give_up):
            warnings = [say(found) for found in notify()]
    except KeyboardInterrupt:
        warnings = ["interrupted before everybody was notified"]
    for warning in warnings:
        print(harmless(redact(f"warning: {warning}")), file=sys.stderr)


@contextmanager
def running(flags: Mapping[str, Any], harness: Harness) -> Iterator[RunCommand]:
    """With --json, progress is shown on stderr, and only where a person is watching."""
    if flags["save_sessions"]:
        from evalharness.reports.session_files import make_folder

        make_folder(Path(flags["save_sessions"]))  # a folder that cannot be made is reported before anything is run
    announcer = Announcer()
    announcer.pages = RunPages(harness, flags["store"], opens=flags.get("opens", False))
    stop = StopSignal()
    handled = signals_handled(stop, hides_printed=flags["verbosity"] < 0)
    with reserved_stdout() as stream, handled as guard, _terminal(stream, flags) as shown_on:
        _show_progress(announcer, shown_on, flags)
        guard.watcher = announcer
        announcer.stopped.start()
        try:
            yield RunCommand(Execution(guard, stop), announcer, stream, flags)
        finally:
            announcer.finish()


@contextmanager
def _terminal(stream: TextIO, flags: Mapping[str, Any]) -> Iterator[TextIO]:
    """Where progress is shown: a stream of its own, whatever becomes of standard error."""
    if not flags["as_json"]:
        yield stream
        return
    with os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace") as shown_on:
        yield shown_on


def _show_progress(announcer: Announcer, shown_on: TextIO, flags: Mapping[str, Any]) -> None:
    if flags["verbosity"] < 0:
        return
    screen = screen_on(shown_on, announcer.redact, ProgressConsole)
    if is_live(shown_on):
        from evalharness.reports.terminal.live_progress import LiveProgress  # only for those who watch

        announcer.progress = LiveProgress(screen)
        announcer.diverted = DivertedOutput(announcer.progress.above, announcer.progress.tick)
    elif not flags["as_json"]:
        announcer.progress = PlainProgress(screen)


def print_warnings(files: Sequence[LoadedFile]) -> None:
    warnings = (problem for file in files for problem in file.problems if problem.severity == "warning")
    screen = screen_on(sys.stderr)
    for problem in without_repeats(warnings):
        screen.entry([], say(problem))


def _repeats_sessions(run: Run) -> bool:
    return run.lock.trials > 1 and any(map(session_file, run.suite.cases))


def _print_diagnosed(runs: Iterable[Run], harness: Harness, screen: Screen) -> None:
    for run in runs:
        from evalharness.actions.save_sessions import diagnose_run  # slow to load: only for recorded sessions

        _print_repeats(harness.call(diagnose_run, run), screen, rest_in="the log that --save-sessions writes")


def _print_repeats(repeats: Any, screen: Screen, rest_in: str) -> None:
    from evalharness.reports.session_files import repeat_lines

    for line in ("", *repeat_lines(repeats, MOST_REPEATED, rest_in)) if repeats else ():
        screen.say(line)


def print_dry_run(planned: Sequence[PlannedRun], announcer: Announcer, *, as_json: bool) -> int:
    redact = announcer.redact
    if as_json:
        rows = [plan.model_dump(mode="json") for plan in planned]
        print(json_text({"dry_run": rows}, redact))
        return 0
    screen = screen_on(sys.stdout, redact)
    for plan in planned:
        cases, trials = count(plan.cases, "case"), count(plan.trials_per_case, "trial")
        screen.say(f"{plan.suite} on {plan.variant}: {cases} × {trials} = {plan.trials:,}")
        if plan.sequential:
            screen.say(f"  {announced(plan.sequential, plan.trials)}")
        cost = plan.known_cost_usd
        known = f"about {money(cost)}, based on the last run" if cost else "nothing, because nothing is sent"
        screen.say(f"  cost: {'not known' if cost is None else known}")
    screen.say("nothing was run (--dry-run)")
    return 0
