"""Regrade runs: stored transcripts graded again, as new runs. Nothing is run, and no target is so much as imported.

The old run and its grades stay as they are. A regrade is whole or not at all: one that is stopped leaves nothing
behind, unless its process is killed.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalharness import settings
from evalharness.actions.check_llms import check_llms
from evalharness.actions.choose_gate import GateWishes, check_gate, with_gate
from evalharness.actions.clear_outputs import clear_outputs
from evalharness.actions.collect_variables import redactor_for, secrets_of
from evalharness.actions.execute_runs import collecting_less, run_to_end, switching_less
from evalharness.actions.keep_verdicts import locked_as_judged
from evalharness.actions.lend_services import close_services, concurrency_of, services_for, told_of_models
from evalharness.actions.make_report import finish_run
from evalharness.actions.match_cases import Matched, match_cases, stored_suite
from evalharness.actions.recall_spending import spending_so_far, told_of_spending
from evalharness.actions.stop_runs import exits_guarded
from evalharness.contracts import Services, Watcher
from evalharness.domain.digest import digest
from evalharness.domain.plain_numbers import count
from evalharness.domain.run import CaseLock, Run, RunLock, RunOptions
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Trial
from evalharness.engine.planning import PlannedCase, Selection, plan_cases
from evalharness.engine.regrading import Regraded, judge_states, loses_verdicts, regrade_trials
from evalharness.engine.running import MAX_BACKLOG
from evalharness.engine.spending import Spending
from evalharness.engine.tallying import CaseTally
from evalharness.errors import Interrupted, StoreError, UsageError
from evalharness.formats.loading import LoadedFile
from evalharness.stores.sql_store import SqlStore, timestamp
from evalharness.version import VERSION

SHOWN_CHANGES = 10


@dataclass(frozen=True, slots=True)
class RegradeRequest:
    """`run` is an id or a name; reports go to `outputs`. Without `files` the suite is used that the run has stored."""

    run: str
    files: tuple[LoadedFile, ...] = ()
    matrix: bool = False
    selection: Selection = field(default_factory=Selection)
    options: RunOptions = field(default_factory=RunOptions)
    variables: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    gate: GateWishes = field(default_factory=GateWishes)
    outputs: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Regrade:
    """A finished regrade, and those of its report's notes that put its numbers in doubt."""

    run: Run
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A regrade about to begin: graders built, nothing stored yet."""

    old: Run
    run: Run
    planned: dict[str, PlannedCase]
    services: Services
    spending: Spending
    left_out: list[str]
    keeps_verdicts: bool


def regrade_runs(request: RegradeRequest, store: SqlStore, watcher: Watcher) -> list[Regrade]:
    """The named run, with `matrix` every run that was started together with it."""
    named = store.find_run(request.run)
    olds = store.matrix(named.matrix_id) if request.matrix else [named]
    graded_by = [(file.root, file.suite) for file in request.files if file.suite]
    graded_by = graded_by or [(Path(old.root), stored_suite(old)) for old in olds]
    clear_outputs(request.outputs, graded_by, request.gate.baseline)
    store.redactor = redactor_for([suite for _, suite in graded_by], {**request.variables, **request.env})
    env = {**{key: value for old in olds for key, value in old.options.env.items() if value}, **request.env}
    with ExitStack() as after, collecting_less(), switching_less():
        after.callback(settings.set_environment(env))
        try:
            return run_to_end(_regrade_all(olds, request, store, watcher))
        except KeyboardInterrupt:
            hint = f"start it again with the same options: eval-harness regrade {named.name}; the cache keeps verdicts"
            raise Interrupted("interrupted: nothing of this regrade was kept", hint=hint) from None


async def _regrade_all(olds: list[Run], request: RegradeRequest, store: SqlStore, watcher: Watcher) -> list[Regrade]:
    ready: list[_Ready] = []
    shared: Spending | None = None
    try:
        for old in olds:
            ready.append(_make_ready(old, request, store, shared))
            shared = ready[-1].spending if request.options.is_capped else None
            graders = [grader for plan in ready[-1].planned.values() if not plan.skip for _, grader in plan.graders]
            await check_llms(ready[-1].services, ready[-1].spending, graders, ())
        return await _regrade_ready(ready, store, watcher)
    finally:
        for item in ready:
            await close_services(item.services)


async def _regrade_ready(ready: list[_Ready], store: SqlStore, watcher: Watcher) -> list[Regrade]:
    runs = store.add_runs(item.run for item in ready)
    with ExitStack() as unfinished, ExitStack() as claims:
        unfinished.callback(_remove, store, runs)
        for run in runs:
            claims.enter_context(store.claim(run))
        named = [replace(item, run=run) for item, run in zip(ready, runs, strict=True)]
        regraded = [await _regrade(item, named[-1], store, watcher) for item in named]
        unfinished.pop_all()
    return regraded


def _remove(store: SqlStore, runs: list[Run]) -> None:
    with suppress(StoreError):  # a store that cannot be written has been told of already
        store.flush()
        for run in runs:
            store.remove_run(run)


def _make_ready(old: Run, request: RegradeRequest, store: SqlStore, shared: Spending | None) -> _Ready:
    file = _file_for(old, request.files)
    matched = match_cases(old, file, request.selection, request.variables, store.redactor.redact_value)
    root = file.root if file else Path(old.root)
    suite = with_gate(matched.suite, request.gate, root)
    check_gate(suite, store)
    secret = secrets_of(matched.suite, request.env)
    env = {**old.options.env, **{name: None if name in secret else value for name, value in request.env.items()}}
    by_judges_alone = old.options.grader_type == "model" and _asks_for_judge_alone(request)
    by_type = request.options.grader_type or ("model" if by_judges_alone else None)
    kept = {"sequential": old.options.sequential, "env": env, "grader_type": by_type}
    options = request.options.model_copy(update=kept)
    spending = shared or spending_so_far(old.model_copy(update={"options": options}), store)
    services = services_for(root, options, matched.suite.config, purse=spending, judge_cache=store.judge_cache)
    lock, planned = _lock(old, matched, services, str(file.path) if file else f"run {old.name}", by_type)
    if matched.suite.templated:  # else there is nothing that values could change
        planned = plan_cases(without_targets(matched.suite), matched.variables.values, services, grader_type=by_type)
    by_id = {plan.case.id: plan for plan in planned}
    if not options.judge_model and loses_verdicts(store.outcomes(old.id), by_id):
        raise UsageError(
            f"no judge is set, so verdicts that judges gave in {old.name} would be lost",
            hint=f"name one: --judge-model {old.options.judge_model or 'provider/model'}, or --judge-model none",
        )
    judged = judge_states(store.outcomes(old.id), by_id) if _asks_for_judge_alone(request) else {}
    keeps_verdicts = any("awaiting" in states for states in judged.values())
    if keeps_verdicts:  # it is what is due that is wanted
        as_before = replace(services, judge_model=old.options.judge_model)
        before, _ = _lock(old, matched, as_before, f"run {old.name}", by_type)
        lock = locked_as_judged(old.lock, before, lock, judged)
    run = Run(
        id="",
        name="",
        matrix_id="",
        variant=old.variant,
        root=str(root),
        created_at=timestamp(),
        suite=suite,
        target=old.target,
        lock=lock,
        options=options,
        regrade_of=old.id,
    )
    return _Ready(old, run, by_id, services, spending, matched.left_out, keeps_verdicts)


def _asks_for_judge_alone(request: RegradeRequest) -> bool:
    options = request.options
    return bool(options.judge_model) and options.use_cache and not request.files and not request.variables


def _file_for(old: Run, files: tuple[LoadedFile, ...]) -> LoadedFile | None:
    if len(files) <= 1:
        return files[0] if files else None
    found = [file for file in files if file.suite is not None and file.suite.name == old.suite.name]
    if len(found) != 1:
        raise UsageError(f"{len(found)} of the suites given are named {old.suite.name}", hint="name one suite file")
    return found[0]


def _lock(
    old: Run, matched: Matched, services: Services, where: str, grader_type: str | None
) -> tuple[RunLock, list[PlannedCase]]:
    """What gave the answers is as it was; what grades them is new. Planned without secrets: no digest may hold one."""
    suite = without_targets(matched.suite)
    used = matched.variables.used_by(suite, TargetSpec(kind="null"), where)
    before = {case.id: case for case in old.suite.cases}
    planned = plan_cases(suite, matched.variables.public(), services, grader_type=grader_type)
    cases = {}
    for case, plan in zip(suite.cases, planned, strict=True):
        content, was = old.lock.cases[case.id].case, before[case.id]
        if (case.reference, case.metadata) != (was.reference, was.metadata):
            content = digest([content, case.reference, case.metadata])
        cases[case.id] = CaseLock(case=content, graders=plan.graders_digest())
    variables = {**old.lock.variables, **used}
    update = {"harness_version": VERSION, "cases": cases, "variables": variables}
    return old.lock.model_copy(update=update), planned


def without_targets(suite: Suite) -> Suite:
    """Planning builds what a case names as its own target, and here nothing is asked of one."""
    if all(case.target is None for case in suite.cases):
        return suite
    return suite.model_copy(update={"cases": tuple(case.model_copy(update={"target": None}) for case in suite.cases)})


async def _regrade(item: _Ready, last: _Ready, store: SqlStore, watcher: Watcher) -> Regrade:
    run, old = item.run, item.old
    at_once = concurrency_of(run.options, run.suite.config)
    tally: Counter[str] = Counter()
    redacted: dict[str, None] = {}
    before = {id_: CaseTally(old.lock.trials) for id_ in item.planned}
    now = {id_: CaseTally(run.lock.trials) for id_ in item.planned}
    watcher.run_started(run, 0)
    began = time.monotonic()

    async def keep(regraded: Regraded) -> None:
        now[regraded.trial.case_id].counts[regraded.trial.state] += 1
        tally[regraded.how] += 1
        tally["verdicts"] += regraded.kept_verdicts
        if regraded.is_redacted:
            redacted.setdefault(regraded.trial.case_id)
            tally["redacted"] += 1
        tally["cut"] += regraded.is_cut
        store.put(run.id, regraded.trial)
        watcher.trial_finished(regraded.trial)
        while store.backlog > MAX_BACKLOG:
            await asyncio.sleep(0.005)

    answers = _answers(store, item, before)
    with exits_guarded():
        await regrade_trials(answers, item.planned, at_once, keep, keeps_verdicts=item.keeps_verdicts)
    store.flush()
    is_last = item is last or item.spending is not last.spending
    spent = (*told_of_models(item.services), *told_of_spending(item.spending, is_last=is_last))
    warnings = (*item.left_out, *_doubts(item, tally, list(redacted)), *spent)
    notes = (*_told(item, tally, _changes(item, before, now)), *warnings)
    ended = finish_run(store, run, stopped=_stopped(store, item), took_s=time.monotonic() - began, notes=notes)
    watcher.run_ended(ended)
    return Regrade(ended, warnings)


def _stopped(store: SqlStore, item: _Ready) -> str:
    """Its own cap, or what stopped the run whose answers it grades; that one's cap is not its own."""
    if item.spending.is_used_up:
        return "spend cap"
    before, _ = store.progress(item.old.id)
    return "interrupted" if before == "spend cap" else before


