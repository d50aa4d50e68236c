"""The executor: runs the trials of a run, on this machine or on others.

It receives the specification of the run once, and a work unit for every trial; both can be pickled. It returns trials.
Claims, the store, the budget and the decision when to stop stay with the driver.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from evalharness.contracts.budget import Budget
from evalharness.contracts.exchange import LIVE, Taping, TrialRecording
from evalharness.contracts.store import JudgeCache
from evalharness.domain.finding import Finding
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec, function_name
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Attempt, Trial
from evalharness.errors import UsageError


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides how the trials of a run are executed."""

    suite: Suite
    target: TargetSpec | None
    """The target for cases without their own; None if stored answers are only graded."""
    root: Path
    options: RunOptions
    values: Mapping[str, str] = field(default_factory=dict)
    """The values of `{{variables}}`, including secrets; never stored."""
    environment: Mapping[str, str] = field(default_factory=dict)
    store_id: str = ""
    """Of the store that the run is kept in; empty if there is none."""
    keeps_verdicts: bool = False
    """Where stored answers are graded: verdicts that judges gave stay as they are."""
    taping: Taping = LIVE
    """How calls are recorded and replayed."""

    def __copy__(self) -> RunSpec:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> RunSpec:
        return RunSpec(*(deepcopy(value, memo) for value in self._values()))

    def __reduce__(self) -> tuple[type[RunSpec], tuple[Any, ...]]:
        """To be pickled; copies stay in this program, and may have any function."""
        if label := next(self._bare_functions(), None):
            raise UsageError(
                f"{label} is a Python function that exists only in the program that created it",
                hint="give its name instead: module:attr or file.py:attr",
            )
        return RunSpec, self._values()

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, each.name) for each in fields(self))

    def _bare_functions(self) -> Iterator[str]:
        """The labels of targets and graders that were passed as callables, also inside other graders."""
        suite = self.suite
        yield from (f"the target {name}" for name in _callables((self.target, [*suite.targets.values()])))
        yield from (f"the grader {name} of the suite" for name in _callables(suite.graders))
        for case in suite.cases:
            yield from (f"the target {name} of case {case.id}" for name in _callables(case.target))
            yield from (f"the grader {name} of case {case.id}" for name in _callables(suite.graders_for(case)))


def _callables(written: Any) -> Iterator[str]:
    """The names of functions in a specification, its options, or several of them."""
    if isinstance(written, GraderSpec | TargetSpec):
        if written.function is not None:
            yield written.name or function_name(written.function)
        yield from _callables(written.options)
    elif isinstance(written, Mapping):
        for value in written.values():
            yield from _callables(value)
    elif isinstance(written, list | tuple):
        for value in written:
            yield from _callables(value)
    elif callable(written):
        yield function_name(written)


class WorkUnit(NamedTuple):
    """One trial to run.

    `earlier` are the attempts of a trial that is resumed, or of the trial whose stored answer is graded. `recording` is
    what a trial that is replayed takes its replies from.
    """

    case_id: str
    trial_index: int
    seed: int
    earlier: tuple[Attempt, ...] = ()
    recording: TrialRecording = TrialRecording()


class ExecutorSession(Protocol):
    """The open parts of one run."""

    ran_out: bool
    """Whether the budget was too small for a unit."""

    def run(self, run_id: str, units: AsyncIterator[WorkUnit]) -> AsyncGenerator[Trial, None]:
        """Yield trials in the order in which they finish.

        Units are pulled when there is room for them. One that cannot be paid for is not returned, and no more are
        pulled after it. Any other that is missing at the end, unless the run was stopped, is the executor's fault.
        """
        ...

    def cancel(self) -> None:
        """Cancel the units under way; they are not returned."""
        ...

    def notes(self) -> tuple[Finding, ...]:
        """Findings for the report about how the models were used."""
        ...


class Executor(ABC):
    """An executor chosen by name is created without arguments.

    `evalharness.testing.executor_contract.ExecutorContract` tests this contract.
    """

    @abstractmethod
    def open(
        self, spec: RunSpec, budget: Budget, judge_cache: JudgeCache | None = None
    ) -> AbstractAsyncContextManager[ExecutorSession]:
        """Build and open every part.

        Raises UsageError or TargetUnavailable if the run cannot start. Nothing has been stored or spent then, except on
        calls that test judges.
        """
