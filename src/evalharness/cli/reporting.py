"""What `run` and `resume` print: progress while it goes on, then the report. The worst run decides the exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from evalharness.cli.process import DivertedOutput, reserved_stdout, signals_handled
from evalharness.cli.stdout import ProgressConsole, command_name, is_live, screen_on
from evalharness.domain.case import session_file
from evalharness.domain.plain_numbers import count
from evalharness.domain.problem import without_repeats
from evalharness.domain.report import worst
from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.domain.run import PlannedRun, Run
from evalharness.domain.suite import LoadedFile
from evalharness.domain.trial import Trial
from evalharness.harness import Execution, Harness, StopSignal
from evalharness.reports.report_files import print_report, write_reports
from evalharness.reports.terminal.progress import PlainProgress
from evalharness.reports.terminal.screen import Screen
from evalharness.reports.terminal.selftest import why
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
        self._redactor: Any = None
        self._announced: set[str] = set()

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

    def run_started(self, run: Run, finished_before: int) -> None:
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


class RunCommand:
    """A command that runs something: how it is executed, and where its report goes."""

    def __init__(self, execution: Execution, announcer: Announcer, stream: TextIO, flags: Mapping[str, Any]) -> None:
        self.execution = execution
        self._announcer = announcer
        self._stream = stream
        self._flags = flags

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
        screen = screen_on(sys.stderr, result.redactor.redact)
        for each in result.selftests:
            screen.say(f"selftest of {each.suite_name}: {each.verdict}: {why(each)}")
        return 0, replace(request, options=result.left_of(request.options))

    def print_doubts(self, runs: Sequence[Run]) -> None:
        """What the reports warn of, also where they are printed as JSON for a program to read."""
        for note in (note for run in runs if run.report for note in run.report.notes):
            if self._flags["as_json"] and note.severity == "warning":
                print(harmless(f"warning: {self.redact(say(note))}"), file=sys.stderr)

    def report(self, runs: Sequence[Run], harness: Harness) -> int:
        """Everything that was asked for; returns the exit code."""
        flags, redact = self._flags, self._announcer.redact
        self._announcer.finish()
        reported = [harness.reported(run) for run in runs if run.report]
        presentation = Presentation(
            redact,
            command_name(),
            flags["store"],
            is_live(self._stream),
            with_header=not all(map(self._announcer.has_announced, runs)),
            verbosity=flags["verbosity"],
        )
        try:
            print_report("json" if flags["as_json"] else "terminal", reported, self._stream, presentation)
            self._stream.flush()
        finally:  # files are for others than those who read the screen
            code = self._write_files(reported, presentation)
        if flags["save_sessions"]:
            from evalharness.actions.save_sessions import save_runs  # slow to load: only for those who want it

            shown_on = sys.stderr if flags["as_json"] else self._stream
            saved = harness.call(save_runs, runs, self._announcer.redactor, Path(flags["save_sessions"]))
            _print_saved(saved, screen_on(shown_on, redact))
        elif not flags["as_json"] and flags["verbosity"] >= 0:
            _print_diagnosed(filter(_repeats_sessions, runs), harness, screen_on(self._stream, redact))
        return code

    def _write_files(self, reported: Sequence[ReportedRun], presentation: Presentation) -> int:
        """Returns the exit code of the runs. A file that cannot be written never hides that a case failed."""
        code = worst([each.report.exit_code for each in reported])
        try:
            write_reports(self._flags["outputs"], reported, presentation)
        except OSError as error:
            if code != 1:
                raise
            print(harmless(f"error: {error.filename}: {error.strerror}"), file=sys.stderr)
        return code


@contextmanager
def running(flags: Mapping[str, Any]) -> Iterator[RunCommand]:
    """With --json, progress is shown on stderr, and only where a person is watching."""
    if flags["save_sessions"]:
        from evalharness.reports.session_files import make_folder

        make_folder(Path(flags["save_sessions"]))  # a folder that cannot be made is reported before anything is run
    announcer = Announcer()
    stop = StopSignal()
    with reserved_stdout() as stream, signals_handled(stop) as guard, _terminal(stream, flags) as shown_on:
        _show_progress(announcer, shown_on, flags)
        guard.watcher = announcer
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


def _print_saved(saved: Sequence[Any], screen: Screen) -> None:
    for run in saved:
        _print_repeats(run.summary.repeats, screen)
        screen.say()
        for label, path in run.files.items():
            screen.say(f"{label}: {path}")


def _repeats_sessions(run: Run) -> bool:
    return run.lock.trials > 1 and any(map(session_file, run.suite.cases))


def _print_diagnosed(runs: Iterable[Run], harness: Harness, screen: Screen) -> None:
    for run in runs:
        from evalharness.actions.save_sessions import diagnose_run  # slow to load: only for recorded sessions

        _print_repeats(harness.call(diagnose_run, run), screen)


def _print_repeats(repeats: Any, screen: Screen) -> None:
    from evalharness.reports.session_files import repeat_lines

    for line in ("", *repeat_lines(repeats, MOST_REPEATED)) if repeats else ():
        screen.say(line)


def print_dry_run(planned: Sequence[PlannedRun], announcer: Announcer, *, as_json: bool) -> int:
    redact = announcer.redact
    if as_json:
        rows = [plan.model_dump(mode="json") for plan in planned]
        print(redact(json.dumps({"dry_run": rows}, ensure_ascii=False, indent=1)))
        return 0
    screen = screen_on(sys.stdout, redact)
    for plan in planned:
        cases, trials = count(plan.cases, "case"), count(plan.trials_per_case, "trial")
        screen.say(f"{plan.suite} on {plan.variant}: {cases} × {trials} = {plan.trials:,}")
        if plan.sequential:
            screen.say(f"  {announced(plan.sequential, plan.trials)}")
        cost = plan.known_cost_usd
        screen.say(f"  cost: {'not known' if cost is None else f'about {money(cost)}, based on the last run'}")
    screen.say("nothing was run (--dry-run)")
    return 0
