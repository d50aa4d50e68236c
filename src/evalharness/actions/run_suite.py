"""Run suites: a request → prepared runs → executed runs. Also what `--dry-run` would do, without doing it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalharness import registry
from evalharness.contracts.context import Context
from evalharness.contracts.execution import Execution
from evalharness.contracts.store import Store
from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import GateOverrides
from evalharness.domain.problem import Problem
from evalharness.domain.run import Origin, PlannedRun, Run, RunOptions, check_run_id
from evalharness.domain.sequential import SequentialRequest
from evalharness.domain.specification import TargetSpec, WrittenTarget
from evalharness.domain.suite import PYTHON, LoadedFile, Selection, Suite, Variant
from evalharness.engine.measuring.trial_counts import count_trials
from evalharness.engine.planning.planned_cases import Variables, select_cases
from evalharness.engine.running.budget import RunBudget
from evalharness.errors import Hint, NothingFailed, NothingSelected, UsageError
from evalharness.reports.report_files import check_compared, remove_earlier
from evalharness.steps.apply_gate import check_gate, with_gate
from evalharness.steps.check_notifications import with_notified
from evalharness.steps.choose_targets import choose_targets
from evalharness.steps.collect_variables import collect_variables, for_suites, public_environment
from evalharness.steps.execute_runs import PreparedRun, check_run_name, execute, opened, prepare_run
from evalharness.steps.find_runs import counted_back, find_run
from evalharness.steps.find_suites import find_suites, load_suite_text, registrations
from evalharness.steps.make_report import cases_not_passed
from evalharness.steps.recall_budget import budget_for
from evalharness.values.variables import fill

IN_CASE = re.compile(r"(?:cases|tasks)\[(\d+)\]")
"""The field of a problem in one of the cases."""
LOOKED_BACK = 100
"""How many runs `--failed` looks at to find out how each case did when it was last run."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One request for the command line and every other caller: what to run, on what, how often, how wide."""

    suites: tuple[str | LoadedFile, ...] = ()
    """Paths, names of registered or ready-made suites, or files that were read before."""
    format_name: str | None = None
    targets: tuple[WrittenTarget, ...] = ()
    trials: int | None = None
    timeout_s: float | None = None
    """Of each trial, in place of the suite's; a case's own wins."""
    seed: int | None = None
    k: tuple[int, ...] = ()
    scorers: tuple[Any, ...] = ()
    """Whatever `--scorer` takes, and what `steps/choose_scorers.py` takes from Python."""
    selection: Selection = field(default_factory=Selection)
    failed_of: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    options: RunOptions = field(default_factory=RunOptions)
    gate: GateOverrides = field(default_factory=GateOverrides)
    sequential: SequentialRequest | None = None
    outputs: tuple[Path, ...] = ()
    """Where reports will be written."""
    run_id: str = ""
    """The id of the first run, which the others share as that of their matrix; empty for one that the store makes."""
    notes: tuple[Finding, ...] = ()
    """What was noticed before, for the reports."""


async def run_suites(context: Context, request: RunRequest, execution: Execution | None = None) -> list[Run]:
    """Every suite on every target: one run each, all stored before the first one starts."""
    execution = execution or Execution()
    files = _read_files(context, request)
    with _for_request(context, files, request) as running:
        _announce(running, files, request, execution)
        return await start_runs(running, await plan_runs(running, files, request), execution, request.outputs)


async def read_suite_text(context: Context, text: str, format_name: str | None = None) -> LoadedFile:
    """A suite that is in no file; relative paths in it start at the current folder."""
    del context
    return load_suite_text(text, format_name)


async def plan_dry(context: Context, request: RunRequest, execution: Execution | None = None) -> list[PlannedRun]:
    """What would be run; nothing is started."""
    files = _read_files(context, replace(request, outputs=()))  # nothing will be written
    with _for_request(context, files, request) as planning:
        _announce(planning, files, request, execution or Execution())
        prepared = await plan_runs(planning, files, request)
    return [_planned(item.run, context.store) for item in prepared]


def _planned(run: Run, store: Store) -> PlannedRun:
    return PlannedRun(
        suite=run.suite.name,
        variant=run.variant,
        target=run.target.label,
        cases=len(run.suite.cases),
        trials_per_case=run.lock.trials,
        trials=run.planned_trials,
        known_cost_usd=0.0 if run.options.mode == "replay" else _known_cost(store, run),
        sequential=run.options.sequential,
    )


async def start_runs(
    context: Context, prepared: Sequence[PreparedRun], execution: Execution, outputs: Iterable[Path] = ()
) -> list[Run]:
    async with opened(prepared, context, execution) as sessions:
        suites = registrations(item.file for item in prepared if item.file)
        stored = context.store.add_runs((item.run for item in prepared), suites)
        for item, run in zip(prepared, stored, strict=True):
            item.run = run
        remove_earlier(outputs)
        return await execute(prepared, sessions, context, execution)


