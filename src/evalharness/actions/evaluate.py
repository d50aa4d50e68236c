"""evaluate: the Python door. Cases, graders and targets in code; the same runs, store and reports as the command."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from evalharness.actions.execute_runs import Execution, Stopper, execute, make_all_ready, run_to_end
from evalharness.actions.load_suites import load_suite
from evalharness.actions.open_store import open_store
from evalharness.actions.resume_run import check_unchanged, stored_variables
from evalharness.actions.run_suite import collect_variables, new_run, secrets_of
from evalharness.domain.run import Run, RunOptions
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite, Variant
from evalharness.engine.planning import Selection, select_cases
from evalharness.errors import CannotResume, UsageError
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore


def evaluate(
    suite: Suite | str | Path,
    target: Callable[..., Any] | TargetSpec | str | Mapping[str, Any] | None = None,
    *,
    trials: int | None = None,
    max_concurrency: int | None = None,
    variables: Mapping[str, str] | None = None,
    store: str | None = None,
    resume: str | None = None,
) -> Run:
    """Run a suite, or a suite file, on a target and return the finished run with its report and trials.

    `target` is any sync or async callable, or whatever `--target` takes; without it the suite's own is used.
    Works inside a running event loop too (a notebook), where it uses a thread of its own.
    """
    given = dict(variables or {})
    root = Path.cwd()
    if isinstance(suite, str | Path):
        root = Path(suite).resolve().parent
        suite = load_suite(suite)
    spec = _target(suite, target)
    if trials is not None:
        suite = suite.model_copy(update={"trials": trials})
    suite = select_cases(suite, Selection(), f"suite {suite.name}")
    secrets = secrets_of(suite, given)
    stopper = Stopper()

    async def run_it() -> Run:
        with open_store(store, Redactor(secrets)) as opened:
            execution = Execution(opened, stopper=stopper)
            if resume is not None:
                return await _resumed(opened, resume, suite, spec, given, execution)
            planned_variables = collect_variables(suite, given)
            options = RunOptions(max_concurrency=max_concurrency)
            variant = Variant(name=spec.label, target=spec)
            run = new_run(suite, variant, planned_variables, options, root, f"suite {suite.name}")
            [ready] = await make_all_ready([(run, planned_variables)])
            [ready.run] = opened.add_runs([ready.run])
            [ended] = await execute([ready], execution)
            return _with_trials(opened, ended)

    return _run_anywhere(run_it(), stopper)


async def _resumed(
    store: SqlStore, reference: str, suite: Suite, target: TargetSpec, given: dict[str, str], execution: Execution
) -> Run:
    """Continue a stored run with the functions of this program: they are checked to be the same."""
    stored = store.find_run(reference)
    if [case.id for case in stored.suite.cases] != [case.id for case in suite.cases]:
        raise CannotResume(f"run {stored.name} has other cases than this suite", hint="start a new run")
    run = stored.model_copy(update={"suite": suite.model_copy(update={"trials": stored.lock.trials}), "target": target})
    variables = stored_variables(run, given)
    check_unchanged(run, variables)
    [ended] = await execute(await make_all_ready([(run, variables)]), execution)
    return _with_trials(store, ended)


def _with_trials(store: SqlStore, run: Run) -> Run:
    return run.model_copy(update={"trials": tuple(store.trials(run.id))})


def _target(suite: Suite, target: Callable[..., Any] | TargetSpec | str | Mapping[str, Any] | None) -> TargetSpec:
    if isinstance(target, TargetSpec):
        return target
    if target is not None:
        return suite.named_target(TargetSpec.model_validate(target))
    if suite.target is None:
        raise UsageError("no target: pass one to evaluate(), or give the suite one")
    return suite.named_target(suite.target)


def _run_anywhere(coroutine: Coroutine[Any, Any, Run], stopper: Stopper) -> Run:
    """`asyncio.run`, also where a loop is already running: then on a thread, which Ctrl-C stops cleanly."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_to_end(coroutine)
    outcome: list[Run] = []
    failure: list[BaseException] = []
    loop = asyncio.new_event_loop()

    def work() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                outcome.append(runner.run(coroutine))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=work, name="evalharness-evaluate", daemon=True)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(stopper)
        thread.join()
        raise
    if failure:
        raise failure[0]
    return outcome[0]
