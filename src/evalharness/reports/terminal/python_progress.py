"""Progress of a run that a Python program started: a line in its terminal or notebook, and nothing elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from evalharness.contracts.execution import NoWatcher
from evalharness.domain.run import Run
from evalharness.domain.suite import LoadedFile
from evalharness.domain.trial import Trial
from evalharness.redaction import Redactor
from evalharness.reports.terminal.screen import Screen
from evalharness.settings import Settings

SECONDS_BETWEEN = 0.2


class NoProgress(NoWatcher):
    def stop(self) -> None:
        """No run is under way any more, however it ended."""


def python_progress(wanted: bool | None, settings: Settings) -> NoProgress:
    """`wanted` None: where somebody watches, which is a terminal or a notebook, and not in CI."""
    if wanted is False or (wanted is None and (settings.is_ci or settings.environment.get("TERM") == "dumb")):
        return NoProgress()
    if _is_notebook():
        return NotebookProgress()
    return TerminalProgress() if sys.stderr.isatty() else NoProgress()


def _is_notebook() -> bool:
    return type(sys.stdout).__module__.startswith("ipykernel.")


class TerminalProgress(NoProgress):
    """The line of the command line, on stderr; a program's own output is its own."""

    def __init__(self) -> None:
        self._line: Any = None
        self._redact: Any = str

    def begun(self, files: Sequence[LoadedFile], redactor: Redactor, *, is_unprotected: bool = False) -> None:  # noqa: ARG002
        self._redact = redactor.redact

    def run_started(self, run: Run, finished_before: int) -> None:
        from evalharness.reports.terminal.live_progress import LiveProgress  # slow to load: only for those who watch

        self._line = LiveProgress(Screen(Console(stderr=True, highlight=False), self._redact))
        self._line.run_started(run, finished_before)

    def trial_finished(self, trial: Trial) -> None:
        self._line.trial_finished(trial)

    def run_ended(self, run: Run) -> None:
        self._line.run_ended(run)

    def stop(self) -> None:
        if self._line is not None:
            self._line.stop()


class NotebookProgress(NoProgress):
    """One line that is written over, and gone at the end: notebooks follow a carriage return, and little else."""

    def __init__(self) -> None:
        self._states: Counter[str] = Counter()
        self._planned = self._finished = self._width = 0
        self._shown_at = 0.0

    def run_started(self, run: Run, finished_before: int) -> None:
        self._planned, self._finished = run.planned_trials, finished_before
        self._show()

    def trial_finished(self, trial: Trial) -> None:
        self._finished += 1
        self._states[trial.state] += 1
        if time.monotonic() - self._shown_at >= SECONDS_BETWEEN:
            self._show()

    def stop(self) -> None:
        self._write("")
        sys.stdout.write("\r")

    def _show(self) -> None:
        self._shown_at = time.monotonic()
        states = "".join(f", {number:,} {state}" for state, number in sorted(self._states.items()))
        self._write(f"{self._finished:,} of {self._planned:,} trials{states}")

    def _write(self, text: str) -> None:
        sys.stdout.write(f"\r{text.ljust(self._width)}")
        sys.stdout.flush()
        self._width = len(text)
