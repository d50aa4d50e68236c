"""Execute runs: what `run`, `resume` and `evaluate` have in common, from planned runs to stored reports."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from evalharness import registry
from evalharness.actions.check_llms import check_llms
from evalharness.actions.lend_services import close_services, concurrency_of, services_for, told_of_models
from evalharness.actions.make_report import finish_run
from evalharness.actions.recall_spending import spending_so_far, told_of_rest, told_of_spending
from evalharness.actions.stop_runs import Stopper, exits_guarded, stopped_by_signals, unblocked
from evalharness.contracts import Services, Target, Watcher
from evalharness.domain.run import Run
from evalharness.domain.trial import Attempt, Trial
from evalharness.engine.attempting import GRACE_S, INFRASTRUCTURE_ERRORS, Attempting, open_target
from evalharness.engine.planning import PlannedCase, Variables, filled_target, plan_cases
from evalharness.engine.preparing import remove_leftovers
from evalharness.engine.regrading import lacks_only_grades
from evalharness.engine.running import Running, pending_trials, skipped_trials
from evalharness.engine.spending import Spending
from evalharness.engine.stopping import Stopping, is_not_needed
from evalharness.errors import HarnessError
from evalharness.stores.sql_store import SqlStore

COLLECT_FROM = 20_000
TURN_S = 0.05
Result = TypeVar("Result")


class NoWatcher:
    def run_started(self, run: Run, finished_before: int) -> None: ...

    def trial_finished(self, trial: Trial) -> None: ...

    def run_ended(self, run: Run) -> None: ...


@dataclass(slots=True)
class ReadyRun:
    """A run whose targets are open and whose graders are built."""

    run: Run
    target: Target
    planned: list[PlannedCase]
    services: Services
    concurrency: int
    spending: Spending

    @property
    def targets(self) -> list[tuple[str, Target]]:
        """Every target that some case will be tried on, each once, with its label."""
        own = {id(plan.target): (plan.target.spec.label, plan.target.target) for plan in self.planned if plan.target}
        is_used = any(plan.target is None for plan in self.planned)
        return [(self.run.target.label, self.target), *own.values()] if is_used else list(own.values())

    @property
    def runs_code(self) -> bool:
        """Whether code is run that nobody vouches for; graders that others wrote need not say."""
        tried = [plan for plan in self.planned if not plan.skip]
        grades = any(getattr(grader, "runs_code", False) for plan in tried for _, grader in plan.graders)
        return grades or any(plan.case.setup for plan in tried)

    async def open(self) -> None:
        """What cannot work is told before any target has answered, and before anything is paid for."""
        if self.runs_code:
            await self.services.isolated().open()
        graders = [grader for plan in self.planned if not plan.skip for _, grader in plan.graders]
        await check_llms(self.services, self.spending, graders, [target for _, target in self.targets])
        for label, target in self.targets:
            await open_target(target, label)

    async def close(self) -> None:
        """Everything is closed, whatever a target's own closing does; what it raised is passed on at the end."""
        async with AsyncExitStack() as closing:
            closing.push_async_callback(close_services, self.services)
            for _, target in self.targets:
                closing.push_async_callback(target.close)


@dataclass(slots=True)
class Execution:
    """The circumstances of a command: where results go, who watches, what may stop it."""

    store: SqlStore
    watcher: Watcher = field(default_factory=NoWatcher)
    stopper: Stopper = field(default_factory=Stopper)


def run_to_end(coroutine: Coroutine[Any, Any, Result], runner: asyncio.Runner | None = None) -> Result:
    """`asyncio.run`, which must not see the result: it prints it in full to itself when it is done."""
    results: list[Result] = []

    async def keep() -> None:
        results.append(await coroutine)

    try:
        with runner or asyncio.Runner() as loop:
            loop.run(keep())
    except SystemExit as error:  # of a task that a target left behind: nobody else may decide our exit code
        raise HarnessError(
            f"the target called sys.exit({error.code!r}) outside of its call and ended the run"
        ) from error
    return results[0]


async def make_all_ready(
    planned: Iterable[tuple[Run, Variables]], store: SqlStore, runs_before: Iterable[Run] = ()
) -> list[ReadyRun]:
    """Build and open everything these runs need, before anything is stored or started: all of them or none.

    Caps given for all of them are kept by one purse for all; `runs_before` have drawn on it already.
    """
    ready: list[ReadyRun] = []
    shared: Spending | None = None
    try:
        for run, variables in planned:
            spending = shared or spending_so_far(run, store, [old for old in runs_before if _shares(run, old)])
            shared = spending if run.options.is_capped else None
            ready.append(_built(run, variables, store, spending))
            await ready[-1].open()
    except BaseException:
        with suppress(Exception):  # what went wrong first is told
            await _close(ready)
        raise
    return ready


async def _close(ready: Iterable[ReadyRun]) -> None:
    """All of them, even where one raises."""
    async with AsyncExitStack() as closing:
        for item in ready:
            closing.push_async_callback(item.close)


def _shares(run: Run, other: Run) -> bool:
    return run.options.is_capped or run.id == other.id


def _built(run: Run, variables: Variables, store: SqlStore, spending: Spending) -> ReadyRun:
    options, config = run.options, run.suite.config
    services = services_for(Path(run.root), options, config, purse=spending, judge_cache=store.judge_cache)
    spec = filled_target(run.target, run.suite, variables.values)
    planned = plan_cases(run.suite, variables.values, services, target=spec, grader_type=run.options.grader_type)
    target = registry.build_target(spec, services)
    return ReadyRun(run, target, planned, services, concurrency_of(options, config), spending)


