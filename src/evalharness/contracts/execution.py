"""How runs are executed: progress, stopping, and where trials run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from evalharness.contracts.executor import Executor
from evalharness.domain.finding import Finding
from evalharness.domain.run import Run
from evalharness.domain.suite import LoadedFile
from evalharness.domain.trial import Trial
from evalharness.redaction import Redactor


class Watcher(Protocol):
    """Receives progress: for a progress bar, for lines in a log, or to ignore it."""

    def begun(self, files: Sequence[LoadedFile], redactor: Redactor, *, is_unprotected: bool = False) -> None:
        """Called before anything runs, with the files and the redactor for texts that are shown.

        `is_unprotected`: untrusted code will run without a sandbox.
        """
        ...

    def preparing(self, found: Finding, *, is_passing: bool = False) -> None:
        """Called before a run starts with what was noticed, or what takes long; `is_passing`: until the next call."""
        ...

    def run_started(self, run: Run, finished_before: int) -> None: ...

    def trial_finished(self, trial: Trial) -> None: ...

    def run_ended(self, run: Run) -> None: ...


class NoWatcher:
    def begun(self, files: Sequence[LoadedFile], redactor: Redactor, *, is_unprotected: bool = False) -> None: ...

    def preparing(self, found: Finding, *, is_passing: bool = False) -> None: ...

    def run_started(self, run: Run, finished_before: int) -> None: ...

    def trial_finished(self, trial: Trial) -> None: ...

    def run_ended(self, run: Run) -> None: ...


class StopSignal:
    """Ends the current run and prevents later ones from starting. Can be sent from any thread or signal handler.

    Finished trials are kept, and the run can be resumed.
    """

    def __init__(self) -> None:
        self.is_sent = False
        self._listeners: list[Callable[[bool], object]] = []

    def send(self, *, at_once: bool = False) -> None:
        """Send the signal. `at_once` works even while a target blocks the event loop.

        It may be used only in the thread of the runs.
        """
        self.is_sent = True
        for listener in tuple(self._listeners):
            listener(at_once)

    @contextmanager
    def heard_by(self, listener: Callable[[bool], object]) -> Iterator[None]:
        """Call `listener` in the thread that sends the signal."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)


class UnderWay(NamedTuple):
    """What was being done when a run was cancelled: the run, and its cases with trials that had begun."""

    run_name: str
    cases: list[str]


@dataclass(frozen=True, slots=True)
class Execution:
    watcher: Watcher = field(default_factory=NoWatcher)
    stop: StopSignal = field(default_factory=StopSignal)
    executor: Executor | None = None
    """None runs trials in this process."""