def _answers(store: SqlStore, item: _Ready, before: dict[str, CaseTally]) -> Iterator[Trial]:
    """Counted as they were, on the way."""
    for trial in store.trials(item.old.id):
        if trial.case_id in item.planned:
            before[trial.case_id].counts[trial.state] += 1
            yield trial


def _told(item: _Ready, tally: Counter[str], changes: list[str]) -> Iterator[str]:
    run, old = item.run, item.old
    of_all = f"{tally['graded']:,} of {count(run.planned_trials, 'trial')}"
    yield f"{run.name} regrades {old.name}: {of_all} graded again, nothing re-run"
    shown = ", ".join(changes[:SHOWN_CHANGES]) + (" …" if len(changes) > SHOWN_CHANGES else "")
    yield f"{count(len(changes), 'case')} changed: {shown}" if changes else "no case changed"
    if tally["kept"]:
        yield f"{count(tally['kept'], 'trial')} without an answer to grade, kept as before"
    if tally["verdicts"]:
        yield f"{count(tally['verdicts'], 'grade')} that judges had given, kept as before; --no-cache judges all anew"


def _doubts(item: _Ready, tally: Counter[str], redacted: list[str]) -> Iterator[str]:
    if redacted:
        shown = ", ".join(redacted[:SHOWN_CHANGES]) + (" …" if len(redacted) > SHOWN_CHANGES else "")
        yield f"{count(tally['redacted'], 'trial')} graded on redacted text, because secrets are not stored: {shown}"
    if tally["cut"]:
        yield f"{count(tally['cut'], 'trial')} graded on text of which only head and tail were kept"
    if missing := item.run.planned_trials - tally["graded"] - tally["kept"] - tally["skipped"]:
        yield f"{count(missing, 'trial')} of {item.old.name} not run yet, pending here as well"


def _changes(item: _Ready, before: dict[str, CaseTally], now: dict[str, CaseTally]) -> list[str]:
    were = {id_: tally.state(item.old.suite.case_threshold) for id_, tally in before.items()}
    are = {id_: tally.state(item.run.suite.case_threshold) for id_, tally in now.items()}
    return [f"{id_} {were[id_]} → {state}" for id_, state in are.items() if were[id_] != state]
