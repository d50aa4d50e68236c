"""Execute runs: what `run`, `resume` and `regrade` have in common, from prepared runs to stored reports."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evalharness import registry
from evalharness.contracts.context import Context
from evalharness.contracts.exchange import Recording
from evalharness.contracts.execution import Execution, UnderWay
from evalharness.contracts.executor import ExecutorSession, RunSpec, WorkUnit
from evalharness.contracts.store import Store
from evalharness.contracts.target import Target
from evalharness.domain.finding import Finding
from evalharness.domain.prompt import Prompt
from evalharness.domain.run import LONGEST_RUN_NAME, Run, RunLock, RunOptions, check_given_name
from evalharness.domain.suite import LoadedFile, Suite, Variant
from evalharness.domain.trial import Attempt, Trial
from evalharness.engine.planning.planned_cases import (
    UsedVariables,
    Variables,
    filled_target,
    lock_cases,
    make_lock,
    public_plans,
)
from evalharness.engine.running.budget import RunBudget
from evalharness.engine.running.driver import RunDriver, Stopped, StoppingRule, TrialKey, pending_units, skipped_trials
from evalharness.engine.running.local_executor import LocalExecutor
from evalharness.engine.running.parts import Parts, build_parts
from evalharness.engine.running.regraded_trial import lacks_only_grades
from evalharness.errors import CannotResume, Hint, UsageError
from evalharness.steps.check_commands import check_commands
from evalharness.steps.find_recordings import find_recording, left_notes, taping_of, with_recordings, with_secret
from evalharness.steps.make_report import finish_run, with_items
from evalharness.steps.recall_budget import spending_notes, unaccounted_notes
from evalharness.values.digest import digest
from evalharness.version import VERSION


@asynccontextmanager
async def opened(
    prepared: Sequence[PreparedRun], context: Context, execution: Execution
) -> AsyncIterator[list[ExecutorSession]]:
    """The parts of all these runs, or of none: before anything is stored or started."""
    open_parts = AsyncExitStack()
    cache = context.store.judge_cache
    executor = execution.executor or LocalExecutor()
    for item in prepared:  # built when the run was planned, whoever executes it
        item.parts.heard_by(execution.watcher.preparing)
        open_parts.push_async_callback(item.parts.close)
    async with AsyncExitStack() as undo:
        undo.push_async_callback(_close_quietly, open_parts)
        opening = [
            executor.open(item.spec, item.budget, cache, item.parts)
            if isinstance(executor, LocalExecutor)
            else executor.open(item.spec, item.budget, cache)
            for item in prepared
        ]
        sessions = [await open_parts.enter_async_context(each) for each in opening]
        for item in prepared:
            item.run = with_images(item.run, item.parts.images())
            await item.parts.reap(context.store.identity, _is_abandoned(context.store))
        undo.pop_all()
    async with open_parts:
        yield sessions


def with_images(run: Run, found: Mapping[str, str]) -> Run:
    """The images that a name stands for are known once it is open. A run that goes on needs those it began with."""
    if not found:
        return run
    before = run.lock.images
    for name, now in found.items():
        if before.get(name, now) != now:
            raise CannotResume(
                f"run {run.name} cannot be resumed: the image {name} is {now:.12} now and was {before[name]:.12}",
                hint=Hint("hint.run_changed", suite=run.options.origin.suite),
            )
    return run.model_copy(update={"lock": run.lock.model_copy(update={"images": {**before, **found}})})


def _is_abandoned(store: Store) -> Callable[[str], bool]:
    return lambda run_id: not store.is_claimed(run_id)


async def _close_quietly(open_parts: AsyncExitStack) -> None:
    with suppress(Exception):  # what went wrong first is what counts
        await open_parts.aclose()


@dataclass(slots=True)
class Driven:
    """How the trials of a run came to their end."""

    stopped: Stopped
    given_up: set[TrialKey]
    took_s: float


async def drive(
    item: PreparedRun,
    session: ExecutorSession,
    units: Iterator[WorkUnit],
    context: Context,
    execution: Execution,
    *,
    replaced: Collection[TrialKey] = (),
    stopping: StoppingRule | None = None,
    on_trial: Callable[[Trial], None] | None = None,
) -> Driven:
    """Every unit done, or stopped before that; what is finished is in the store."""
    run = item.run
    is_asked = item.spec.target is not None  # else stored answers are graded: what cannot be paid for awaits a grade
    driver = RunDriver(
        run_id=run.id,
        store=context.store,
        budget=item.budget if is_asked and item.budget.is_capped else None,
        replaced=replaced,
        max_failures=run.options.max_failures,
        on_trial=on_trial or execution.watcher.trial_finished,
        is_enough=partial(_heard, stopping) if stopping else None,
        run_ahead=2 * min(item.parts.concurrency, max(1, run.planned_trials)) if stopping else None,
    )
    if stopping and stopping.is_over:
        driver.stop("decided")
    loop = asyncio.get_running_loop()
    began = time.monotonic()

    def stop(at_once: bool) -> None:
        if at_once:
            driver.stop("interrupted")
        else:
            loop.call_soon_threadsafe(driver.stop, "interrupted")

    with execution.stop.heard_by(stop):
        if execution.stop.is_sent:
            driver.stop("interrupted")
        try:
            stopped = await driver.drive(session, units, run.suite.config.timeout_global if is_asked else None)
        finally:
            context.store.flush()
    return Driven(stopped, driver.given_up, time.monotonic() - began)


async def execute(prepared: Sequence[PreparedRun], sessions: Sequence[ExecutorSession], context: Context,
                  execution: Execution) -> list[Run]:  # fmt: skip
    """One run after the other; the reports are stored. A run that is not reached stays pending."""
    ended: list[Run] = []
    with _claimed(prepared, context.store):
        for item, session in zip(prepared, sessions, strict=True):
            is_last = item is prepared[-1] or item.budget is not prepared[-1].budget
            ended.append(await _execute_one(item, session, context, execution, is_last=is_last))
    return [with_items(context.store, run) for run in ended]


def _claimed(prepared: Iterable[PreparedRun], store: Store) -> ExitStack:
    """While it is entered, no other process runs these."""
    with ExitStack() as claims:
        for item in prepared:
            claims.enter_context(store.claim(item.run))
            keep_spent(item, store)
        return claims.pop_all()


def keep_spent(item: PreparedRun, store: Store) -> None:
    """What a capped run spends outlives this process."""
    if item.budget.is_capped:
        item.budget.kept = partial(store.record_spent, item.run.budget_id)
        item.budget.charge(0.0, 0)


async def _execute_one(
    item: PreparedRun, session: ExecutorSession, context: Context, execution: Execution, *, is_last: bool
) -> Run:
    """`is_last` of all that share its budget."""
    run, store = item.run, context.store
    done, taken_up = ({}, {}) if item.is_new else finished_before(store, run)
    stopping = stopping_so_far(store, run)
    before_s = 0.0 if item.is_new else store.progress(run.id)[1]
    execution.watcher.run_started(run, sum(mask.bit_count() for mask in done.values()))

    begun: dict[str, None] = {}

    def units() -> Iterator[WorkUnit]:
        ids = (case.id for case in run.suite.cases)
        order = stopping.order if stopping else None
        pending = pending_units(ids, run.lock.trials, run.suite.config.seed, done, taken_up, order)
        if run.options.mode != "live":
            pending = with_recordings(pending, run, item.recording)
        for unit in pending:
            begun[unit.case_id] = None
            yield unit

    began = time.monotonic()
    try:
        driven = await drive(item, session, units(), context, execution, replaced=taken_up, stopping=stopping)
    except asyncio.CancelledError:  # whoever awaits the run gave up; what is finished is kept, the rest stays pending
        finish_run(context, run, stopped="interrupted", before_s=before_s, took_s=time.monotonic() - began)
        finished, _ = finished_before(store, run)
        cases = [id_ for id_ in begun if finished.get(id_, 0).bit_count() < run.lock.trials]
        raise asyncio.CancelledError(UnderWay(run.name, cases)) from None
    if stopping and stopping.is_over:
        driven.stopped = "decided"
        for trial in skipped_trials(units(), stopping.reason, driven.given_up):
            store.put(run.id, trial)  # those with a row keep theirs
        store.flush()
    rest = unaccounted_notes(item.budget, run, store) if is_last else ()
    known = item.recording.notes if item.recording is not None else ()
    notes = (*item.notes, *known, *session.notes(), *spending_notes(item.budget, is_last=is_last), *rest)
    ended = finish_run(context, run, stopped=driven.stopped, before_s=before_s, took_s=driven.took_s, notes=notes)
    execution.watcher.run_ended(ended)
    return ended


def _heard(stopping: StoppingRule, trial: Trial) -> bool:
    return stopping.hear(trial.case_id, trial.index, trial.state, trial.first_state)


def stopping_so_far(store: Store, run: Run) -> StoppingRule | None:
    """The rule of a sequential run, told of all that is finished for good; None for a fixed number of trials.

    Errors are tried again, unless the run was decided already: then they stay what they were when it was.
    """
    if run.options.sequential is None:
        return None
    from evalharness.engine.running.sequential_decision import Stopping  # here: few runs may stop early

    stopping = Stopping(run.options.sequential, run.lock.cases, run.lock.trials)
    is_decided = False
    erred = []
    for outcome in store.outcomes(run.id):
        is_decided = is_decided or outcome.is_not_needed
        if outcome.is_open:
            erred.append(outcome)
        else:
            stopping.hear(outcome.case_id, outcome.trial_index, outcome.state, outcome.first_state)
    for outcome in erred if is_decided else ():
        stopping.hear(outcome.case_id, outcome.trial_index, outcome.state, outcome.first_state)
    return stopping


def finished_before(store: Store, run: Run) -> tuple[dict[str, int], dict[TrialKey, tuple[Attempt, ...]]]:
    """A bit for each trial that is finished for good, and the attempts of those that are taken up again."""
    done: dict[str, int] = {}
    taken_up: dict[TrialKey, tuple[Attempt, ...]] = {}
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


# Names that users give to runs.


def check_run_name(name: str, runs: int, store: Store) -> None:
    """Whether one may be called so, and only one is; whether the name is free is known when it is stored."""
    if not name:
        return
    check_given_name(name, "run", LONGEST_RUN_NAME)
    if runs > 1:
        raise UsageError(f"{runs} runs cannot all be named {name}", hint="name a run of one suite on one target")
    if store.redactor.redact(name) != name:
        raise UsageError("the name of the run contains a secret", hint="choose another name")
    if any(baseline.name == name for baseline in store.baselines()):
        raise UsageError(f"'{name}' cannot be the name of a run: a baseline has this name")


# Prepare runs: specification, parts and lock of a run, each made once, before anything is opened or stored.


@dataclass(slots=True)
class PreparedRun:
    """A run that could be started: its parts are built and its lock is taken; nothing is open, nothing is stored."""

    run: Run
    spec: RunSpec
    parts: Parts
    budget: RunBudget
    file: LoadedFile | None = None
    notes: tuple[Finding, ...] = ()
    """For its report."""
    is_new: bool = False
    """Nothing of it is in the store yet."""
    recording: Recording | None = None
    """What it replays."""


def prepare_run(
    suite: Suite, variant: Variant, variables: Variables, options: RunOptions, file: LoadedFile, budget: RunBudget,
    context: Context,
) -> PreparedRun:  # fmt: skip
    """A new run; the store will give it its id and, unless it has one, a name."""
    assert variant.target is not None, "chosen with its target"
    recording = find_recording(suite, variant.name, options, context.store)
    options = with_secret(options, recording)
    suite = _seeded(suite, recording, options)
    environment = context.settings.environment
    taping = taping_of(suite, variant.name, options, context)
    about = (suite, variant.target, file.root, options, variables.values, environment)
    spec = RunSpec(*about, store_id=context.store.identity, taping=taping)
    check_commands(suite, variant.target, file.root, spec.environment)
    parts, lock = _locked(spec, variables, budget, context, file.label)
    run = Run(
        id="",
        name=options.run_name,
        matrix_id="",
        variant=variant.name,
        root=str(file.root),
        created_at=context.timestamp(),
        suite=suite,
        target=variant.target,
        lock=lock,
        options=options,
    )
    notes = left_notes(recording, file.suite or suite)
    return PreparedRun(run, spec, parts, budget, file, notes, is_new=True, recording=recording)


def _seeded(suite: Suite, recording: Recording | None, options: RunOptions) -> Suite:
    """With the seed of the recording, unless another was asked for."""
    if recording is None or recording.seed is None or options.origin.seed is not None:
        return suite
    return suite.model_copy(update={"config": suite.config.model_copy(update={"seed": recording.seed})})


def prepare_again(run: Run, variables: Variables, budget: RunBudget, context: Context) -> PreparedRun:
    """A stored run that goes on, locked as it would be now."""
    environment = context.settings.environment
    recording = find_recording(run.suite, run.variant, run.options, context.store)
    taping = taping_of(run.suite, run.variant, run.options, context)
    about = (run.suite, run.target, Path(run.root), run.options, variables.values, environment)
    spec = RunSpec(*about, store_id=context.store.identity, taping=taping)
    parts, lock = _locked(spec, variables, budget, context, f"run {run.name}")
    return PreparedRun(run.model_copy(update={"lock": lock}), spec, parts, budget, recording=recording)


def _locked(
    spec: RunSpec, variables: Variables, budget: RunBudget, context: Context, where: str
) -> tuple[Parts, RunLock]:
    """The parts of a run, and its lock. Secrets never reach a digest.

    So parts that hold the value of a secret are built a second time without it, for their digests.
    """
    assert spec.target is not None, "a regrade is locked by what it grades"
    used = variables.used_by(spec.suite, spec.target, where)
    parts = build_parts(
        spec, budget, context.store.judge_cache, modules=context.modules, servers=context.servers, where=where
    )
    assert parts.target is not None
    target = parts.target
    if used.has_secret_target:
        public = filled_target(spec.target, spec.suite, variables.public())
        target = registry.build_target(public, parts.services)
    planned = public_plans(parts.each_case(), parts.cases, variables, used)
    lock = make_lock(
        spec.suite,
        used.locked,
        target=_digest_of(target, spec.target.prompt, used, where),
        cases=lock_cases(planned, spec.root),
        harness_version=VERSION,
    )
    return parts, lock.model_copy(update={"unpinned": parts.unpinned()})


def _digest_of(target: Target, prompt: Prompt | None, used: UsedVariables, where: str) -> str:
    """Of the target and how it is asked. The case's own share of a prompt is in the digest of the case."""
    try:
        own = target.digest()
        if prompt is None:
            return own
        return digest([own, prompt.content, {name: used.locked.get(name) for name in sorted(prompt.variables)}])
    except UsageError as error:
        raise UsageError(f"{where}: {error.message}", hint=error.hint) from error
