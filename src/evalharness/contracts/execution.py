"""How runs are executed: who watches, what may stop them, and where their trials are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from evalharness.contracts.executor import Executor
from evalharness.domain.run import Run
from evalharness.domain.suite import LoadedFile
from evalharness.domain.trial import Trial
from evalharness.redaction import Redactor


class Watcher(Protocol):
    """A progress bar, lines in a log, nobody."""

    def begun(self, files: Sequence[LoadedFile], redactor: Redactor, *, is_unprotected: bool = False) -> None:
        """Before anything is run: the files that were read, and what takes the secrets out of texts that are shown.

        `is_unprotected`: untrusted code is going to run without a sandbox.
        """
        ...

    def run_started(self, run: Run, finished_before: int) -> None: ...

    def trial_finished(self, trial: Trial) -> None: ...

    def run_ended(self, run: Run) -> None: ...


class NoWatcher:
    def begun(self, files: Sequence[LoadedFile], redactor: Redactor, *, is_unprotected: bool = False) -> None: ...

    def run_started(self, run: Run, finished_before: int) -> None: ...

    def trial_finished(self, trial: Trial) -> None: ...

    def run_ended(self, run: Run) -> None: ...


class StopSignal:
    """Ends the run under way and keeps those after it from starting. May be sent from any thread, or a signal handler.

    What is finished is kept, and the run can be resumed.
    """

    def __init__(self) -> None:
        self.is_sent = False
        self._listeners: list[Callable[[bool], object]] = []

    def send(self, *, at_once: bool = False) -> None:
        """`at_once`, from the thread of the runs alone: where a target holds its event loop, which hears nothing."""
        self.is_sent = True
        for listener in tuple(self._listeners):
            listener(at_once)

    @contextmanager
    def heard_by(self, listener: Callable[[bool], object]) -> Iterator[None]:
        """`listener` is called in the thread that sends the signal."""
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
    """None: in this process."""
