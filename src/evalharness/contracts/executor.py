"""The executor: where the trials of a run are executed, on this machine or on others.

The specification of a run travels once, a work unit for every trial; both can be pickled. Trials come back; claims,
the store, spending and the decision when to stop stay with the driver.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from evalharness.contracts.budget import Budget
from evalharness.contracts.store import JudgeCache
from evalharness.domain.finding import Finding
from evalharness.domain.run import RunOptions
from evalharness.domain.specification import GraderSpec, TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Attempt, Trial
from evalharness.errors import UsageError


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides how the trials of a run are executed."""

    suite: Suite
    target: TargetSpec | None
    """Who answers the cases that have no target of their own; None where stored answers are only graded."""
    root: Path
    options: RunOptions
    values: Mapping[str, str] = field(default_factory=dict)
    """What `{{variables}}` stand for, secrets included: never stored."""
    environment: Mapping[str, str] = field(default_factory=dict)
    keeps_verdicts: bool = False
    """Where stored answers are graded: verdicts that judges gave stay as they are."""
    parts: Any = field(default=None, compare=False, repr=False)
    """What the planner has built from this specification already, and will close. It stays here when the specification
    travels."""

    def __getstate__(self) -> dict[str, Any]:
        if label := next(self._bare_functions(), None):
            raise UsageError(
                f"{label} is a Python function that only its own program has, so it cannot run elsewhere",
                hint="name it instead: module:attr or file.py:attr",
            )
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"parts": None}

    def _bare_functions(self) -> Iterator[str]:
        """What every target and grader is called that was handed in as a callable, also inside another grader."""
        targets = (self.target, *self.suite.targets.values(), *(case.target for case in self.suite.cases))
        graders = (*self.suite.graders, *(spec for case in self.suite.cases for spec in self.suite.graders_for(case)))
        specs: tuple[TargetSpec | GraderSpec | None, ...] = (*targets, *graders)
        for spec in specs:
            if spec is not None and (spec.function is not None or _has_callable(spec.options)):
                yield spec.label


def _has_callable(options: Any) -> bool:
    if isinstance(options, GraderSpec):
        return options.function is not None or _has_callable(options.options)
    if isinstance(options, Mapping):
        return any(map(_has_callable, options.values()))
    if isinstance(options, list | tuple):
        return any(map(_has_callable, options))
    return callable(options)


class WorkUnit(NamedTuple):
    """One trial to be done.

    `earlier` are the attempts of one that is taken up again, or, where stored answers are graded, those of the trial
    whose answer is graded.
    """

    case_id: str
    trial_index: int
    seed: int
    earlier: tuple[Attempt, ...] = ()


class Session(Protocol):
    """The parts of one run, built and open."""

    ran_out: bool
    """Whether a unit could not be paid for."""

    def run(self, run_id: str, units: AsyncIterator[WorkUnit]) -> AsyncGenerator[Trial, None]:
        """Trials in the order in which they are finished.

        Units are pulled when there is room for them. One that cannot be paid for is not returned, and no more are
        pulled after it.
        """
        ...

    def cancel(self) -> None:
        """Give up the units under way: they are not returned."""
        ...

    def notes(self) -> tuple[Finding, ...]:
        """What a reader of the report must know of how the models were asked."""
        ...


class Executor(ABC):
    """One that is chosen by its name is built without arguments.

    `evalharness.testing.executor_contract.ExecutorContract` tests what is promised here.
    """

    @abstractmethod
    def open(
        self, spec: RunSpec, budget: Budget, judge_cache: JudgeCache | None = None
    ) -> AbstractAsyncContextManager[Session]:
        """Build and open every part.

        Raises UsageError or TargetUnavailable where the run cannot be started: before anything is stored or paid for,
        except for the calls that try out judges.
        """
