"""A fake of the executor: nothing is asked, every unit becomes the trial that a function makes of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from types import TracebackType

from evalharness.contracts.budget import Budget
from evalharness.contracts.executor import RunSpec, WorkUnit
from evalharness.contracts.store import JudgeCache
from evalharness.domain.finding import Finding
from evalharness.domain.trial import Attempt, Trial
from evalharness.errors import SpendCapReached


def passed(unit: WorkUnit) -> Trial:
    """The trial of a unit that passes."""
    attempts = (*unit.earlier, Attempt(state="passed", score=1.0))
    return Trial(case_id=unit.case_id, index=unit.trial_index, seed=unit.seed, attempts=attempts)


class FakeExecutor:
    """One unit after the other. `units` are those it pulled, `specs` what it was opened with."""

    def __init__(self, make: Callable[[WorkUnit], Trial] = passed) -> None:
        self._make = make
        self.units: list[WorkUnit] = []
        self.specs: list[RunSpec] = []

    def open(self, spec: RunSpec, budget: Budget, judge_cache: JudgeCache | None = None) -> FakeSession:  # noqa: ARG002
        self.specs.append(spec)
        return FakeSession(self._make, self.units)


class FakeSession:
    def __init__(self, make: Callable[[WorkUnit], Trial], units: list[WorkUnit]) -> None:
        self._make = make
        self._units = units
        self._is_cancelled = False
        self.ran_out = False

    async def __aenter__(self) -> FakeSession:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    async def run(self, run_id: str, units: AsyncIterator[WorkUnit]) -> AsyncGenerator[Trial, None]:  # noqa: ARG002
        async for unit in units:
            self._units.append(unit)
            try:
                trial = self._make(unit)
            except SpendCapReached:
                self.ran_out = True
                return
            yield trial
            if self._is_cancelled:
                return

    def cancel(self) -> None:
        self._is_cancelled = True

    def notes(self) -> tuple[Finding, ...]:
        return ()
