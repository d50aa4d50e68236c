"""Progress in plain stable lines, for logs, pipes and CI; the line for terminals is `live_progress.py`."""

from __future__ import annotations

import time
from collections.abc import Callable

from evalharness.domain.finding import Finding
from evalharness.domain.plain_numbers import count
from evalharness.domain.run import Run
from evalharness.domain.trial import Trial
from evalharness.reports.terminal.screen import Screen
from evalharness.reports.terminal.sequential import announced
from evalharness.reports.terminal.verdict import header
from evalharness.reports.words.say import say

STEPS = 10
LINES_FROM = 50
LINES_AFTER_S = 2.0
"""A run that is over sooner needs no progress in its log."""


def announce(screen: Screen, run: Run, finished_before: int) -> None:
    """The first line of a run, and when it will stop if that is not known."""
    resumed = f" · {finished_before:,} of {count(run.planned_trials, 'trial')} finished before"
    screen.entry([], *header(run, len(run.suite.cases)), resumed if finished_before else "")
    if run.options.sequential and not run.regrade_of:
        screen.entry(["  "], announced(run.options.sequential, run.planned_trials))


class PlainProgress:
    """One line when a run starts, and one for every tenth of a long run."""

    def __init__(self, screen: Screen, clock: Callable[[], float] = time.monotonic) -> None:
        self._screen = screen
        self._clock = clock
        self._began = 0.0
        self._planned = 0
        self._finished = 0

    def preparing(self, found: Finding, *, is_passing: bool = False) -> None:
        if not is_passing:
            self._screen.entry([], say(found))

    def run_started(self, run: Run, finished_before: int) -> None:
        self._planned, self._finished, self._began = run.planned_trials, finished_before, self._clock()
        announce(self._screen, run, finished_before)

    def trial_finished(self, trial: Trial) -> None:  # noqa: ARG002
        self._finished += 1
        if (
            self._planned >= LINES_FROM
            and self._clock() - self._began >= LINES_AFTER_S
            and self._finished * STEPS // self._planned > (self._finished - 1) * STEPS // self._planned
        ):
            self._screen.say(f"{self._finished:,} of {self._planned:,} trials")

    def run_ended(self, run: Run) -> None:
        """The verdict says the rest."""
