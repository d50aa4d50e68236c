"""Resume a run: what is pending is run, what ended in error is run again, everything else stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalharness import settings
from evalharness.actions.execute_runs import Execution, execute, make_all_ready, make_report, run_to_end, services_for
from evalharness.actions.run_suite import collect_variables, secrets_of
from evalharness.contracts import Watcher
from evalharness.domain.run import Run, RunLock
from evalharness.engine.planning import Variables, make_lock
from evalharness.errors import CannotResume, MissingVariable, UsageError
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore
from evalharness.version import VERSION


@dataclass(frozen=True, slots=True)
class ResumeRequest:
    run: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    max_concurrency: int | None = None


def resume_runs(request: ResumeRequest, store: SqlStore, watcher: Watcher) -> list[Run]:
    """The named run, else the newest unfinished one, else the newest; with all that the same command started."""
    runs = store.matrix(find_resumable(store, request.run).matrix_id)
    given = {**request.variables, **request.env}
    secrets = settings.secrets(extra=given)
    for run in runs:
        secrets |= secrets_of(run.suite, given)
    store.redactor = Redactor(secrets)
    env = {**{key: value for run in runs for key, value in run.options.env.items() if value}, **request.env}
    restore = settings.set_environment(env)
    try:
        return run_to_end(_resume(runs, request, Execution(store, watcher)))
    finally:
        restore()


def find_resumable(store: SqlStore, reference: str | None) -> Run:
    if reference is not None:
        return store.find_run(reference)
    found = store.newest_run(unfinished=True) or store.newest_run()
    if found is None:
        raise UsageError("there is no run to resume", hint="start one: eval-harness run SUITE")
    return found


async def _resume(runs: list[Run], request: ResumeRequest, execution: Execution) -> list[Run]:
    store = execution.store
    unfinished = []
    for run in runs:
        if has_work_left(store, run):
            options = run.options.model_copy(update={"max_failures": None})
            if request.max_concurrency is not None:
                options = options.model_copy(update={"max_concurrency": request.max_concurrency})
            variables = stored_variables(run, request.variables)
            check_unchanged(run, variables)
            unfinished.append((run.model_copy(update={"options": options}), variables))
    ready = await make_all_ready(unfinished)
    executed = {run.id: run for run in await execute(ready, execution)} if ready else {}
    return [executed.get(run.id) or with_report(store, run) for run in runs]


def has_work_left(store: SqlStore, run: Run) -> bool:
    states = [state for _, _, state, *_ in store.outcomes(run.id)]
    return len(states) < run.planned_trials or "error" in states


def with_report(store: SqlStore, run: Run) -> Run:
    """The report of a run with nothing left to do; stored now if its process died after the last trial."""
    stopped, elapsed_s = store.progress(run.id)
    report = make_report(store, run, stopped=stopped, elapsed_s=elapsed_s)
    if run.finished_at is None:
        store.finish(run.id, report, stopped="", elapsed_s=0.0)
    return run.model_copy(update={"report": report})


def stored_variables(run: Run, given: Mapping[str, str]) -> Variables:
    """The values the run was started with; secret ones were never stored and come from where they came from."""
    public = {
        name: value for name, value in run.suite.vars.items() if run.lock.variables.get(name.lower(), "") is not None
    }
    variables = collect_variables(run.suite.model_copy(update={"vars": public}), given)
    kept = {name: value for name, value in run.lock.variables.items() if value is not None}
    missing = [name for name in run.lock.variables if name not in kept and name not in variables.values]
    if missing:
        raise MissingVariable(missing, f"run {run.name}")
    return Variables({**variables.values, **kept}, variables.secret - set(kept))


def check_unchanged(run: Run, variables: Variables) -> None:
    """Refuse to mix results of different targets or graders in one run."""
    services, _ = services_for(Path(run.root), 1)
    now = make_lock(run.suite, run.target, variables, services, where=f"run {run.name}", harness_version=VERSION)
    changed = _changes(run.lock, now)
    if changed:
        raise CannotResume(
            f"run {run.name} cannot be resumed: {' and '.join(changed)} changed since it began",
            hint="undo the change, or start a new run",
        )


def _changes(before: RunLock, now: RunLock) -> list[str]:
    changed = ["the target"] if before.target != now.target else []
    for noun in ("graders", "case"):
        ids = [id_ for id_, lock in before.cases.items() if getattr(now.cases[id_], noun) != getattr(lock, noun)]
        if ids:
            listed = ", ".join(ids[:3]) + (" …" if len(ids) > 3 else "")
            changed.append(f"the {'graders' if noun == 'graders' else 'files'} of {listed}")
    return changed
