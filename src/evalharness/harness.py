"""Harness: the one door to everything a user can do, and its sync edge.

It holds a store, settings and a clock, and nothing global: no signal, environment variable or file descriptor is
changed. The command line and Python programs all come in here. Actions are imported when they are called: a command
that lists runs need not load what a run needs.
"""

from __future__ import annotations

import asyncio
import contextvars
import re
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, Unpack

from pydantic import BaseModel

from evalharness import registry
from evalharness.contracts.context import Context
from evalharness.contracts.execution import Execution, StopSignal, UnderWay
from evalharness.contracts.executor import Executor
from evalharness.contracts.store import MEMORY, Store
from evalharness.domain.bounds import ALPHA, POWER
from evalharness.domain.comparison import Comparison
from evalharness.domain.gate import GateOverrides
from evalharness.domain.report import Verification
from evalharness.domain.reported_run import ReportedRun
from evalharness.domain.run import EvaluateOptions, GradingOptions, Run, request_fields
from evalharness.domain.selftest import Selftest
from evalharness.domain.specification import WrittenTarget
from evalharness.domain.stored import Baseline, RunLine
from evalharness.domain.suite import ListedSuite, LoadedFile, Suite
from evalharness.domain.trial_plan import TrialPlan
from evalharness.errors import KEPT, LISTED_IN_FULL, HarnessError, Hint, UsageError
from evalharness.redaction import Redactor
from evalharness.settings import Settings, find_project_folder, now

__all__ = ["MEMORY", "Execution", "Harness", "StopSignal", "evaluate", "load_run", "run_sync"]