async def execute(ready: Sequence[ReadyRun], execution: Execution) -> list[Run]:
    """One run after the other; the reports are stored. A run that is not reached stays pending."""
    ended: list[Run] = []
    with ExitStack() as claims, stopped_by_signals(execution.stopper):
        try:
            for item in ready:
                claims.enter_context(execution.store.claim(item.run))
                item.spending.kept = partial(execution.store.spending.keep, item.run.purse)
                item.spending.charge(0.0, 0)
            for item in ready:
                is_last = item is ready[-1] or item.spending is not ready[-1].spending
                ended.append(await _execute_one(item, execution, is_last=is_last))
        finally:
            await _close(ready)
    return ended


async def _execute_one(ready: ReadyRun, execution: Execution, *, is_last: bool) -> Run:
    """`is_last` of all that share its purse."""
    run, store = ready.run, execution.store
    done, taken_up = finished_before(store, run)
    stopping = stopping_so_far(store, run)
    config = run.suite.config
    concurrency = min(ready.concurrency, max(1, run.planned_trials))
    running = Running(
        run_id=run.id,
        store=store,
        attempting=Attempting(
            ready.target,
            frozenset((*INFRASTRUCTURE_ERRORS, *run.suite.infrastructure_errors)),
            ready.services.isolated,
        ),
        config=config,
        root=Path(run.root),
        max_concurrency=concurrency,
        max_failures=run.options.max_failures,
        on_trial=execution.watcher.trial_finished,
        is_enough=partial(_heard, stopping) if stopping else None,
        run_ahead=2 * concurrency if stopping else None,
        spending=ready.spending if ready.spending.is_capped else None,
    )
    remove_leftovers(run.id)
    execution.watcher.run_started(run, sum(mask.bit_count() for mask in done.values()))
    began = time.monotonic()
    execution.stopper.current = running
    if execution.stopper.asked:
        running.stop("interrupted")
    if stopping and stopping.is_over:
        running.stop("decided")
    order = stopping.order if stopping else None
    pending = pending_trials(ready.planned, run.lock.trials, done, taken_up, order)
    longest_s = max(plan.timeout_s for plan in ready.planned) + GRACE_S
    with unblocked(execution.stopper, longest_s), exits_guarded(), collecting_less():
        stopped = await running.run(pending, config.timeout_global)
    execution.stopper.current = None
    if stopping and stopping.is_over:
        stopped = "decided"
        left = pending_trials(ready.planned, run.lock.trials, done, taken_up, order)
        for trial in skipped_trials(left, config.seed, stopping.reason, running.given_up):
            store.put(run.id, trial)  # those with a row keep theirs
    store.flush()
    rest = told_of_rest(ready.spending, run, store) if is_last else ()
    notes = (*told_of_models(ready.services), *told_of_spending(ready.spending, is_last=is_last), *rest)
    ended = finish_run(store, run, stopped=stopped, took_s=time.monotonic() - began, notes=notes)
    execution.watcher.run_ended(ended)
    return ended


def _heard(stopping: Stopping, trial: Trial) -> bool:
    return stopping.hear(trial.case_id, trial.index, trial.state, trial.first_state)


def stopping_so_far(store: SqlStore, run: Run) -> Stopping | None:
    """The rule of a sequential run, told of all that is finished for good; None for a fixed number of trials.

    Errors are tried again, unless the run was decided already: then they stay what they were when it was.
    """
    if run.options.sequential is None:
        return None
    stopping = Stopping(run.options.sequential, run.lock.cases, run.lock.trials)
    is_decided = False
    erred = []
    for outcome in store.outcomes(run.id):
        is_decided = is_decided or is_not_needed(outcome)
        if outcome.is_open:
            erred.append(outcome)
        else:
            stopping.hear(outcome.case_id, outcome.trial_index, outcome.state, outcome.first_state)
    for outcome in erred if is_decided else ():
        stopping.hear(outcome.case_id, outcome.trial_index, outcome.state, outcome.first_state)
    return stopping


@contextmanager
def collecting_less() -> Iterator[None]:
    """What trials leave behind has no cycles: looking for some after every 700 objects costs a fifth of a quick run."""
    former = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(COLLECT_FROM, *former[1:])
    try:
        yield
    finally:
        gc.set_threshold(*former)
        gc.unfreeze()


@contextmanager
def switching_less() -> Iterator[None]:
    """Longer turns of threads, for where no target is timed: fewer of them cost less."""
    former = sys.getswitchinterval()
    sys.setswitchinterval(TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(former)


def finished_before(store: SqlStore, run: Run) -> tuple[dict[str, int], dict[tuple[str, int], tuple[Attempt, ...]]]:
    """A bit for each trial that is finished for good, and the attempts of those that are taken up again."""
    done: dict[str, int] = {}
    taken_up: dict[tuple[str, int], tuple[Attempt, ...]] = {}
    for outcome in store.outcomes(run.id):
        if outcome.is_open:
            taken_up[outcome.case_id, outcome.trial_index] = ()
        else:
            done[outcome.case_id] = done.get(outcome.case_id, 0) | 1 << outcome.trial_index
    for case_id in {case_id for case_id, _ in taken_up}:
        for trial in store.trials(run.id, case_id):
            if (case_id, trial.index) not in taken_up:
                continue
            taken_up[case_id, trial.index] = trial.attempts
            if trial.state == "awaiting" and not lacks_only_grades(trial.last):  # `regrade` tells what it did not see
                done[case_id] = done.get(case_id, 0) | 1 << trial.index
    return done, taken_up
