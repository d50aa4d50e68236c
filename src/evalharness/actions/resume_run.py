"""Resume a run: what is pending is run, what ended in error is run again, what a spend cap left due is graded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from evalharness import settings
from evalharness.actions.clear_outputs import clear_outputs
from evalharness.actions.collect_variables import redactor_for, stored_variables
from evalharness.actions.execute_runs import (
    Execution,
    execute,
    make_all_ready,
    run_to_end,
)
from evalharness.actions.lend_services import services_for
from evalharness.actions.make_report import finish_run, with_report
from evalharness.contracts import Watcher
from evalharness.domain.run import Run, RunLock
from evalharness.engine.planning import Variables, make_lock
from evalharness.engine.stopping import is_not_needed
from evalharness.errors import CannotResume, UsageError
from evalharness.stores.sql_store import SqlStore
from evalharness.version import VERSION


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    run: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    max_concurrency: int | None = None
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    outputs: tuple[Path, ...] = ()
    """Where reports will be written."""

    def changes(self) -> dict[str, float | None]:
        """Of a run's options: what is said anew."""
        asked = {name: getattr(self, name) for name in ("max_concurrency", "max_cost_usd", "max_tokens")}
        return {name: value for name, value in asked.items() if value is not None}


def resume_runs(request: ResumeRequest, store: SqlStore, watcher: Watcher) -> list[Run]:
    """The named run, else the newest unfinished one, else the newest; with all that the same command started."""
    runs = store.matrix(find_resumable(store, request.run).matrix_id)
    clear_outputs(request.outputs, [(Path(run.root), run.suite) for run in runs])
    store.redactor = redactor_for([run.suite for run in runs], {**request.variables, **request.env})
    env = {**{key: value for run in runs for key, value in run.options.env.items() if value}, **request.env}
    restore = settings.set_environment(env)
    try:
        return run_to_end(continue_runs(runs, request, Execution(store, watcher)))
    finally:
        restore()


def find_resumable(store: SqlStore, reference: str | None) -> Run:
    if reference is not None:
        return store.find_run(reference)
    found = store.newest_run(unfinished=True) or store.newest_run()
    if found is None:
        raise UsageError("there is no run to resume", hint="start one: eval-harness run SUITE")
    return found


async def continue_runs(runs: list[Run], request: ResumeRequest, execution: Execution) -> list[Run]:
    store = execution.store
    unfinished = []
    for run in runs:
        if run.regrade_of:
            _refuse_unfinished(store, run)
        elif has_work_left(store, run):
            options = run.options.model_copy(update={"max_failures": None})
            options = options.model_copy(update=request.changes())
            variables = stored_variables(run, request.variables)
            check_unchanged(run, variables)
            unfinished.append((run.model_copy(update={"options": options}), variables))
    ready = await make_all_ready(unfinished, store, runs)
    executed = {run.id: run for run in await execute(ready, execution)} if ready else {}
    return [executed.get(run.id) or _finished_now(store, run) for run in runs]


def _refuse_unfinished(store: SqlStore, regrade: Run) -> None:
    """What a regrade lacks is a grade, or an answer that another run lacks: nothing that could be run."""
    if sum(1 for _ in store.outcomes(regrade.id)) < regrade.planned_trials:
        raise CannotResume(
            f"run {regrade.name} is an unfinished regrade, in which there is nothing to run",
            hint=f"resume {regrade.regrade_of} if it is unfinished, then: eval-harness regrade {regrade.regrade_of}",
        )


def has_work_left(store: SqlStore, run: Run) -> bool:
    """What can be mended is taken up again, but not of a run that was decided without it."""
    finished = 0
    is_open = is_decided = False
    for outcome in store.outcomes(run.id):
        finished += 1
        is_open = is_open or outcome.is_open
        is_decided = is_decided or (run.options.sequential is not None and is_not_needed(outcome))
    return finished < run.planned_trials or (is_open and not is_decided)


def _finished_now(store: SqlStore, run: Run) -> Run:
    """A run with nothing left to do; its report is stored now if its process died right after the last trial."""
    return with_report(store, run) if run.finished_at else finish_run(store, run, stopped="", took_s=0.0)


def check_unchanged(run: Run, variables: Variables) -> None:
    """Refuse to mix results of different targets or graders in one run."""
    services = services_for(Path(run.root), run.options, run.suite.config)
    now = make_lock(
        run.suite,
        run.target,
        variables,
        services,
        where=f"run {run.name}",
        harness_version=VERSION,
        grader_type=run.options.grader_type,
    )
    changed = _changes(run.lock, now)
    if changed:
        raise CannotResume(
            f"run {run.name} cannot be resumed: {' and '.join(changed)} changed since it began",
            hint="undo the change, or start a new run",
        )


def _changes(before: RunLock, now: RunLock) -> list[str]:
    changed = ["the target"] if before.target != now.target else []
    for part, noun in (("graders", "graders"), ("case", "files"), ("target", "target")):
        ids = [id_ for id_, lock in before.cases.items() if getattr(now.cases[id_], part) != getattr(lock, part)]
        if ids:
            listed = ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")
            changed.append(f"the {noun} of {listed}")
    return changed