FOLDER = ".evalharness"
FILE = "store.db"
DEFAULT_STORE = "sqlite"
NAMED_STORE = re.compile(r"([A-Za-z][\w-]*):(.*)", re.DOTALL)
WrittenStore: TypeAlias = str | Path | Store
DEFAULT_BASELINE = "default"
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Harness:
    """May be shared by threads; each run has its own secrets, services and budget."""

    def __init__(self, context: Context, *, owns_store: bool = True) -> None:
        self.context = context
        self._owns_store = owns_store

    @classmethod
    def open(
        cls,
        store: WrittenStore | None = None,
        *,
        settings: Settings | None = None,
        clock: Callable[[], datetime] = now,
        to_read: bool = False,
    ) -> Harness:
        """`with Harness.open() as harness: …`

        `store` is a file, a folder that holds one, or `:memory:`; without it `.evalharness/store.db` of the project;
        `NAME:PLACE` is one of a plug-in, and a Store that you have opened is yours to close. `settings` take the place
        of the environment and the `.env` file, which are read once, here. A store that does not exist is made by the
        first run; `to_read` refuses a file that is named and does not exist.
        """
        settings = settings or Settings.here()
        if store is not None and not isinstance(store, str | Path):
            return cls(Context(store.redacting(settings.redactor()), settings, clock), owns_store=False)
        return cls(Context(_open_store(store, settings, clock, to_read=to_read), settings, clock))

    def __enter__(self) -> Harness:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._owns_store:
            self.context.store.close()

    def redact(self, text: str) -> str:
        """A text without the secrets of the environment."""
        return self._redactor.redact(text)

    @cached_property
    def _redactor(self) -> Redactor:
        """Built once: reports redact every text by itself."""
        return self.context.settings.redactor()

    def call(
        self,
        action: Callable[Concatenate[Context, Arguments], Coroutine[Any, Any, Result]],
        *arguments: Arguments.args,
        **keywords: Arguments.kwargs,
    ) -> Result:
        """Any action of `evalharness.actions`, from sync code; also inside a running event loop."""
        return run_sync(action(self.context, *arguments, **keywords))

    def run(
        self,
        suite: Suite | BaseModel | str | Path,
        target: WrittenTarget | None = None,
        *,
        executor: Executor | str | None = None,
        progress: bool | None = None,
        **options: Unpack[EvaluateOptions],
    ) -> Run:
        """What `evaluate` does, with this store and these settings."""
        from evalharness.actions.evaluate import Evaluation, evaluate_suite

        with self._execution(executor, progress) as execution:
            return self._shown(self.call(evaluate_suite, Evaluation(suite, target, options), execution))

    def resume(
        self,
        run: str | None = None,
        *,
        variables: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        max_concurrency: int | None = None,
        max_cost_usd: float | None = None,
        max_tokens: int | None = None,
        executor: Executor | str | None = None,
        progress: bool | None = None,
    ) -> list[Run]:
        """Continue a run, else the newest unfinished one, with all that were started together with it.

        A run of a bare callable is continued by `run(suite, function, resume=NAME)`.
        """
        from evalharness.actions.resume_run import ResumeRequest, resume_runs

        caps: GradingOptions = {
            "variables": variables,
            "env": env,
            "max_concurrency": max_concurrency,
            "max_cost_usd": max_cost_usd,
            "max_tokens": max_tokens,
        }
        fields = request_fields(caps, GradingOptions)
        request = ResumeRequest(run, fields["variables"], fields["env"], max_concurrency, max_cost_usd, max_tokens)
        with self._execution(executor, progress) as execution:
            return [self._with_trials(each) for each in self.call(resume_runs, request, execution)]

    def selftest(
        self,
        suite: Suite | BaseModel | str | Path,
        *,
        repeat_judges: int = 3,
        **options: Unpack[GradingOptions],
    ) -> Selftest:
        """Whether right answers pass and wrong ones fail; runs no target. Its `verdict` is SOUND or UNSOUND, mostly."""
        from evalharness.actions.selftest_suite import SelftestRequest, selftest_suites
        from evalharness.steps.accept_suite import accept_suite

        fields = request_fields(options, GradingOptions)
        request = SelftestRequest(
            (accept_suite(self.context.store, suite),),
            selection=fields["selection"],
            variables=fields["variables"],
            env=fields["env"],
            options=fields["options"],
            repeat_judges=repeat_judges,
        )
        [tested] = self.call(selftest_suites, request).selftests
        return tested

    def runs(self, limit: int = 20) -> list[RunLine]:
        """The newest first."""
        from evalharness.actions.list_runs import list_runs

        return self.call(list_runs, limit, None).lines

    def load_run(self, name: str) -> Run:
        """A stored run with its report and trials: by id, name, `latest`, `latest:SUITE`, `-2` or baseline."""
        from evalharness.actions.show_run import show_run

        _check_names([name])
        return self._with_trials(self.call(show_run, name))

    def _with_trials(self, run: Run) -> Run:
        return self._shown(run.model_copy(update={"trials": tuple(self.context.store.trials(run.id))}))

    def _shown(self, run: Run) -> Run:
        from evalharness.reports.terminal.shown_run import ShownRun

        return ShownRun.of(run)

    @contextmanager
    def _execution(self, executor: Executor | str | None, progress: bool | None) -> Iterator[Execution]:
        """Nothing of the progress stays on the screen, however it ends."""
        from evalharness.reports.terminal.python_progress import python_progress

        built = registry.build_executor(executor) if isinstance(executor, str) else executor
        watcher = python_progress(progress, self.context.settings)
        try:
            yield Execution(watcher, executor=built)
        finally:
            watcher.stop()

    def reported(self, run: Run) -> ReportedRun:
        """A run with its report, as reporters take it: its trials are read from the store while they are written."""
        from evalharness.steps.report_runs import reported_run  # slow to load: not for --help

        return reported_run(run, self.context.store)

    def write_report(self, run: Run | ReportedRun | str, path: str | Path, reporter: str | None = None) -> None:
        """As JSON, JUnit or whatever else the ending of the file says, or a reporter that is named."""
        from evalharness.actions.write_report import write_report

        self.call(write_report, run, Path(path), reporter)

    def suites(self, folder: str | Path = ".") -> list[ListedSuite]:
        """Those below a folder, those registered in the store, and the ready-made ones."""
        from evalharness.actions.list_suites import list_suites

        return self.call(list_suites, Path(folder)).suites

    def compare(self, old: str, new: str) -> Comparison:
        """Two runs, baselines or files with a JSON report, case by case; differences are new − old."""
        from evalharness.actions.compare_runs import compare_runs

        [comparison] = self.call(compare_runs, [old, new])
        return comparison

    def baseline(self, run: str | Sequence[str], name: str = DEFAULT_BASELINE) -> Baseline:
        """Make a run, or several of one target, what later runs of its suite are compared with."""
        from evalharness.actions.set_baseline import set_baseline

        _check_names([run] if isinstance(run, str) or not isinstance(run, Sequence) else run)
        return self.call(set_baseline, run, name).baseline

    def regrade(
        self,
        run: str,
        *,
        suite: str | Path | None = None,
        executor: Executor | str | None = None,
        progress: bool | None = None,
        **options: Unpack[GradingOptions],
    ) -> Run:
        """Grade the stored transcripts of a run again, as a new run; nothing is re-run."""
        from evalharness.actions.regrade_run import RegradeRequest, regrade_runs

        graded_by = None if suite is None else str(suite)
        request = RegradeRequest(run=run, suite=graded_by, **request_fields(options, GradingOptions))
        with self._execution(executor, progress) as execution:
            [regraded] = self.call(regrade_runs, request, execution)
        return self._with_trials(regraded)

    def gate(self, run: str | Path, overrides: GateOverrides | None = None) -> ReportedRun:
        """A stored run, or the file of its JSON report, judged by its gate and by these overrides. Nothing is stored.

        The report that comes back has this verdict; `write_report` writes it.
        """
        from evalharness.actions.gate_run import gate_run

        return self.call(gate_run, str(run), overrides or GateOverrides())

    def plan(
        self,
        suite: str | Path,
        effect: float = 0.05,
        *,
        power: float = POWER,
        alpha: float = ALPHA,
        cases: int | None = None,
        trials: int | None = None,
        run: str | None = None,
    ) -> TrialPlan:
        """How many cases and trials of a suite it takes to see a drop of the pass rate by `effect` (0.05: 5 points).

        Judges by the suite's last run, or by `run`. Nothing is started.
        """
        from evalharness.actions.plan_trials import PlanRequest, plan_trials

        return self.call(plan_trials, PlanRequest(str(suite), effect, power, alpha, cases, trials, run))

    def validate(self, *paths: str | Path, format_name: str | None = None) -> list[LoadedFile]:
        """Suite files, and every suite in folders, each with all its problems. Nothing is imported or started."""
        from evalharness.actions.validate_suites import validate_suites

        return self.call(validate_suites, map(Path, paths), format_name)

    def verify(
        self, what: str | Path, *, tasks: int | Mapping[str, int] | None = None, trials: int | None = None
    ) -> Verification:
        """Every figure of a run or of a JSON report computed again; or whether a table of pass^k can be.

        Of a table, `tasks` says how many tasks each row has (by its name, where they differ), `trials` how many trials
        each task had.
        """
        from evalharness.actions.verify_report import verify_any

        return self.call(verify_any, str(what), tasks, trials)


