"""A fake of the executor: one unit after the other, in this process, and everything it was handed is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from evalharness.contracts.budget import Budget
from evalharness.contracts.executor import Executor, RunSpec, WorkUnit
from evalharness.contracts.store import JudgeCache
from evalharness.domain.finding import Finding
from evalharness.domain.trial import Trial
from evalharness.engine.running.parts import build_parts
from evalharness.engine.running.trial_worker import TrialWorker
from evalharness.errors import SpendCapReached


class FakeExecutor(Executor):
    """`units` are those it pulled, `specs` what it was opened with.

    With `make`, nothing is asked and nothing graded: every unit becomes the trial that this function makes of it.
    """

    def __init__(self, make: Callable[[WorkUnit], Trial] | None = None) -> None:
        self._make = make
        self.units: list[WorkUnit] = []
        self.specs: list[RunSpec] = []

    def open(
        self, spec: RunSpec, budget: Budget, judge_cache: JudgeCache | None = None
    ) -> AbstractAsyncContextManager[FakeSession]:
        self.specs.append(spec)
        return self._made(self._make) if self._make else self._worked(spec, budget, judge_cache)

    @asynccontextmanager
    async def _made(self, make: Callable[[WorkUnit], Trial]) -> AsyncIterator[FakeSession]:
        async def trial(run_id: str, unit: WorkUnit) -> Trial:  # noqa: ARG001
            return make(unit)

        yield FakeSession(trial, self.units)

    @asynccontextmanager
    async def _worked(
        self, spec: RunSpec, budget: Budget, judge_cache: JudgeCache | None
    ) -> AsyncIterator[FakeSession]:
        """With parts of its own, built from the specification alone, as an executor on another machine has them."""
        parts = build_parts(spec, budget, judge_cache)

        async def trial(run_id: str, unit: WorkUnit) -> Trial:
            worker = TrialWorker(run_id, spec, parts, budget)
            limit = worker.time_limit()
            try:
                return await worker.trial(unit, limit)
            finally:
                limit.close()

        try:
            await parts.open(budget)
            yield FakeSession(trial, self.units)
        finally:
            await parts.close()


class FakeSession:
    def __init__(self, trial: Callable[[str, WorkUnit], Awaitable[Trial]], units: list[WorkUnit]) -> None:
        self._trial = trial
        self._units = units
        self._task: asyncio.Task[Trial | None] | None = None
        self._is_cancelled = False
        self.ran_out = False

    async def run(self, run_id: str, units: AsyncIterator[WorkUnit]) -> AsyncGenerator[Trial, None]:
        while not self._is_cancelled:
            task = self._task = asyncio.create_task(self._next(run_id, units))
            try:
                await asyncio.wait([task])
            finally:
                task.cancel()
            if task.cancelled():
                return
            try:
                trial = task.result()
            except SpendCapReached:
                self.ran_out = True
                return
            if trial is None:
                return
            yield trial

    async def _next(self, run_id: str, units: AsyncIterator[WorkUnit]) -> Trial | None:
        unit = await anext(units, None)
        if unit is None:
            return None
        self._units.append(unit)
        return await self._trial(run_id, unit)

    def cancel(self) -> None:
        self._is_cancelled = True
        if self._task is not None:
            self._task.cancel()

    def notes(self) -> tuple[Finding, ...]:
        return ()
