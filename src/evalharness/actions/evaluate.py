"""evaluate: the Python door. Cases, graders and targets in code; the same runs, store and reports as the command."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack

from pydantic import ValidationError

from evalharness.actions.choose_scorers import WrittenScorer, with_scorers
from evalharness.actions.choose_targets import WrittenTarget, choose_targets
from evalharness.actions.collect_variables import redactor_for
from evalharness.actions.execute_runs import Execution, run_to_end
from evalharness.actions.find_suites import find_suites
from evalharness.actions.open_store import open_store
from evalharness.actions.register_suites import without_file
from evalharness.actions.resume_run import ResumeRequest, continue_runs
from evalharness.actions.run_suite import RunRequest, plan_runs, start_runs
from evalharness.actions.stop_runs import Stopper
from evalharness.domain.run import Run, RunOptions
from evalharness.domain.suite import Suite
from evalharness.errors import CannotResume, UsageError
from evalharness.formats import task_suites, workflow_datasets
from evalharness.formats.loading import LoadedFile
from evalharness.formats.problems import in_words
from evalharness.formats.task_records import EvalSuite
from evalharness.formats.workflow_datasets import EvalDataset
from evalharness.stores.sql_store import SqlStore

WrittenSuite: TypeAlias = Suite | EvalDataset | EvalSuite | str | Path
"""A suite in one of its Python forms, a suite file, or the name of a suite."""


class EvaluateOptions(TypedDict, total=False):
    """How wide a run is, who judges it and what it may cost."""

    max_concurrency: int | None
    """Trials at the same time; 0: the number of CPUs."""
    judge_model: str
    """Judges in place of whatever the graders name; `none` leaves their grades due."""
    max_cost_usd: float | None
    max_tokens: int | None
    use_cache: bool


def evaluate(
    suite: WrittenSuite,
    target: WrittenTarget | None = None,
    *,
    trials: int | None = None,
    scorers: Sequence[WrittenScorer] = (),
    variables: Mapping[str, str] | None = None,
    store: str | None = None,
    resume: str | None = None,
    **options: Unpack[EvaluateOptions],
) -> Run:
    """Run a suite, a suite file or a suite's name on a target; returns the finished run with its report and trials.

    `target` is any sync or async callable, or whatever `--target` takes; without it the suite's own is used.
    `scorers` take the place of the suite's own: whatever `--scorer` takes, objects with a method `score`, functions.
    `options` are those of `EvaluateOptions`. Relative paths start at the suite file's folder, for a Suite at the
    current one. Works inside a running event loop too (a notebook), where it uses a thread of its own.
    """
    if trials is not None and trials < 1:
        raise UsageError(f"trials must be at least 1, not {trials}")
    file = _as_file(suite, store)
    assert file.suite is not None
    given = dict(variables or {})
    request = RunRequest(
        targets=() if target is None else (target,),
        trials=trials,
        scorers=tuple(scorers),
        variables=given,
        options=_checked(options),
    )
    redactor = redactor_for([file.suite], given)
    stopper = Stopper()

    async def run_it() -> Run:
        with open_store(store, redactor) as opened:
            execution = Execution(opened, stopper=stopper)
            if resume is not None:
                [ended] = await _resume(opened.find_run(resume), file, request, execution)
            else:
                planned = plan_runs([file], request, opened)
                if len(planned) > 1:
                    raise UsageError("the suite has several variants", hint="pass one of them to evaluate() as target")
                [ended] = await start_runs(planned, execution)
            return _with_trials(opened, ended)

    return run_anywhere(run_it(), stopper)


def _checked(options: EvaluateOptions) -> RunOptions:
    if unknown := set(options) - set(EvaluateOptions.__annotations__):
        raise TypeError(f"evaluate() got an unexpected keyword argument '{min(unknown)}'")
    at_once = options.get("max_concurrency")
    if at_once is not None and at_once < 0:
        raise UsageError(f"max_concurrency must be at least 0 (the number of CPUs), not {at_once}")
    for name, cap in (("max_cost_usd", options.get("max_cost_usd")), ("max_tokens", options.get("max_tokens"))):
        if cap is not None and not cap > 0:
            raise UsageError(f"{name} must be above 0, not {cap}")
    return RunOptions(**options)


def _as_file(suite: WrittenSuite, store: str | None) -> LoadedFile:
    if isinstance(suite, str | Path):
        [file] = find_suites([str(suite)], store)
        return file
    return without_file(_as_suite(suite), Path.cwd())


def _as_suite(suite: Suite | EvalDataset | EvalSuite) -> Suite:
    try:
        if isinstance(suite, EvalDataset):
            return workflow_datasets.suite_of(suite)
        if isinstance(suite, EvalSuite):
            return task_suites.suite_of(suite)
    except ValidationError as error:
        raise UsageError(f"this {type(suite).__name__} is no suite: {in_words(error, Suite)}") from None
    if isinstance(suite, Suite):
        return suite
    kind = type(suite).__name__
    raise UsageError(f"evaluate() takes a Suite, an EvalDataset, an EvalSuite, a file or a suite's name, not {kind}")


async def _resume(stored: Run, file: LoadedFile, request: RunRequest, execution: Execution) -> list[Run]:
    """Continue a stored run with the functions of this program: they are checked to be the same."""
    assert file.suite is not None
    if [case.id for case in stored.suite.cases] != [case.id for case in file.suite.cases]:
        raise CannotResume(f"run {stored.name} has other cases than this suite", hint="start a new run")
    if request.trials not in (None, stored.lock.trials):
        raise CannotResume(f"run {stored.name} has {stored.lock.trials} trials a case", hint="start a new run")
    suite = file.suite.model_copy(update={"trials": stored.lock.trials})
    if request.scorers:
        suite = with_scorers(suite, request.scorers)
    suite, chosen = choose_targets(suite, request.targets, str(file.path))
    variants = {variant.name: variant for variant in chosen}
    target = (variants.get(stored.variant) or next(iter(variants.values()))).target
    run = stored.model_copy(update={"suite": suite, "target": target})
    wishes = ResumeRequest(variables=request.variables, max_concurrency=request.options.max_concurrency)
    return await continue_runs([run], wishes, execution)


def _with_trials(store: SqlStore, run: Run) -> Run:
    return run.model_copy(update={"trials": tuple(store.trials(run.id))})


def run_anywhere(coroutine: Coroutine[Any, Any, Run], stopper: Stopper) -> Run:
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
            outcome.append(run_to_end(coroutine, asyncio.Runner(loop_factory=lambda: loop)))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failure.append(error)

    thread = threading.Thread(target=work, name="evalharness-evaluate", daemon=True)
    with _interrupts(lambda: loop.call_soon_threadsafe(stopper)) as interrupted:
        thread.start()
        while thread.is_alive():  # in short pieces, because a wait without end hears no signal
            thread.join(timeout=0.2)
    if interrupted:
        raise KeyboardInterrupt
    if failure:
        raise failure[0]
    return outcome[0]


@contextmanager
def _interrupts(stop: Callable[[], object]) -> Iterator[list[int]]:
    """The running loop has its own idea of Ctrl-C, which it would only act on once we are done."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def on_signal(number: int, _: object) -> None:
        came.append(number)
        stop()

    former = signal.signal(signal.SIGINT, on_signal)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, former or signal.SIG_DFL)