def evaluate(
    suite: Suite | BaseModel | str | Path,
    target: WrittenTarget | None = None,
    *,
    store: WrittenStore | None = None,
    executor: Executor | str | None = None,
    progress: bool | None = None,
    **options: Unpack[EvaluateOptions],
) -> Run:
    """Run a suite, a suite file or a suite's name on a target; returns the finished run with its report and trials.

    `target` is any sync or async callable, or whatever `--target` takes; without it the suite's own is used. `store` is
    what `Harness.open` takes. `executor`, or the name of a plug-in's, does the trials elsewhere than in this process.
    `progress` shows or hides a progress line; by default it is shown in a terminal and in a notebook.
    `options` are those of `EvaluateOptions`. Relative paths start at the suite file's folder, for a Suite at the
    current one. Works inside a running event loop too (a notebook), where it uses a thread of its own.
    """
    with Harness.open(store) as harness:
        return harness.run(suite, target, executor=executor, progress=progress, **options)


def load_run(name: str = "latest", *, store: WrittenStore | None = None) -> Run:
    """A stored run with its report and trials: by id, by name, or the newest."""
    with Harness.open(store, to_read=True) as harness:
        return harness.load_run(name)


def _check_names(runs: Sequence[Any]) -> None:
    for name in runs:
        if not isinstance(name, str):
            raise UsageError(f"name a run by its id or its name, not {name!r:.80}")


def _open_store(named: str | Path | None, settings: Settings, clock: Callable[[], datetime], *, to_read: bool) -> Store:
    kind, place = _named_store(named)
    if not kind:
        kind, place = DEFAULT_STORE, _store_place(named)
        if to_read and named and place != MEMORY and not Path(place).exists():
            raise UsageError(f"there is no store {place}")
    store: type[Store] = registry.load("store", kind)
    return store.open(place, settings, clock)


