"""Progress while a run goes on: a live bar on a terminal, plain stable lines elsewhere."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from evalharness.domain.case import as_text
from evalharness.domain.run import Run
from evalharness.domain.trial import Trial
from evalharness.reports.wording import harmless, one_line

STEPS = 10
LINES_FROM = 50


class PlainProgress:
    """One line when a run starts, one for every tenth of a long run; with `verbose`, one or more for every trial."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._planned = 0
        self._finished = 0
        self._passed = 0

    def run_started(self, run: Run, finished_before: int) -> None:
        self._planned, self._finished, self._passed = run.planned_trials, finished_before, 0
        cases = f"{len(run.suite.cases)} cases × {run.lock.trials} trials"
        resumed = f", {finished_before} finished before" if finished_before else ""
        self._say(f"running {run.suite.name} on {run.variant} as {run.name}: {cases}{resumed}")

    def trial_finished(self, trial: Trial) -> None:
        self._finished += 1
        self._passed += trial.state == "passed"
        if self._verbose:
            for line in trial_lines(trial):
                self._say(line)
        elif (
            self._planned >= LINES_FROM
            and self._finished * STEPS // self._planned > (self._finished - 1) * STEPS // self._planned
        ):
            self._say(f"{self._finished} of {self._planned} trials")

    def run_ended(self, run: Run) -> None:
        """The verdict says the rest."""

    def _say(self, text: str) -> None:
        self._console.print(harmless(text), markup=False, highlight=False, soft_wrap=True)


class LiveProgress:
    """A bar as wide as the terminal allows, with counts of what passed and failed so far."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[states]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
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
        self._progress.start()
        label = one_line(f"{run.suite.name} on {run.variant}", 40)
        self._task = self._progress.add_task(label, total=run.planned_trials, completed=finished_before, states="")

    def trial_finished(self, trial: Trial) -> None:
        self._counts[trial.state] = self._counts.get(trial.state, 0) + 1
        if self._task is not None:
            states = " ".join(f"{number} {state}" for state, number in sorted(self._counts.items()))
            self._progress.update(self._task, advance=1, states=states)
        if self._verbose:
            for line in trial_lines(trial):
                self._progress.console.print(harmless(line), markup=False, highlight=False, soft_wrap=True)

    def run_ended(self, run: Run) -> None:  # noqa: ARG002
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
        self._progress.stop()


def trial_lines(trial: Trial) -> list[str]:
    """A trial with its grades, reasons and the head of its output."""
    lines = [
        f"{trial.state:<8} {trial.case_id} #{trial.index + 1}" + (f"  {one_line(trial.reason)}" if trial.reason else "")
    ]
    for grade in trial.grades:
        reason = f"  {one_line(grade.reason)}" if grade.reason else ""
        score = "" if grade.score is None else f" {grade.score:.2f}"
        lines.append(f"         {grade.grader}: {grade.state}{score}{reason}")
    transcript = trial.last.transcript
    if transcript is not None and transcript.output is not None:
        lines.append(f"         output: {one_line(as_text(transcript.output))}")
    return lines
