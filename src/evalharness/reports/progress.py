"""Progress in plain stable lines, for logs, pipes and CI; the bar for terminals is `live_progress.py`."""

from __future__ import annotations

from evalharness.domain.case import as_text
from evalharness.domain.plain_numbers import count
from evalharness.domain.run import Run
from evalharness.domain.trial import Trial
from evalharness.reports.screen import Screen
from evalharness.reports.sequential_text import announced
from evalharness.reports.wording import verdict_words

STEPS = 10
LINES_FROM = 50


class PlainProgress:
    """One line when a run starts, one for every tenth of a long run; with `verbose`, one or more for every trial."""

    def __init__(self, screen: Screen, *, verbose: bool = False) -> None:
        self._screen = screen
        self._verbose = verbose
        self._planned = 0
        self._finished = 0

    def run_started(self, run: Run, finished_before: int) -> None:
        self._planned, self._finished = run.planned_trials, finished_before
        cases = f"{count(len(run.suite.cases), 'case')} × {count(run.lock.trials, 'trial')}"
        resumed = f", {finished_before} finished before" if finished_before else ""
        doing = "regrading" if run.regrade_of else "running"
        self._screen.say(f"{doing} {run.suite.name} on {run.variant} as {run.name}: {cases}{resumed}")
        if run.options.sequential and not run.regrade_of:
            self._screen.say(f"  {announced(run.options.sequential, run.planned_trials)}")

    def trial_finished(self, trial: Trial) -> None:
        self._finished += 1
        if self._verbose:
            say_trial(trial, self._screen)
        elif (
            self._planned >= LINES_FROM
            and self._finished * STEPS // self._planned > (self._finished - 1) * STEPS // self._planned
        ):
            self._screen.say(f"{self._finished} of {self._planned} trials")

    def run_ended(self, run: Run) -> None:
        """The verdict says the rest."""


def say_trial(trial: Trial, screen: Screen) -> None:
    """A trial with its grades, reasons and the head of its output."""
    reason = f"  {screen.one_line(trial.reason)}" if trial.reason else ""
    screen.say(f"{trial.state:<8} {trial.case_id} #{trial.index + 1}{reason}")
    for grade in trial.grades:
        reason = f"  {screen.one_line(grade.reason)}" if grade.reason else ""
        screen.say(f"         {grade.grader}: {verdict_words(grade)}{reason}")
    if trial.output is not None:
        screen.say(f"         output: {screen.one_line(as_text(trial.output))}")