def _named_store(named: str | Path | None) -> tuple[str, str]:
    """`NAME:PLACE` apart; no name for what is a file. A file whose own name has a colon is written with its folder."""
    found = NAMED_STORE.fullmatch(named) if isinstance(named, str) else None
    return (found[1], found[2]) if found and not Path(found[0]).exists() else ("", "")


def named_store(written: str | Path | None = None) -> str:
    """The store as `Harness.open` takes it, in a form that means the same in any folder."""
    kind, place = _named_store(written)
    if kind:
        return f"{kind}:{place}"
    place = _store_place(written)
    return place if place == MEMORY else str(Path(place).absolute())


def _store_place(named: str | Path | None) -> str:
    if named == MEMORY:
        return MEMORY
    if named:
        path = Path(named)
        return str(path / FILE if path.is_dir() else path)
    return str(find_project_folder(Path.cwd()) / FOLDER / FILE)


def run_sync(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """`asyncio.run`, also where a loop is already running: then on a thread. Ctrl-C cancels the coroutine."""
    if not _is_loop_running():  # not inside of an `except`: it would be quoted in the traceback of whatever is raised
        return _run_to_end(coroutine)
    task = asyncio.current_task()
    outcome: list[Result] = []
    failure: list[BaseException] = []
    inner: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []
    has_begun, is_given_up = threading.Event(), threading.Event()

    async def noted() -> Result:
        current = asyncio.current_task()
        assert current is not None
        inner.append((asyncio.get_running_loop(), current))
        has_begun.set()
        return await coroutine

    def work() -> None:
        try:
            outcome.append(_run_to_end(noted(), is_given_up.is_set))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failure.append(error)
        finally:
            has_begun.set()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="evalharness", daemon=True)
    thread.start()
    # In short pieces: a wait without end hears no signal, and a loop that is asked to end only notes it in its task.
    try:
        while thread.is_alive() and not (task and task.cancelling()):
            thread.join(timeout=0.1)
    finally:
        has_begun.wait()
        is_given_up.set()
        for loop, running in inner if thread.is_alive() else ():
            with suppress(RuntimeError):  # it has ended meanwhile
                loop.call_soon_threadsafe(running.cancel)
        thread.join()
    if failure and isinstance(failure[0], asyncio.CancelledError):
        raise KeyboardInterrupt
    if failure:
        raise failure[0]
    return outcome[0]


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_to_end(coroutine: Awaitable[Result], is_given_up: Callable[[], bool] = lambda: False) -> Result:
    """`asyncio.run`, which must not see the result: it prints it in full to itself when it is done.

    What a target does to the loop and to tasks that are not its own ends the run, in words.
    """
    results: list[Result] = []
    raised: list[RuntimeError] = []
    cancelled: list[UnderWay] = []

    async def keep() -> None:
        try:
            results.append(await coroutine)
        except RuntimeError as error:
            raised.append(error)
            raise
        except asyncio.CancelledError as error:
            cancelled.extend(each for each in error.args if isinstance(each, UnderWay))
            raise

    try:
        asyncio.run(keep())
    except SystemExit as error:  # of a task that a target left behind: nobody else may decide our exit code
        raise HarnessError(f"the target called sys.exit({error.code!r}) outside its call and ended the run") from error
    except asyncio.CancelledError as error:
        if is_given_up():
            raise
        raise _ended_by_target("cancelled tasks that are not its own", cancelled) from error
    except RuntimeError as error:
        if error in raised:
            raise
        raise _ended_by_target("stopped the event loop", cancelled) from error
    return results[0]


def _ended_by_target(what: str, cancelled: Sequence[UnderWay]) -> HarnessError:
    if not cancelled:
        return HarnessError(f"the target {what} and ended the run", hint=KEPT)
    run_name, cases = cancelled[0]
    of_many = f" and {len(cases) - LISTED_IN_FULL:,} more" if len(cases) > LISTED_IN_FULL else ""
    during = (
        f" during case{'s' if len(cases) > 1 else ''} {', '.join(cases[:LISTED_IN_FULL])}{of_many}" if cases else ""
    )
    hint = Hint("hint.ended_by_target", run=run_name)
    return HarnessError(f"the target {what} and ended run {run_name}{during}", hint=hint)
