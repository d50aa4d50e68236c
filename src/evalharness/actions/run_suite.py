"""Run suites: suites and wishes → planned runs → executed runs. Also what `--dry-run` would do, without doing it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalharness import settings
from evalharness.actions.choose_gate import GateWishes, check_gate, with_gate
from evalharness.actions.choose_scorers import WrittenScorer, with_scorers
from evalharness.actions.choose_stopping import SequentialWish, stopping_plan, with_cap
from evalharness.actions.choose_targets import WrittenTarget, choose_targets
from evalharness.actions.collect_variables import collect_variables, secrets_of
from evalharness.actions.execute_runs import Execution, execute, make_all_ready, run_to_end
from evalharness.actions.lend_services import services_for
from evalharness.actions.make_report import cases_not_passed
from evalharness.actions.register_suites import registrations
from evalharness.contracts import Watcher
from evalharness.domain.run import Run, RunOptions
from evalharness.domain.suite import Suite, Variant
from evalharness.domain.variables import fill
from evalharness.engine.planning import Selection, Variables, make_lock, select_cases
from evalharness.engine.tallying import count_trials
from evalharness.errors import NothingSelected, UsageError
from evalharness.formats.loading import LoadedFile
from evalharness.settings import today
from evalharness.stores.sql_store import SqlStore, timestamp
from evalharness.version import VERSION

LOOKED_BACK = 100
"""How many runs `--failed` looks at to find out how each case did when it was last run."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One request for the command line and every other caller: what to run, on what, how often, how wide."""

    targets: tuple[WrittenTarget, ...] = ()
    trials: int | None = None
    k: tuple[int, ...] = ()
    scorers: tuple[WrittenScorer, ...] = ()
    selection: Selection = field(default_factory=Selection)
    failed_of: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    options: RunOptions = field(default_factory=RunOptions)
    gate: GateWishes = field(default_factory=GateWishes)
    sequential: SequentialWish | None = None


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run that could be started: for `--dry-run`, and as the first half of running."""

    run: Run
    variables: Variables
    file: LoadedFile
    known_cost_usd: float | None = None


def run_suites(files: Iterable[LoadedFile], request: RunRequest, store: SqlStore, watcher: Watcher) -> list[Run]:
    """Every suite on every target: one run each, all stored before the first one starts."""
    restore = settings.set_environment(request.env)
    try:
        return run_to_end(start_runs(plan_runs(files, request, store), Execution(store, watcher)))
    finally:
        restore()


async def start_runs(planned: list[PlannedRun], execution: Execution) -> list[Run]:
    ready = await make_all_ready(((plan.run, plan.variables) for plan in planned), execution.store)
    suites = registrations(plan.file for plan in planned)
    stored = execution.store.add_runs((item.run for item in ready), suites)
    for item, run in zip(ready, stored, strict=True):
        item.run = run
    return await execute(ready, execution)


def plan_dry(files: Iterable[LoadedFile], request: RunRequest, store: SqlStore) -> list[PlannedRun]:
    """What would be run, with the cost of the same trials last time where it is known; nothing is started."""
    return [replace(plan, known_cost_usd=_known_cost(store, plan.run)) for plan in plan_runs(files, request, store)]


def _known_cost(store: SqlStore, run: Run) -> float | None:
    last = store.newest_run(suite_name=run.suite.name)
    if last is None:
        return None
    measured = count_trials(last.suite, last.lock.trials, store.outcomes(last.id))
    finished = sum(sum(tally.counts.values()) for tally in measured.tallies.values())
    return measured.cost_usd / finished * run.planned_trials if measured.cost_usd and finished else None


def plan_runs(files: Iterable[LoadedFile], request: RunRequest, store: SqlStore) -> list[PlannedRun]:
    """One run per suite and variant. Suites of which the filters keep nothing are left out, unless all are."""
    planned: list[PlannedRun] = []
    nothing: NothingSelected | None = None
    for file in files:
        suite = file.suite
        if suite is None:
            continue
        try:
            chosen = select_cases(suite, _selection(request, suite, store), file.path.name)
        except NothingSelected as error:
            nothing = nothing or error
            continue
        if request.trials is not None:
            chosen = chosen.model_copy(update={"trials": request.trials})
        if request.k:
            chosen = chosen.model_copy(update={"k": tuple(sorted(set(request.k)))})
        if request.scorers:
            chosen = with_scorers(chosen, request.scorers)
        chosen = with_gate(chosen, request.gate, file.root)
        if request.sequential is not None:
            chosen = with_cap(chosen, request.sequential, store)
        check_gate(chosen, store, file.thresholds_from)
        chosen, variants = choose_targets(chosen, request.targets, str(file.path))
        planned += [_may_stop(_plan(chosen, variant, request, file), request, store) for variant in variants]
    if not planned:
        raise nothing or NothingSelected("nothing to run")
    return planned


def _selection(request: RunRequest, suite: Suite, store: SqlStore) -> Selection:
    """`--failed` keeps the cases that did not pass in the named run, else when they were last run."""
    selection = request.selection
    if request.failed_of is None:
        return selection
    runs = [store.find_run(request.failed_of)] if request.failed_of else store.newest_runs(suite.name, LOOKED_BACK)
    if not runs:
        raise UsageError(f"suite {suite.name} has not been run before", hint="run it once without --failed")
    ids = cases_not_passed(store, runs)
    if not ids:
        raise NothingSelected(f"every case passed in run {runs[0].name}", hint="run without --failed to run them all")
    return replace(selection, ids=frozenset(ids))


def _plan(suite: Suite, variant: Variant, request: RunRequest, file: LoadedFile) -> PlannedRun:
    variables = collect_variables(suite, request.variables)
    secret = secrets_of(suite, request.env)
    env = {name: None if name in secret else value for name, value in request.env.items()}
    options = request.options.model_copy(update={"env": env})
    if suite.templated or (variant.target and variant.target.is_templated):
        variant = variant.model_copy(update={"name": fill(variant.name, variables.public())})
    return PlannedRun(new_run(suite, variant, variables, options, file.root, str(file.path)), variables, file)


def _may_stop(planned: PlannedRun, request: RunRequest, store: SqlStore) -> PlannedRun:
    if request.sequential is None:
        return planned
    run = planned.run
    options = run.options.model_copy(update={"sequential": stopping_plan(run, request.sequential, store, today())})
    return replace(planned, run=run.model_copy(update={"options": options}))


def new_run(suite: Suite, variant: Variant, variables: Variables, options: RunOptions, root: Path, where: str) -> Run:
    """A run with its lock; the store will give it its id and its name."""
    services = services_for(root, options, suite.config)
    assert variant.target is not None, "chosen with its target"
    lock = make_lock(
        suite,
        variant.target,
        variables,
        services,
        where=where,
        harness_version=VERSION,
        grader_type=options.grader_type,
    )
    return Run(
        id="",
        name="",
        matrix_id="",
        variant=variant.name,
        root=str(root),
        created_at=timestamp(),
        suite=suite,
        target=variant.target,
        lock=lock,
        options=options,
    )
