"""Progress as a live bar on a terminal. Imported only where somebody watches: rich's bars are slow to load."""

from __future__ import annotations

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from evalharness.domain.run import Run
from evalharness.domain.trial import Trial
from evalharness.reports.progress import say_trial
from evalharness.reports.screen import Screen
from evalharness.reports.sequential_text import announced


class LiveProgress:
    """A bar as wide as the terminal allows, with counts of what passed and failed so far."""

    def __init__(self, screen: Screen, *, verbose: bool = False) -> None:
        self._screen = screen
        self._verbose = verbose
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[states]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=screen.console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            refresh_per_second=10,
            expand=True,
        )
        self._task: TaskID | None = None
        self._counts: dict[str, int] = {}

    def run_started(self, run: Run, finished_before: int) -> None:
        self._counts = {}
        if run.options.sequential and not run.regrade_of:
            self._screen.say(f"{run.suite.name} {announced(run.options.sequential, run.planned_trials)}")
        self._progress.start()
        label = self._screen.one_line(f"{run.suite.name} on {run.variant}", max(8, self._screen.console.width // 4))
        self._task = self._progress.add_task(label, total=run.planned_trials, completed=finished_before, states="")

    def trial_finished(self, trial: Trial) -> None:
        self._counts[trial.state] = self._counts.get(trial.state, 0) + 1
        if self._task is not None:
            states = " ".join(f"{number} {state}" for state, number in sorted(self._counts.items()))
            self._progress.update(self._task, advance=1, states=states)
        if self._verbose:
            say_trial(trial, self._screen)

    def run_ended(self, run: Run) -> None:  # noqa: ARG002
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
        self._progress.stop()
