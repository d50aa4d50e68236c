"""Running: pending trials, so many at a time, until all are finished or something says stop.

Knows nothing of files, commands or terminals. What is finished is put into the store; what is not stays pending.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from evalharness.contracts import Store
from evalharness.domain.sequential import GIVEN_UP, NOT_NEEDED
from evalharness.domain.suite import SuiteConfig
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.engine.attempting import Attempting
from evalharness.engine.planning import PlannedCase, trial_seed
from evalharness.engine.preparing import TrialTask
from evalharness.engine.regrading import complete, is_worth_another_try, lacks_only_grades
from evalharness.engine.spending import Spending
from evalharness.engine.timing import RENEWAL_S, TimeLimit
from evalharness.errors import SpendCapReached

Stopped = Literal["", "interrupted", "time limit", "spend cap", "max failures", "decided"]
MAX_BACKLOG = 1000
LONGEST_STRETCH_S = 0.01
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 30.0


class Pending(NamedTuple):
    """One trial still to be done; `earlier` holds the attempts of one that ended in `error`, or awaits a grade."""

    planned: PlannedCase
    trial_index: int
    earlier: tuple[Attempt, ...] = ()


@dataclass(slots=True)
class Running:
    """One run being executed."""

    run_id: str
    store: Store
    attempting: Attempting
    config: SuiteConfig
    root: Path
    max_concurrency: int
    max_failures: int | None = None
    on_trial: Callable[[Trial], None] | None = None
    is_enough: Callable[[Trial], bool] | None = None
    """Told of each trial like `on_trial`; True once no further one is needed."""
    run_ahead: int | None = None
    """How far past the first trial under way others may be begun; any distance, unless told."""
    spending: Spending | None = None
    """Where the run has a cap."""
    _failed: int = 0
    _stopped: Stopped = ""
    _workers: list[asyncio.Task[None]] = field(default_factory=list)
    _begun: int = 0
    _under_way: dict[int, Pending] = field(default_factory=dict)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def given_up(self) -> set[tuple[str, int]]:
        """The trials that were under way when the run was stopped; known where `run_ahead` is told."""
        return {(item.planned.case.id, item.trial_index) for item in self._under_way.values()}

    def stop(self, why: Stopped) -> None:
        """Start no further trial and give up those under way; they stay pending."""
        self._stopped = self._stopped or why
        self._cancel_workers()

    async def run(self, pending: Iterator[Pending], time_left_s: float | None) -> Stopped:
        if time_left_s is not None and time_left_s <= 0:
            self.stop("time limit")
        if self.spending is not None and self.spending.is_used_up:
            self.stop("spend cap")
        if self._stopped:
            return self._stopped
        self._workers = [asyncio.create_task(self._work(pending)) for _ in range(self.max_concurrency)]
        timer = None
        if time_left_s is not None:
            timer = asyncio.get_running_loop().call_later(time_left_s, self.stop, "time limit")
        try:
            await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            if timer is not None:
                timer.cancel()
            self._cancel_workers()
            await asyncio.wait(self._workers)
        errors = [error for worker in self._workers if not worker.cancelled() and (error := worker.exception())]
        if errors:
            raise errors[0]
        return self._stopped

    def _cancel_workers(self) -> None:
        """Again and again until all have ended: a target may swallow a cancellation."""
        unfinished = [worker for worker in self._workers if not worker.done()]
        for worker in unfinished:
            worker.cancel()
        if unfinished:
            asyncio.get_running_loop().call_later(RENEWAL_S, self._cancel_workers)

    async def _work(self, pending: Iterator[Pending]) -> None:
        limit = TimeLimit(self.attempting.loop_time)
        try:
            await self._work_within(limit, pending)
        finally:
            limit.close()

    async def _work_within(self, limit: TimeLimit, pending: Iterator[Pending]) -> None:
        stretch_began = time.monotonic()
        for item in pending:
            try:
                trial = await self._in_turn(item, limit)
            except SpendCapReached:  # the trial stays pending; those that need no more money may come to their end
                self._stopped = self._stopped or "spend cap"
                return
            self._keep(item, trial)
            if self._stopped:
                return
            # A target that never waits would keep the loop to itself: signals and the progress bar need a turn too.
            if time.monotonic() - stretch_began > LONGEST_STRETCH_S:
                await asyncio.sleep(0)
                while self.store.backlog > MAX_BACKLOG:
                    await asyncio.sleep(0.005)
                stretch_began = time.monotonic()

    async def _in_turn(self, item: Pending, limit: TimeLimit) -> Trial:
        if self.run_ahead is None:
            return await self._paid(item, limit)
        while self._under_way and self._begun - next(iter(self._under_way)) > self.run_ahead:
            self._ended.clear()
            await self._ended.wait()
        number = self._begun = self._begun + 1
        self._under_way[number] = item
        try:
            trial = await self._paid(item, limit)
        except SpendCapReached:
            self._has_ended(number)
            raise
        self._has_ended(number)  # not when cancelled: it is then one of those that were given up
        return trial

    def _has_ended(self, number: int) -> None:
        del self._under_way[number]
        self._ended.set()

    def _keep(self, item: Pending, trial: Trial) -> None:
        if item.earlier:
            self.store.mend(self.run_id, trial)
        else:
            self.store.put(self.run_id, trial)
        if self.on_trial is not None:
            self.on_trial(trial)
        if self.spending is not None and self.spending.is_used_up:
            self._stopped = self._stopped or "spend cap"
        self._failed += trial.state == "failed"
        if self.is_enough is not None and self.is_enough(trial):
            self.stop("decided")
        if self.max_failures is not None and self._failed >= self.max_failures:
            self.stop("max failures")

    async def _paid(self, item: Pending, limit: TimeLimit) -> Trial:
        """Where the target's calls go past the purse, what its answers tell is taken out of it."""
        if self.spending is None or item.planned.skip:
            return await self._finish(item, limit)
        target = item.planned.target.target if item.planned.target else self.attempting.target
        await self.spending.begin_trial(is_metered=target.is_metered)
        new: tuple[Attempt, ...] = ()
        try:
            trial = await self._finish(item, limit)
            new = trial.attempts[len(item.earlier) :]
            return trial
        finally:
            answers = [attempt.transcript for attempt in new if attempt.transcript is not None]
            self.spending.end_trial(*_told_cost(answers), is_metered=target.is_metered)

    async def _finish(self, item: Pending, limit: TimeLimit) -> Trial:
        """All attempts of one trial: repeated after an error, and after a failing answer if the suite asks for it."""
        planned = item.planned
        seed = trial_seed(self.config.seed, planned.case.id, item.trial_index)
        if planned.skip:
            return _trial(item, seed, (Attempt(state="skipped", reason=planned.skip),))
        attempts: tuple[Attempt, ...] = ()
        if item.earlier and item.earlier[-1].state == "awaiting":  # goes on as if it had never been interrupted
            attempts = (*item.earlier[:-1], await complete(item.earlier[-1], planned, item.trial_index, seed))
            item = item._replace(earlier=())
        while not attempts or self._is_tried_again(planned, attempts):
            if attempts and attempts[-1].state == "error":
                await asyncio.sleep(pause_s(len(attempts), Random(f"{seed} {len(attempts)}")))
            task = TrialTask(planned, item.trial_index, seed, self.root, self.run_id)
            before = (*item.earlier, *attempts)
            if before and lacks_only_grades(before[-1]):  # the answer is there, and paid for
                attempt = await self.attempting.grade_again(task, planned, before[-1])
            else:
                attempt = await self.attempting.attempt(task, planned, limit)
            attempts = (*attempts, attempt)
        return _trial(item, seed, attempts)

    def _is_tried_again(self, planned: PlannedCase, attempts: tuple[Attempt, ...]) -> bool:
        last = attempts[-1]
        if len(attempts) > planned.retries or not is_worth_another_try(last):
            return False
        return last.state == "error" or (last.state == "failed" and self.config.retry_failed)


