"""Run suites: files and flags → planned runs → executed runs. Also what `--dry-run` would do, without doing it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from evalharness import registry, settings
from evalharness.actions.execute_runs import Execution, execute, make_all_ready, run_to_end, services_for
from evalharness.contracts import Watcher
from evalharness.domain.problem import Problem
from evalharness.domain.run import Run, RunOptions
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite, Variant
from evalharness.engine.measuring import count_trials
from evalharness.engine.planning import Selection, Variables, make_lock, select_cases
from evalharness.errors import NothingSelected, UsageError
from evalharness.formats.loading import LoadedFile
from evalharness.formats.source import read_source
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore, timestamp
from evalharness.version import VERSION


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One request for the command line and every other caller: what to run, on what, how often, how wide."""

    paths: tuple[Path, ...]
    targets: tuple[str, ...] = ()
    trials: int | None = None
    selection: Selection = field(default_factory=Selection)
    failed_of: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    options: RunOptions = field(default_factory=RunOptions)


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run that could be started: for `--dry-run`, and as the first half of running."""

    run: Run
    variables: Variables
    known_cost_usd: float | None = None


def redactor_for(files: Iterable[LoadedFile], request: RunRequest) -> Redactor:
    """Knows every secret that a run of these files may meet: nothing is written before it exists."""
    given = {**request.variables, **request.env}
    found: dict[str, str] = settings.secrets(extra=given)
    for file in files:
        if file.suite is not None:
            found |= secrets_of(file.suite, given)
    return Redactor(found)


def secrets_of(suite: Suite, given: Mapping[str, str]) -> dict[str, str]:
    """Secret values a run of this suite may meet, wherever they come from: environment, flags, the file itself."""
    return settings.secrets(extra_names=suite.secrets, extra={**suite.vars, **given})


def run_suites(files: Iterable[LoadedFile], request: RunRequest, store: SqlStore, watcher: Watcher) -> list[Run]:
    """Every suite on every target: one run each, all stored before the first one starts."""
    restore = settings.set_environment(request.env)
    try:
        planned = plan_runs(files, request, store)
        return run_to_end(_run(planned, Execution(store, watcher)))
    finally:
        restore()


async def _run(planned: list[PlannedRun], execution: Execution) -> list[Run]:
    ready = await make_all_ready((plan.run, plan.variables) for plan in planned)
    stored = execution.store.add_runs(item.run for item in ready)
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
        for variant in _variants(chosen, request.targets, file):
            planned.append(_plan(chosen, variant, request, file))
    if not planned:
        raise nothing or NothingSelected("nothing to run")
    return planned


def _selection(request: RunRequest, suite: Suite, store: SqlStore) -> Selection:
    """`--failed` keeps the cases that did not pass in the named run, else in the last run of this suite."""
    selection = request.selection
    if request.failed_of is None:
        return selection
    last = store.find_run(request.failed_of) if request.failed_of else store.newest_run(suite_name=suite.name)
    if last is None:
        raise UsageError(f"suite {suite.name} has not been run before", hint="run it once without --failed")
    ids: set[str] = set()
    for run in [last] if request.failed_of else store.matrix(last.matrix_id):
        if run.suite.name == last.suite.name:
            ids |= _not_passed(store, run)
    if not ids:
        raise NothingSelected(f"every case passed in run {last.name}", hint="run without --failed to run them all")
    return replace(selection, ids=frozenset(ids))


def _not_passed(store: SqlStore, run: Run) -> set[str]:
    measured = count_trials(run.suite, run.lock.trials, store.outcomes(run.id))
    return {id_ for id_, tally in measured.tallies.items() if tally.state(run.suite.case_threshold) != "passed"}


def _variants(suite: Suite, targets: tuple[str, ...], file: LoadedFile) -> list[Variant]:
    """`--target` replaces what the file says; one target alone needs no name."""
    if targets:
        specs = [_flag_target(text, suite) for text in targets]
        return [Variant(name=spec.label, target=spec) for spec in specs]
    if suite.variants:
        return [v.model_copy(update={"target": suite.named_target(v.target)}) for v in suite.variants]
    if suite.target is None:
        raise UsageError(
            f"{file.path} names no target",
            hint="add `target:` to the suite or give --target file.py:attr, cmd:COMMAND, a URL or oracle",
        )
    target = suite.named_target(suite.target)
    return [Variant(name=target.label, target=target)]


def _flag_target(text: str, suite: Suite) -> TargetSpec:
    """A target from the command line is found from the current folder; the run remembers which that was."""
    if text in suite.targets:
        return suite.targets[text].model_copy(update={"name": text})
    path = Path(text)
    if path.suffix in (".yaml", ".yml", ".json"):
        return _target_file(path).model_copy(update={"root": str(path.resolve().parent)})
    spec = TargetSpec.model_validate(text)
    registry.load("target", spec.kind)
    return spec.model_copy(update={"root": str(Path.cwd())})


def _target_file(path: Path) -> TargetSpec:
    """A YAML or JSON file that describes a target in full."""
    source = read_source(path)
    data = source.data.get("target", source.data) if isinstance(source.data, dict) else source.data
    try:
        spec = TargetSpec.model_validate(data)
        registry.parse_options("target", spec)
    except ValidationError as error:
        first = error.errors()[0]
        field_name = ".".join(str(part) for part in first["loc"])
        problem = Problem(str(path), source.line_of(()), field_name, str(first["msg"]).removeprefix("Value error, "))
        raise UsageError(str(problem)) from None
    return spec if spec.name else spec.model_copy(update={"name": path.stem})


def _plan(suite: Suite, variant: Variant, request: RunRequest, file: LoadedFile) -> PlannedRun:
    variables = collect_variables(suite, request.variables)
    secret = secrets_of(suite, request.env)
    env = {name: None if name in secret else value for name, value in request.env.items()}
    return PlannedRun(
        new_run(suite, variant, variables, request.options.model_copy(update={"env": env}), file.root, str(file.path)),
        variables,
    )


def new_run(suite: Suite, variant: Variant, variables: Variables, options: RunOptions, root: Path, where: str) -> Run:
    """A run with its lock; the store will give it its id and its name."""
    services, _ = services_for(root, 1)
    lock = make_lock(suite, variant.target, variables, services, where=where, harness_version=VERSION)
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


def collect_variables(suite: Suite, given: Mapping[str, str]) -> Variables:
    """`--var` first, then the suite, then the environment; names in any case."""
    environment = settings.environment()
    values = {name.lower(): value for name, value in environment.items()}
    values |= {name.lower(): value for name, value in suite.vars.items()}
    values |= {name.lower(): value for name, value in given.items()}
    secret = {name.lower() for name in secrets_of(suite, given)}
    return Variables(values, frozenset(secret & set(values)))


def dry_text(planned: list[PlannedRun]) -> str:
    """The dry run as JSON."""
    rows = [
        {
            "suite": plan.run.suite.name,
            "variant": plan.run.variant,
            "target": plan.run.target.label,
            "cases": len(plan.run.suite.cases),
            "trials_per_case": plan.run.lock.trials,
            "trials": plan.run.planned_trials,
            "known_cost_usd": plan.known_cost_usd,
        }
        for plan in planned
    ]
    return json.dumps({"dry_run": rows}, ensure_ascii=False, indent=2)