def _read_files(context: Context, request: RunRequest) -> list[LoadedFile]:
    files = [file for file in request.suites if isinstance(file, LoadedFile)]
    named = [name for name in request.suites if isinstance(name, str)]
    files += find_suites(context.store, named, request.format_name) if named else []
    check_compared(request.outputs, [(file.root, file.suite) for file in files], request.gate.baseline)
    return files


def _for_request(context: Context, files: Iterable[LoadedFile], request: RunRequest) -> AbstractContextManager[Context]:
    return for_suites(context, [file.suite for file in files], request.variables, request.env)


def _announce(context: Context, files: Sequence[LoadedFile], request: RunRequest, execution: Execution) -> None:
    suites = [file.suite for file in files if file.suite is not None]
    is_unprotected = request.options.sandbox == "none" and any(
        _needs_sandbox(suite, request.targets) for suite in suites
    )
    noticed = [replace(file, problems=_of_what_is_run(file, request, context.store)) for file in files]
    noticed = [with_notified(file, context.settings) for file in noticed]
    execution.watcher.begun(noticed, context.store.redactor, is_unprotected=is_unprotected)


def _of_what_is_run(file: LoadedFile, request: RunRequest, store: Store) -> tuple[Problem, ...]:
    """What was noticed in a file, without the cases of datasets and task suites that are not selected."""
    places = [IN_CASE.match(problem.field) for problem in file.problems]
    if file.suite is None or not any(places):
        return file.problems
    try:
        chosen = _selection(request, file.suite, store).choose(file.suite, file.path.name).cases
    except NothingSelected:
        chosen = ()
    ids = {case.id for case in chosen}
    numbers = {str(number) for number, case in enumerate(file.suite.cases) if case.id in ids}
    pairs = zip(file.problems, places, strict=True)
    return tuple(problem for problem, place in pairs if place is None or place[1] in numbers)


def _known_cost(store: Store, run: Run) -> float | None:
    last = store.newest_run(suite_name=run.suite.name)
    if last is None:
        return None
    measured = count_trials(last.suite, last.lock.trials, store.outcomes(last.id))
    finished = sum(tally.finished for tally in measured.tallies.values())
    return measured.cost_usd / finished * run.planned_trials if measured.cost_usd and finished else None


async def plan_runs(context: Context, files: Iterable[LoadedFile], request: RunRequest) -> list[PreparedRun]:
    """One run per suite and variant. Suites of which the filters keep nothing are left out, unless all are.

    A cap given for all of them is kept by one budget.
    """
    store = context.store
    prepared: list[PreparedRun] = []
    nothing: NothingSelected | None = None
    for file in files:
        suite = file.suite
        if suite is None:
            continue
        try:
            chosen = select_cases(suite, _selection(request, suite, store), file.path.name)
        except NothingSelected as error:
            nothing = error if nothing is None or isinstance(nothing, NothingFailed) else nothing
            continue
        chosen = _as_asked(chosen, request)
        if request.scorers:
            from evalharness.steps.choose_scorers import with_scorers  # here: few runs have any

            chosen = with_scorers(chosen, request.scorers)
        chosen = with_gate(chosen, request.gate, file.root, store)
        if request.sequential is not None:
            from evalharness.steps.choose_stopping import with_cap

            chosen = with_cap(chosen, request.sequential, store)
        check_gate(chosen, store, file.thresholds_from)
        chosen, variants = choose_targets(chosen, request.targets, file.label)
        for variant in variants:
            shared = prepared[0].budget if prepared and request.options.is_capped else None
            prepared.append(_prepared(context, chosen, variant, request, file, shared))
    if not prepared:
        raise nothing or NothingSelected("nothing to run")
    check_run_name(request.options.run_name, len(prepared), store)
    if request.run_id:
        check_run_id(request.run_id)
        prepared[0].run = prepared[0].run.model_copy(update={"id": request.run_id})
    return prepared


def _as_asked(suite: Suite, request: RunRequest) -> Suite:
    """With what the request says in place of the suite."""
    config = {"timeout_seconds": request.timeout_s, "seed": request.seed}
    fields = {
        "trials": request.trials,
        "k": tuple(sorted(set(request.k))) or None,
        "config": suite.config.model_copy(update={name: value for name, value in config.items() if value is not None}),
    }
    return suite.model_copy(update={name: value for name, value in fields.items() if value is not None})