def _trial(item: Pending, seed: int, attempts: tuple[Attempt, ...]) -> Trial:
    attempts = (*item.earlier, *attempts)
    return Trial.holding(
        {"case_id": item.planned.case.id, "index": item.trial_index, "seed": seed, "attempts": attempts}
    )


def _told_cost(answers: Sequence[Transcript]) -> tuple[float | None, int]:
    """What the target says it has spent; nothing where it gave no answer."""
    costs = [answer.cost_usd for answer in answers if answer.cost_usd is not None]
    usages = [answer.usage for answer in answers if answer.usage is not None]
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in usages)
    return (sum(costs) if costs else None if answers else 0.0), tokens


def pause_s(attempt: int, rng: Random) -> float:
    """Doubling, with full jitter, so that those who failed together do not come back together."""
    return rng.uniform(0, min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2**attempt))


def pending_trials(
    planned: list[PlannedCase],
    trials: int,
    done: Mapping[str, int],
    taken_up: Mapping[tuple[str, int], tuple[Attempt, ...]],
    order: Iterable[tuple[str, int]] | None = None,
) -> Iterator[Pending]:
    """Round by round, so that every case has been tried once before any is tried twice; or in the order given.

    `done` has a bit for each finished trial of a case; `taken_up` the attempts of those that go on.
    """
    plans = {plan.case.id: plan for plan in planned}
    for case_id, index in order or ((plan.case.id, index) for index in range(trials) for plan in planned):
        if not done.get(case_id, 0) >> index & 1:
            yield Pending(plans[case_id], index, taken_up.get((case_id, index), ()))


def skipped_trials(
    pending: Iterable[Pending], seed: int, reason: str, given_up: Collection[tuple[str, int]]
) -> Iterator[Trial]:
    """Of the run's `seed`; in place of those that were not tried, or `given_up`, because the run had been decided."""
    never_begun, begun = ((Attempt(state="skipped", reason=f"{how}{reason}"),) for how in (NOT_NEEDED, GIVEN_UP))
    for item in pending:
        case_id, index = item.planned.case.id, item.trial_index
        attempts = begun if (case_id, index) in given_up else never_begun
        yield _trial(item, trial_seed(seed, case_id, index), attempts)
