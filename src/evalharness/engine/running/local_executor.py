"""The executor `local`: trials as asyncio tasks of this process, so many at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from types import TracebackType

from evalharness.contracts.budget import Budget
from evalharness.contracts.executor import Executor, RunSpec, WorkUnit
from evalharness.contracts.store import JudgeCache
from evalharness.domain.finding import Finding
from evalharness.domain.trial import Trial
from evalharness.engine.running.parts import Parts, build_parts
from evalharness.engine.running.time_limit import RENEWAL_S, TrialsTask
from evalharness.engine.running.trial_worker import TrialWorker
from evalharness.errors import KEPT, HarnessError, SpendCapReached


class LocalExecutor(Executor):
    def open(
        self, spec: RunSpec, budget: Budget, judge_cache: JudgeCache | None = None, parts: Parts | None = None
    ) -> LocalSession:
        """`parts` are those that the planner has built from this specification already, and will close."""
        built = parts or build_parts(spec, budget, judge_cache)
        return LocalSession(spec, built, budget, owns_parts=parts is None)


class LocalSession:
    def __init__(self, spec: RunSpec, parts: Parts, budget: Budget, *, owns_parts: bool) -> None:
        self._owns_parts = owns_parts
        self._spec = spec
        self._parts = parts
        self._budget = budget
        self._tasks: list[TrialsTask] = []
        self._done: deque[Trial] = deque()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._idle: set[TrialsTask] = set()
        self._is_over = False
        self.ran_out = False

    async def __aenter__(self) -> LocalSession:
        async with AsyncExitStack() as undo:
            if self._owns_parts:
                undo.push_async_callback(self._parts.close_quietly)
            await self._parts.open(self._budget)
            undo.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._owns_parts:
            await self._parts.close()

    def notes(self) -> tuple[Finding, ...]:
        models = self._parts.services.models
        return (*(models.notes() if models is not None else ()), *self._parts.notes())

    def cancel(self) -> None:
        """Again and again until all have ended: a target may swallow a cancellation."""
        self._is_over = True
        unfinished = [task for task in self._tasks if not task.done()]
        for task in unfinished:
            task.ask_to_end()
        if unfinished:
            asyncio.get_running_loop().call_later(RENEWAL_S, self.cancel)

    async def run(self, run_id: str, units: AsyncIterator[WorkUnit]) -> AsyncGenerator[Trial, None]:
        worker = TrialWorker(run_id, self._spec, self._parts, self._budget)
        size = min(self._parts.concurrency, max(1, len(self._parts.cases) * self._spec.suite.trials))
        self._is_over = False
        self._tasks = [TrialsTask(self._work(worker, units)) for _ in range(size)]
        for task in self._tasks:
            task.add_done_callback(self._has_ended)
        try:
            while self._done or not all(task.done() for task in self._tasks):
                self._wake.clear()
                while self._done:
                    yield self._done.popleft()
                    self._room.set()
                if not self._wake.is_set():
                    await self._wake.wait()
        finally:
            self.cancel()
            await asyncio.wait(self._tasks)
        for task in self._tasks:
            if not task.cancelled() and (error := task.exception()):
                raise error
            if task.cancelled() and not task.asked:
                raise HarnessError("code that the run calls cancelled one of its tasks", hint=KEPT)

    def _has_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception():
            self.cancel()
        self._wake.set()

    async def _work(self, worker: TrialWorker, units: AsyncIterator[WorkUnit]) -> None:
        limit, task = worker.time_limit(), asyncio.current_task()
        assert isinstance(task, TrialsTask)
        try:
            while (unit := await self._next(units, task)) is not None:
                self._done.append(await worker.trial(unit, limit))
                self._wake.set()
                # A target that never waits would keep the loop to itself: the driver and signals need a turn, too.
                await asyncio.sleep(0)
                while len(self._done) > len(self._tasks):  # the driver has no room for more
                    self._room.clear()
                    await self._room.wait()
        except SpendCapReached:  # this unit stays undone; trials that need no more money may come to their end
            self._is_over = self.ran_out = True
            for task in self._idle:
                task.ask_to_end()
        finally:
            limit.close()

    async def _next(self, units: AsyncIterator[WorkUnit], task: TrialsTask) -> WorkUnit | None:
        self._idle.add(task)
        try:
            return None if self._is_over else await anext(units, None)
        finally:
            self._idle.discard(task)
