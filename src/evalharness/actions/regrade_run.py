"""Regrade runs: stored transcripts graded again, as new runs. Nothing is run, and no target is so much as imported.

The old run and its grades stay as they are. A regrade is whole or not at all, however its process ends: until it is
finished it is found by nobody, and what a killed process left of one is removed by the next regrade.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalharness.contracts.context import Context
from evalharness.contracts.execution import Execution
from evalharness.contracts.executor import ExecutorSession, RunSpec, WorkUnit
from evalharness.contracts.store import Store
from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import GateOverrides
from evalharness.domain.run import CaseLock, Run, RunLock, RunOptions
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import LoadedFile, Selection
from evalharness.domain.trial import Trial
from evalharness.engine.measuring.trial_counts import CaseTally
from evalharness.engine.planning.planned_cases import (
    GradersDigests,
    PlannedCase,
    PlannedCases,
    UsedVariables,
    public_plans,
)
from evalharness.engine.running.budget import RunBudget
from evalharness.engine.running.parts import build_parts
from evalharness.engine.running.regraded_trial import (
    how_regraded,
    is_redacted,
    judge_states,
    kept_verdicts,
    lacks_judge,
    loses_verdicts,
)
from evalharness.errors import Hint, Interrupted, UsageError
from evalharness.reports.report_files import check_compared, remove_earlier
from evalharness.steps.apply_gate import check_gate, with_gate
from evalharness.steps.choose_targets import without_own_targets
from evalharness.steps.collect_variables import public_environment, redactor_for, stored_environment
from evalharness.steps.execute_runs import PreparedRun, check_run_name, drive, keep_spent, opened
from evalharness.steps.find_runs import find_overview, find_run
from evalharness.steps.find_suites import find_suites
from evalharness.steps.make_report import finish_run, with_items
from evalharness.steps.match_cases import Matched, locked_as_judged, match_cases, stored_suite
from evalharness.steps.recall_budget import budget_so_far, spending_notes
from evalharness.values.digest import digest
from evalharness.version import VERSION

SHOWN_CHANGES = 10


@dataclass(frozen=True, slots=True)
class RegradeRequest:
    """`run` is an id or a name; reports go to `outputs`. Without `suite` the one that the run has stored is used."""

    run: str
    suite: str | None = None
    format_name: str | None = None
    matrix: bool = False
    selection: Selection = field(default_factory=Selection)
    options: RunOptions = field(default_factory=RunOptions)
    variables: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    gate: GateOverrides = field(default_factory=GateOverrides)
    outputs: tuple[Path, ...] = ()


@dataclass(slots=True)
class _Prepared(PreparedRun):
    """A regrade about to begin: graders built, nothing stored yet."""

    old: Run = field(kw_only=True)
    left_out: list[Finding] = field(kw_only=True)

    @property
    def planned(self) -> PlannedCases:
        return self.parts.cases


async def regrade_runs(context: Context, request: RegradeRequest, execution: Execution | None = None) -> list[Run]:
    """The named run, with `matrix` every run that was started together with it.

    What puts the numbers of a regrade in doubt is a warning among the notes of its report.
    """
    execution = execution or Execution()
    files = find_suites(context.store, [request.suite], request.format_name) if request.suite else []
    olds = _regraded_runs(context.store, request)
    check_run_name(request.options.run_name, len(olds), context.store)
    graded_by = [(file.root, file.suite) for file in files if file.suite]
    graded_by = graded_by or [(Path(old.root), stored_suite(old)) for old in olds]
    check_compared(request.outputs, graded_by, request.gate.baseline)
    context = context.with_environment({**stored_environment(olds), **request.env})
    given = {**request.variables, **request.env}
    redactor = redactor_for([suite for _, suite in graded_by], given, context.settings)
    with context.for_runs(redactor) as grading:
        execution.watcher.begun(files, redactor)
        prepared: list[_Prepared] = []
        for old in olds:
            shared = prepared[-1].budget if prepared and request.options.is_capped else None
            prepared.append(_prepare(grading, old, tuple(files), request, shared))
        async with opened(prepared, grading, execution) as sessions:
            remove_earlier(request.outputs)
            return await _regrade_all(grading, prepared, sessions, execution)


async def regraded_environment(context: Context, request: RegradeRequest) -> dict[str, str]:
    """The variables that the runs to regrade were given, without secrets."""
    store = context.store
    named = find_overview(request.run, store)
    ids = [each.id for each in store.ends(named.matrix_id)] if request.matrix else [named.line.id]
    return stored_environment(map(store.part_of, ids))  # without their cases, which take long to read


def _regraded_runs(store: Store, request: RegradeRequest) -> list[Run]:
    named = find_run(request.run, store)
    return store.matrix(named.matrix_id) if request.matrix else [named]


async def _regrade_all(
    context: Context, prepared: list[_Prepared], sessions: list[ExecutorSession], execution: Execution
) -> list[Run]:
    store = context.store
    with store.regrading(item.run for item in prepared) as runs:
        for item, run in zip(prepared, runs, strict=True):
            item.run = run
            keep_spent(item, store)
        pairs = zip(prepared, sessions, strict=True)
        regraded = [await _regrade(context, item, prepared[-1], session, execution) for item, session in pairs]
    return [with_items(store, each) for each in regraded]


def _prepare(
    context: Context, old: Run, files: tuple[LoadedFile, ...], request: RegradeRequest, shared: RunBudget | None
) -> _Prepared:
    store, settings = context.store, context.settings
    file = _file_for(old, files)
    matched = match_cases(old, file, request, store.redactor.redact_value, settings)
    root = file.root if file else Path(old.root)
    suite = with_gate(matched.suite, request.gate, root, store)
    check_gate(suite, store)
    env = {**old.options.env, **public_environment(request.env, matched.suite, settings)}
    by_judges_alone = old.options.grader_type == "model" and _asks_for_judge_alone(request)
    by_type = request.options.grader_type or ("model" if by_judges_alone else None)
    kept = {
        "sequential": old.options.sequential,
        "env": env,
        "grader_type": by_type,
        "origin": old.options.origin,
    }
    options = request.options.model_copy(update=kept)
    budget = shared or budget_so_far(old.model_copy(update={"options": options}), store)
    graded = without_own_targets(matched.suite)
    spec = RunSpec(graded, None, root, options, matched.variables.values, settings.environment, context.store.identity)
    used = matched.variables.used_by(graded, TargetSpec(kind="null"), file.label if file else f"run {old.name}")
    parts = build_parts(spec, budget, store.judge_cache, modules=context.modules)
    unjudged: set[str] = set()
    planned = _noting_unjudged(parts.each_case(), unjudged)
    lock = _lock(old, matched, used, public_plans(planned, parts.cases, matched.variables, used))
    if unjudged and not options.judge_model and loses_verdicts(store.outcomes(old.id), parts.cases):
        raise UsageError(
            f"no judge is set, so verdicts that judges gave in {old.name} would be lost",
            hint=Hint("hint.judge_as_before", judge=old.options.judge_model),
        )
    judged = judge_states(store.outcomes(old.id), parts.cases) if _asks_for_judge_alone(request) else {}
    keeps_verdicts = any("awaiting" in states for states in judged.values())
    if keeps_verdicts:  # only what is missing is wanted
        services = replace(parts.services, judge_model=old.options.judge_model)
        by_then = PlannedCases(graded, matched.variables.public(), services, grader_type=by_type)
        before = _lock(old, matched, used, by_then.in_turn())
        lock = locked_as_judged(old.lock, before, lock, judged)
    run = Run(
        id="",
        name=options.run_name,
        matrix_id="",
        variant=old.variant,
        root=str(root),
        created_at=context.timestamp(),
        suite=suite,
        target=old.target,
        lock=lock,
        options=options,
        regrade_of=old.id,
        regrade_of_name=old.name,
    )
    spec = replace(spec, keeps_verdicts=keeps_verdicts)
    return _Prepared(run, spec, parts, budget, old=old, left_out=matched.left_out)


def _noting_unjudged(planned: Iterable[PlannedCase], unjudged: set[str]) -> Iterator[PlannedCase]:
    """Add the cases that need a judge and have none: most suites have no such case, and need no look at old grades."""
    for plan in planned:
        if lacks_judge(plan):
            unjudged.add(plan.case.id)
        yield plan


def _asks_for_judge_alone(request: RegradeRequest) -> bool:
    options = request.options
    return bool(options.judge_model) and options.use_cache and not request.suite and not request.variables


def _file_for(old: Run, files: tuple[LoadedFile, ...]) -> LoadedFile | None:
    if len(files) <= 1:
        return files[0] if files else None
    found = [file for file in files if file.suite is not None and file.suite.name == old.suite.name]
    if len(found) != 1:
        raise UsageError(f"{len(found)} of the suites given are named {old.suite.name}", hint="name one suite file")
    return found[0]


def _lock(old: Run, matched: Matched, used: UsedVariables, planned: Iterable[PlannedCase]) -> RunLock:
    """What gave the answers is as it was; what grades them is new. `planned` contain no secret: digests must not."""
    suite = without_own_targets(matched.suite)
    before = {case.id: case for case in old.suite.cases}
    cases, digest_of = {}, GradersDigests().of
    for case, plan in zip(suite.cases, planned, strict=True):
        content, was = old.lock.cases[case.id].case, before[case.id]
        if (case.reference, case.metadata) != (was.reference, was.metadata):
            content = digest([content, case.reference, case.metadata])
        if case.vars != was.vars:
            content = digest([content, case.own_values])
        lock = CaseLock.unchecked({"case": content, "graders": digest_of(plan), "target": ""})
        cases[case.id] = lock.compact()
    update = {"harness_version": VERSION, "cases": cases, "variables": {**old.lock.variables, **used.locked}}
    return old.lock.model_copy(update=update)


async def _regrade(
    context: Context, item: _Prepared, last: _Prepared, session: ExecutorSession, execution: Execution
) -> Run:
    run, store = item.run, context.store
    counted = _Counted(item)
    execution.watcher.run_started(run, 0)

    def on_trial(trial: Trial) -> None:
        counted.add(trial)
        execution.watcher.trial_finished(trial)

    driven = await drive(item, session, counted.units(store), context, execution, on_trial=on_trial)
    if driven.stopped:
        hint = Hint("hint.regrade_again", run=item.old.name)
        raise Interrupted("interrupted: nothing of this regrade was kept", hint=hint)
    is_last = item is last or item.budget is not last.budget
    spent = (*session.notes(), *spending_notes(item.budget, is_last=is_last))
    notes = (*_notes_of(item, counted), *item.left_out, *_doubts(item, counted), *spent)
    ended = finish_run(context, run, stopped=_stopped(store, item), took_s=driven.took_s, notes=notes)
    execution.watcher.run_ended(ended)
    return ended


class _Counted:
    """What became of the trials of a regrade, counted on their way."""

    def __init__(self, item: _Prepared) -> None:
        self._item = item
        self._under_way: dict[tuple[str, int], Trial] = {}
        self.tally: Counter[str] = Counter()
        self.redacted: dict[str, None] = {}
        self._before = {id_: CaseTally(item.old.lock.trials) for id_ in item.planned}
        self._now = {id_: CaseTally(item.run.lock.trials) for id_ in item.planned}

    def units(self, store: Store) -> Iterator[WorkUnit]:
        for trial in store.trials(self._item.old.id):
            if trial.case_id in self._item.planned:
                self._before[trial.case_id].add(trial.state)
                self._under_way[trial.case_id, trial.index] = trial
                yield WorkUnit(trial.case_id, trial.index, trial.seed, trial.attempts)

    def add(self, trial: Trial) -> None:
        planned = self._item.planned[trial.case_id]
        old = self._under_way.pop((trial.case_id, trial.index))
        how = how_regraded(old.last, planned)
        self._now[trial.case_id].add(trial.state)
        self.tally[how] += 1
        if how != "graded":
            return
        transcript = trial.last.transcript
        assert transcript is not None, "it was graded"
        if self._item.spec.keeps_verdicts:
            self.tally["verdicts"] += kept_verdicts(old.last, planned)
        if is_redacted(transcript):
            self.redacted.setdefault(trial.case_id)
            self.tally["redacted"] += 1
        self.tally["cut"] += transcript.truncated

    def changes(self) -> list[tuple[str, str, str]]:
        """Each case whose state is another one: what it was, and what it is now."""
        item = self._item
        were = {id_: tally.state(item.old.suite.case_threshold) for id_, tally in self._before.items()}
        are = {id_: tally.state(item.run.suite.case_threshold) for id_, tally in self._now.items()}
        return [(id_, were[id_], state) for id_, state in are.items() if were[id_] != state]


def _stopped(store: Store, item: _Prepared) -> str:
    """Its own cap, or what stopped the run whose answers it grades; that one's cap is not its own."""
    if item.budget.is_used_up:
        return "spend cap"
    before, _ = store.progress(item.old.id)
    return "interrupted" if before == "spend cap" else before


def _notes_of(item: _Prepared, counted: _Counted) -> Iterator[Finding]:
    run, old, tally, changes = item.run, item.old, counted.tally, counted.changes()
    yield finding("regrade.graded", run=run.name, old=old.name, graded=tally["graded"], planned=run.planned_trials)
    yield finding("regrade.cases_changed", changes=changes[:SHOWN_CHANGES], number=len(changes))
    if tally["kept"]:
        yield finding("regrade.kept_unanswered", trials=tally["kept"])
    if tally["verdicts"]:
        yield finding("regrade.kept_verdicts", grades=tally["verdicts"])


def _doubts(item: _Prepared, counted: _Counted) -> Iterator[Finding]:
    tally, redacted = counted.tally, list(counted.redacted)
    if redacted:
        cases = {"cases": redacted[:SHOWN_CHANGES], "number": len(redacted)}
        yield finding("regrade.on_redacted_text", "warning", trials=tally["redacted"], **cases)
    if tally["cut"]:
        yield finding("regrade.on_truncated_text", "warning", trials=tally["cut"])
    if missing := item.run.planned_trials - tally["graded"] - tally["kept"] - tally["skipped"]:
        yield finding("regrade.pending", "warning", trials=missing, run=item.old.name)
