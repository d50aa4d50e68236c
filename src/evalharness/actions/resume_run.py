"""Resume a run: what is pending is run, what ended in error is run again, what a spend cap left outstanding is
graded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalharness.contracts.context import Context
from evalharness.contracts.execution import Execution
from evalharness.contracts.store import Store
from evalharness.domain.exchange import Mode
from evalharness.domain.run import Run, RunLock
from evalharness.errors import CannotResume, Hint, UsageError
from evalharness.reports.report_files import check_compared, remove_earlier
from evalharness.steps.collect_variables import for_suites, stored_environment, stored_variables
from evalharness.steps.execute_runs import PreparedRun, execute, opened, prepare_again
from evalharness.steps.find_runs import find_run
from evalharness.steps.make_report import finish_run, with_items, with_report
from evalharness.steps.recall_budget import budget_so_far
from evalharness.workspaces import remove_leftovers


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    run: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    max_concurrency: int | None = None
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    mode: Mode | None = None
    """Only a replay can go on otherwise: as `auto`, which asks for what is not recorded; and the other way round."""
    recordings: str = ""
    outputs: tuple[Path, ...] = ()
    """Where reports will be written."""

    def changes(self) -> dict[str, Any]:
        """Of a run's options: what is set again."""
        asked = {name: getattr(self, name) for name in ("max_concurrency", "max_cost_usd", "max_tokens", "mode")}
        recordings = {"recordings": self.recordings} if self.recordings else {}
        return {name: value for name, value in asked.items() if value is not None} | recordings


async def resume_runs(context: Context, request: ResumeRequest, execution: Execution | None = None) -> list[Run]:
    """The named run, else the newest unfinished one, else the newest; with all that the same command started."""
    execution = execution or Execution()
    runs = _resumable_runs(context.store, request.run)
    check_compared(request.outputs, [(Path(run.root), run.suite) for run in runs])
    context = context.with_environment(stored_environment(runs))
    with for_suites(context, [run.suite for run in runs], request.variables, request.env) as running:
        execution.watcher.begun([], running.store.redactor)
        return await continue_runs(running, runs, request, execution)


async def resumed_environment(context: Context, reference: str | None) -> dict[str, str]:
    """The variables that the runs to resume were given, without secrets."""
    return stored_environment(_resumable_runs(context.store, reference))


def _resumable_runs(store: Store, reference: str | None) -> list[Run]:
    if reference is not None:
        return store.matrix(find_run(reference, store).matrix_id)
    found = store.newest_run(unfinished=True) or store.newest_run()
    if found is None:
        raise UsageError("there is no run to resume", hint=Hint("hint.start_run"))
    return store.matrix(found.matrix_id)


async def continue_runs(context: Context, runs: list[Run], request: ResumeRequest, execution: Execution) -> list[Run]:
    await asyncio.to_thread(
        remove_leftovers
    )  # even if no trial is pending: the process may have been killed after the last one
    unfinished: list[PreparedRun] = []
    for run in runs:
        if run.regrade_of:
            _refuse_unfinished(context.store, run)
        elif _has_work_left(context.store, run):
            unfinished.append(_prepared(context, run, runs, request, unfinished))
    executed: dict[str, Run] = {}
    if unfinished:
        async with opened(unfinished, context, execution) as sessions:
            remove_earlier(request.outputs)
            executed = {run.id: run for run in await execute(unfinished, sessions, context, execution)}
    return [executed.get(run.id) or _finished_now(context, run) for run in runs]


def _prepared(
    context: Context, run: Run, runs: Iterable[Run], request: ResumeRequest, before: list[PreparedRun]
) -> PreparedRun:
    """Refuses to mix results of different targets or graders in one run, and recorded ones with others."""
    _check_mode(run, request)
    options = run.options.model_copy(update={"max_failures": None})
    going_on = run.model_copy(update={"options": options.model_copy(update=request.changes())})
    variables = stored_variables(run, request.variables, context.settings)
    is_capped = going_on.options.is_capped
    spent_by = [old for old in runs if is_capped or old.id == run.id]
    shared = before[-1].budget if before and before[-1].run.options.is_capped else None
    item = prepare_again(going_on, variables, shared or budget_so_far(going_on, context.store, spent_by), context)
    if changed := _changes(run.lock, item.run.lock):
        only_graders = all(part == "graders" for part, _ in changed)
        again = Hint("hint.run_changed", suite=run.options.origin.suite)
        raise CannotResume(
            f"run {run.name} cannot be resumed: {' and '.join(what for _, what in changed)} changed since it began",
            hint=Hint("hint.regrade_changed", run=run.name) if only_graders else again,
        )
    item.run = going_on
    return item


def _check_mode(run: Run, request: ResumeRequest) -> None:
    before, now = run.options.mode, request.mode
    if now not in (None, before) and not (run.is_replayed and now in ("replay", "auto")):
        raise CannotResume(
            f"run {run.name} was started with mode {before}, so it cannot continue with mode {now}",
            hint="only replay and auto can replace each other",
        )
    if request.recordings and not run.is_replayed:
        raise CannotResume(f"run {run.name} replays nothing, so recordings have no effect")


def _refuse_unfinished(store: Store, regrade: Run) -> None:
    """What a regrade lacks is a grade, or an answer that another run lacks: nothing that could be run."""
    if sum(1 for _ in store.outcomes(regrade.id)) < regrade.planned_trials:
        raise CannotResume(
            f"run {regrade.name} is an unfinished regrade, so there is nothing to run",
            hint=Hint("hint.resume_then_regrade", run=regrade.regraded_run),
        )


def _has_work_left(store: Store, run: Run) -> bool:
    """What can be done better is taken up again, but not of a run that was decided without it."""
    finished = 0
    is_open = is_decided = False
    for outcome in store.outcomes(run.id):
        finished += 1
        is_open = is_open or outcome.is_open
        is_decided = is_decided or (run.options.sequential is not None and outcome.is_not_needed)
    return finished < run.planned_trials or (is_open and not is_decided)


def _finished_now(context: Context, run: Run) -> Run:
    """A run with nothing left to do; its report is stored now if its process died right after the last trial."""
    if run.finished_at:
        return with_report(context, run)
    _, before_s = context.store.progress(run.id)
    return with_items(context.store, finish_run(context, run, stopped="", before_s=before_s, took_s=0.0))


def _changes(before: RunLock, now: RunLock) -> list[tuple[str, str]]:
    """Which part of the lock differs, and what that is in words."""
    changed = [("target", "the target")] if before.target != now.target else []
    for part, noun in (("graders", "graders"), ("case", "files"), ("target", "target")):
        ids = [id_ for id_, lock in before.cases.items() if getattr(now.cases[id_], part) != getattr(lock, part)]
        if ids:
            listed = ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")
            changed.append((part, f"the {noun} of {listed}"))
    return changed