def _selection(request: RunRequest, suite: Suite, store: Store) -> Selection:
    """`--failed` keeps the cases that did not pass in the named run, else when they were last run.

    Runs of the same targets decide, if there are any.
    """
    selection = request.selection
    if request.failed_of is None:
        return selection
    runs = [find_run(request.failed_of, store)] if request.failed_of else store.newest_runs(suite.name, LOOKED_BACK)
    if not runs:
        raise UsageError(f"suite {suite.name} has not been run before", hint=Hint("hint.run_once"))
    if not request.failed_of:
        names = {variant.name for variant in choose_targets(suite, request.targets, suite.name)[1]}
        runs = [run for run in runs if run.variant in names] or runs
    ids = cases_not_passed(store, runs, suite)
    if not ids:
        where = f"in run {runs[0].name}" if request.failed_of else f"when it was last run on {runs[0].variant}"
        raise NothingFailed(f"every case passed {where}", hint=Hint("hint.run_all"))
    return replace(selection, ids=frozenset(ids))


def _prepared(
    context: Context, suite: Suite, variant: Variant, request: RunRequest, file: LoadedFile, shared: RunBudget | None
) -> PreparedRun:
    settings = context.settings
    variables = collect_variables(suite, request.variables, settings)
    env = public_environment(request.env, suite, settings)
    origin = _origin(request, file, variant, variables, context.store)
    options = request.options.model_copy(update={"env": env, "origin": origin})
    if suite.templated or (variant.target and variant.target.is_templated):
        variant = variant.model_copy(update={"name": fill(variant.name, variables.public())})
    budget = shared or budget_for(options, suite.config)
    item = prepare_run(suite, variant, variables, options, file, budget, context)
    item.notes = (*item.notes, *request.notes, *_judge_without_work(suite, options.judge_model))
    if request.sequential is None:
        return item
    from evalharness.steps.choose_stopping import stopping_plan

    plan = stopping_plan(item.run, request.sequential, context.store, context.today)
    options = item.run.options.model_copy(update={"sequential": plan})
    return replace(item, run=item.run.model_copy(update={"options": options}))


def _judge_without_work(suite: Suite, judge: str) -> Iterator[Finding]:
    """A judge that was asked for though no grader of the suite is a model."""
    if judge and not any(registry.load("grader", kind).type == "model" for kind in _grader_kinds(suite)):
        yield finding("run.judge_not_needed", "warning", judge=judge)


def _label(written: str) -> str:
    """What a target is called that was asked for so; a file that describes one is called as it was written."""
    spec = TargetSpec.model_validate(written)
    is_file = spec.kind == written and Path(written).suffix in (".yaml", ".yml", ".json")
    return written if is_file else spec.label


def _origin(request: RunRequest, file: LoadedFile, variant: Variant, variables: Variables, store: Store) -> Origin:
    named = [target for target in request.targets if isinstance(target, str)]
    own = variant.target.label if variant.target and variant.target.prompt else variant.name
    chosen = named if len(named) == 1 else [target for target in named if _label(target) == own]
    known = {name.lower(): value for name, value in variables.public().items()}
    suite = "" if file.format == PYTHON else str(file.path)
    if file.suite is not None and file.suite.name in request.suites:
        suite = file.suite.name
    return Origin(
        suite=suite,
        has_words=len(named) == len(request.targets),
        format_name=request.format_name or "",
        target=chosen[0] if chosen else "",
        trials=request.trials,
        timeout_s=request.timeout_s,
        seed=request.seed,
        fail_under=request.gate.fail_under,
        baseline=_lasting(request.gate.baseline or "", store),
        variables={name: value for name, value in request.variables.items() if known.get(name.lower()) == value},
    )


def _lasting(reference: str, store: Store) -> str:
    """The name of the run that `latest` or `-2` is now: once this run has begun, they are other runs."""
    run_id = counted_back(reference, store)
    return store.outline(run_id).name if run_id else reference


# Whether a suite runs untrusted code, as far as its files say. Nothing is built.


def _grader_kinds(suite: Suite) -> set[str]:
    """Rather one too many: a grader inside of another is known by its name alone."""
    specs = (spec for case in suite.cases for spec in suite.graders_for(case))
    named = {word for spec in specs for word in (spec.kind, *_words(spec.options))}
    return named.intersection(registry.names("grader"))


def _needs_sandbox(suite: Suite, asked: Sequence[WrittenTarget] = ()) -> bool:
    """`asked` are targets as flags."""
    targets = [suite.target, *suite.targets.values(), *(case.target for case in suite.cases)]
    targets += map(TargetSpec.model_validate, asked)
    sandboxed = any(found.kind == "agent" or _is_sandboxed(found.options) for found in targets if found)
    graders = _grader_kinds(suite)
    return (
        sandboxed
        or any(case.setup for case in suite.cases)
        or any(registry.load("grader", name).needs_sandbox for name in graders)
    )


def _is_sandboxed(options: Any) -> bool:
    return isinstance(options, dict) and options.get("sandbox") is True


def _words(options: Any) -> Iterator[str]:
    """Keys, and the values of `type`."""
    if isinstance(options, dict):
        yield from options
        yield str(options.get("type"))
    for inner in (
        options.values() if isinstance(options, dict) else options if isinstance(options, list | tuple) else ()
    ):
        yield from _words(inner)
