"""The driver of one run: hands out its work units, stores the trials that come back, and decides when to stop.

Knows nothing of files, commands or terminals, nor of where trials are executed. What is finished is put into the
store; what is not stays pending.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal, Protocol

from evalharness.contracts.budget import Budget
from evalharness.contracts.executor import ExecutorSession, WorkUnit
from evalharness.contracts.store import Store
from evalharness.domain.trial import GIVEN_UP, NOT_NEEDED, Attempt, Trial, TrialState
from evalharness.engine.planning.planned_cases import trial_seed
from evalharness.errors import KEPT, HarnessError

Stopped = Literal["", "interrupted", "time limit", "spend cap", "max failures", "decided"]
TrialKey = tuple[str, int]
MAX_BACKLOG = 1000
BACKLOG_PAUSE_S = 0.005


class StoppingRule(Protocol):
    """When a sequential run is decided."""

    @property
    def order(self) -> Iterable[TrialKey]:
        """In which trials are begun."""
        ...

    @property
    def is_over(self) -> bool: ...

    @property
    def reason(self) -> str: ...

    def hear(self, case_id: str, index: int, state: TrialState, first_state: TrialState) -> bool:
        """True once no further trial is needed."""
        ...


@dataclass(slots=True)
class RunDriver:
    """One run being executed. It is also the iterator from which an executor pulls its units."""

    run_id: str
    store: Store
    budget: Budget | None = None
    """Where the run ends once it is used up."""
    replaced: Collection[TrialKey] = ()
    """The trials that have a row already, which a better one takes the place of."""
    max_failures: int | None = None
    on_trial: Callable[[Trial], None] | None = None
    is_enough: Callable[[Trial], bool] | None = None
    """Hears each trial like `on_trial`; True once no further one is needed."""
    run_ahead: int | None = None
    """How far past the first trial under way others may be begun; None for any distance."""
    _units: Iterator[WorkUnit] = field(default_factory=lambda: iter(()))
    _session: ExecutorSession | None = None
    _failed: int = 0
    _stopped: Stopped = ""
    _handed_out: int = 0
    _kept: int = 0
    _under_way: dict[TrialKey, int] = field(default_factory=dict)
    _returned: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def given_up(self) -> set[TrialKey]:
        """The trials that were under way when the run was stopped; known where `run_ahead` is set."""
        return set(self._under_way)

    def stop(self, why: Stopped) -> None:
        """Hand out no further unit and give up those under way; they stay pending."""
        self._stopped = self._stopped or why
        self._returned.set()
        if self._session is not None:
            self._session.cancel()

    async def drive(
        self, session: ExecutorSession, units: Iterator[WorkUnit], time_left_s: float | None = None
    ) -> Stopped:
        """Until all units are done, or something stops the run: then why."""
        self._units = units
        if time_left_s is not None and time_left_s <= 0:
            self.stop("time limit")
        if self._is_broke:
            self.stop("spend cap")
        if self._stopped:
            return self._stopped
        self._session = session
        timer = None
        if time_left_s is not None:
            timer = asyncio.get_running_loop().call_later(time_left_s, self.stop, "time limit")
        try:
            async with aclosing(session.run(self.run_id, self)) as trials:
                async for trial in trials:
                    self._keep(trial)
                    while self.store.backlog > MAX_BACKLOG:
                        await asyncio.sleep(BACKLOG_PAUSE_S)
        finally:
            self._session = None
            if timer is not None:
                timer.cancel()
        if self._is_broke or session.ran_out:
            self._stopped = self._stopped or "spend cap"
        if not self._stopped:
            self._check_all_came_back()
        return self._stopped

    def _check_all_came_back(self) -> None:
        """Nothing stopped the run, so whatever is missing was lost by the executor."""
        lost = self._handed_out - self._kept + sum(1 for _ in self._units)
        if lost:
            trials = f"{lost} trial" if lost == 1 else f"{lost} trials"
            raise HarnessError(f"the executor ended without finishing {trials}", hint=KEPT)

    @property
    def _is_broke(self) -> bool:
        return self.budget is not None and self.budget.is_used_up

    def __aiter__(self) -> RunDriver:
        return self

    async def __anext__(self) -> WorkUnit:
        while not self._stopped and self._is_far_ahead():
            self._returned.clear()
            await self._returned.wait()
        unit = None if self._stopped or self._is_broke else next(self._units, None)
        if unit is None:
            raise StopAsyncIteration
        self._handed_out += 1
        if self.run_ahead is not None:
            self._under_way[unit.case_id, unit.trial_index] = self._handed_out
        return unit

    def _is_far_ahead(self) -> bool:
        if self.run_ahead is None or not self._under_way:
            return False
        return self._handed_out - next(iter(self._under_way.values())) > self.run_ahead

    def _keep(self, trial: Trial) -> None:
        key = (trial.case_id, trial.index)
        if self._under_way.pop(key, None) is not None:
            self._returned.set()
        if key in self.replaced:
            self.store.replace_unfinished(self.run_id, trial)
        else:
            self.store.put(self.run_id, trial)
        if self.on_trial is not None:
            self.on_trial(trial)
        self._kept += 1
        self._failed += trial.state == "failed"
        if self.is_enough is not None and self.is_enough(trial):
            self.stop("decided")
        if self.max_failures is not None and self._failed >= self.max_failures:
            self.stop("max failures")


def pending_units(
    case_ids: Iterable[str],
    trials: int,
    seed: int,
    done: Mapping[str, int],
    taken_up: Mapping[TrialKey, tuple[Attempt, ...]],
    order: Iterable[TrialKey] | None = None,
) -> Iterator[WorkUnit]:
    """Round by round, so that every case has been tried once before any is tried twice; or in the order given.

    `done` has a bit for each finished trial of a case; `taken_up` the attempts of those that go on.
    """
    ids = list(case_ids)
    for case_id, index in order or ((case_id, index) for index in range(trials) for case_id in ids):
        if not done.get(case_id, 0) >> index & 1:
            earlier = taken_up.get((case_id, index), ())
            yield WorkUnit(case_id, index, trial_seed(seed, case_id, index), earlier)


def skipped_trials(units: Iterable[WorkUnit], reason: str, given_up: Collection[TrialKey]) -> Iterator[Trial]:
    """In place of those that were not tried, or `given_up`, because the run had been decided."""
    never_begun = Attempt(state="skipped", reason=f"{NOT_NEEDED}{reason}", cause="not_needed")
    begun = Attempt(state="skipped", reason=f"{GIVEN_UP}{reason}", cause="given_up")
    for unit in units:
        last = begun if (unit.case_id, unit.trial_index) in given_up else never_begun
        yield Trial(case_id=unit.case_id, index=unit.trial_index, seed=unit.seed, attempts=(*unit.earlier, last))
