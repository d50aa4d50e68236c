"""Selftest suites: right answers must pass and wrong ones must fail, or the suite is UNSOUND. No target is run.

The answers are graded as stored ones are in a regrade; only judges cost anything. What is found is kept as a mark on
the cases, which later reports show as long as a case and its graders stay the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import itemgetter

from evalharness.contracts.context import Context
from evalharness.contracts.execution import Execution
from evalharness.contracts.executor import ExecutorSession, WorkUnit
from evalharness.contracts.store import Store
from evalharness.domain.finding import Finding
from evalharness.domain.grade import Judging, added_up
from evalharness.domain.run import CaseLock, RunOptions
from evalharness.domain.selftest import CaseMark, Selftest, SelftestVerdict
from evalharness.domain.specification import BUILT_IN, TargetSpec
from evalharness.domain.suite import LoadedFile, Selection, Suite, Variant
from evalharness.domain.trial import Attempt
from evalharness.engine.planning.planned_cases import PlannedCase, select_cases, trial_seed
from evalharness.engine.running.budget import RunBudget
from evalharness.engine.verifying.probe_answers import Probe, Probes, Trick, asks_judges, ruinous_answer
from evalharness.engine.verifying.suite_soundness import GradedProbe, Soundness, grouped, judge_flips, unvarying
from evalharness.errors import SpendCapReached
from evalharness.formats.suite_files import is_ready_made
from evalharness.redaction import Redactor
from evalharness.steps.choose_targets import without_own_targets
from evalharness.steps.collect_variables import collect_variables, for_suites
from evalharness.steps.execute_runs import PreparedRun, opened, prepare_run
from evalharness.steps.find_suites import find_suites
from evalharness.steps.recall_budget import budget_for, spending_notes

LOOKED_BACK = 100
"""How many earlier runs are looked at for cases that never failed, or never passed."""
USUAL_REPEATS = 3


@dataclass(frozen=True, slots=True)
class SelftestRequest:
    """`repeat_judges` is how often each judge is asked about one and the same answer; below 2 not at all."""

    suites: tuple[str | LoadedFile, ...]
    format_name: str | None = None
    selection: Selection = field(default_factory=Selection)
    variables: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    options: RunOptions = field(default_factory=RunOptions)
    repeat_judges: int = USUAL_REPEATS


@dataclass(frozen=True, slots=True)
class SelftestResult:
    """`redactor` takes the secrets out of texts that are shown; `spent_usd` and `spent_tokens` are of all suites."""

    selftests: list[Selftest]
    redactor: Redactor
    spent_usd: float
    spent_tokens: int

    def left_of(self, options: RunOptions) -> RunOptions:
        """For a run that follows: with what is left of the caps. Raises SpendCapReached where that is nothing."""
        left = {
            "max_cost_usd": options.max_cost_usd and options.max_cost_usd - self.spent_usd,
            "max_tokens": options.max_tokens and options.max_tokens - self.spent_tokens,
        }
        if any(cap is not None and cap <= 0 for cap in left.values()):
            raise SpendCapReached("the selftest used up the spend cap, so nothing was run", hint="raise the cap")
        return options.model_copy(update=left)


async def selftest_suites(
    context: Context, request: SelftestRequest, execution: Execution | None = None
) -> SelftestResult:
    """Every suite that is meant. Raises what a run raises that cannot be started."""
    files = [file for file in request.suites if isinstance(file, LoadedFile)]
    named = [name for name in request.suites if isinstance(name, str)]
    files += find_suites(context.store, named, request.format_name) if named else []
    with for_suites(context, [file.suite for file in files], request.variables, request.env) as testing:
        tested: list[Selftest] = []
        budgets: list[RunBudget] = []
        for file in files:
            if file.suite is not None:
                is_shared = bool(budgets) and request.options.is_capped
                budgets.append(budgets[-1] if is_shared else budget_for(request.options, file.suite.config))
                test = _SuiteTest(testing, file, file.suite, request, budgets[-1], execution or Execution())
                tested.append(await test.result())
        each_once = {id(budget): budget for budget in budgets}.values()
        spent = sum(budget.cost_usd for budget in each_once), sum(budget.tokens for budget in each_once)
        return SelftestResult(tested, testing.store.redactor, *spent)


@dataclass(slots=True)
class _SuiteTest:
    """The selftest of one suite."""

    context: Context
    file: LoadedFile
    suite: Suite
    request: SelftestRequest
    budget: RunBudget
    execution: Execution

    async def result(self) -> Selftest:
        chosen = {case.id for case in select_cases(self.suite, self.request.selection, self.file.path.name).cases}
        item = self._prepared(self.request.options)
        planned = list(item.parts.cases.in_turn())
        probes = Probes(planned, _tricks())
        planned = [plan for plan in planned if plan.case.id in chosen]
        graded = await self._graded(item, planned, probes)
        repeated = await self._repeated(graded)
        locks = {id_: lock for id_, lock in item.run.lock.cases.items() if id_ in chosen}
        return self._concluded(Soundness(planned, graded), locks, repeated, _judging((*graded, *repeated)))

    def _prepared(self, options: RunOptions) -> PreparedRun:
        """A run of the oracle, of which only the grading takes place."""
        variables = collect_variables(self.suite, self.request.variables, self.context.settings)
        suite, oracle = without_own_targets(self.suite), Variant(name="oracle", target=TargetSpec(kind="oracle"))
        item = prepare_run(suite, oracle, variables, options, self.file, self.budget, self.context)
        item.spec = replace(item.spec, target=None)
        return item

    async def _graded(self, item: PreparedRun, planned: Sequence[PlannedCase], probes: Probes) -> list[GradedProbe]:
        seed = self.suite.config.seed
        async with opened([item], self.context, self.execution) as [session]:
            graded = await _grade(session, seed, [(plan, probes.of(plan)) for plan in planned])
            doubtful = Soundness(planned, graded).always_passing()
            ruinous = [(plan, [ruinous_answer(plan)]) for plan in planned if plan.case.id in doubtful]
            return graded + await _grade(session, seed, ruinous)

    async def _repeated(self, graded: Sequence[GradedProbe]) -> list[GradedProbe]:
        """The first answer of each case that a judge grades, again and again, without the cache."""
        first = {each.case_id: each for each in reversed(graded) if asks_judges(each.plan)}
        repeats = self.request.repeat_judges
        if repeats < 2 or not first or self.budget.is_used_up:
            return []
        item = self._prepared(self.request.options.model_copy(update={"use_cache": False}))
        tried = [(item.parts.cases[id_], [each.probe] * repeats) for id_, each in first.items()]
        async with opened([item], self.context, self.execution) as [session]:
            return await _grade(session, self.suite.config.seed, tried)

    def _concluded(
        self,
        soundness: Soundness,
        locks: dict[str, CaseLock],
        repeated: Sequence[GradedProbe],
        judging: tuple[Judging, ...],
    ) -> Selftest:
        """The findings; what they say about cases is kept in the store."""
        store, moment = self.context.store, self.context.timestamp()
        marks = list(_marks(soundness, locks, moment))
        store.mark_cases(self.suite.name, marks)
        unsound = tuple(found for mark in marks for found in mark.unsound)
        without_proof = soundness.not_provable()
        provable = len(locks) - len(without_proof)
        verdict, exit_code = _verdict(unsound, soundness.untested, provable)
        return Selftest(
            suite_name=self.suite.name,
            source=self.suite.name if is_ready_made(self.file.path) else str(self.file.path),
            tested_at=moment,
            verdict=verdict,
            exit_code=exit_code,
            cases=len(locks),
            provable=provable,
            answers=soundness.wrong_answers,
            unsound=unsound,
            notes=(
                *soundness.without_verdict(),
                *soundness.guessable(),
                *grouped(without_proof),
                *soundness.cannot_fail(),
                *soundness.raised(),
                *judge_flips(repeated, self.request.repeat_judges),
                *_history(store, self.suite.name, locks),
                *spending_notes(self.budget, is_last=True),
            ),
            judging=judging,
        )


def _tricks() -> list[Trick]:
    from evalharness.graders.judges.calibration import attacks  # here: slow to load

    return [Trick(attack.family, attack.name, attack.payload) for attack in attacks()]


async def _grade(
    session: ExecutorSession, seed: int, tried: Sequence[tuple[PlannedCase, Sequence[Probe]]]
) -> list[GradedProbe]:
    """Answer by answer for all cases, so that a spend cap leaves out the same answers of all of them."""
    by_case = {plan.case.id: (plan, probes) for plan, probes in tried}
    graded = []
    async with aclosing(session.run("", _units(seed, by_case.values()))) as trials:
        async for trial in trials:
            plan, probes = by_case[trial.case_id]
            graded.append((trial.index, GradedProbe(plan, probes[trial.index], trial.last)))
    return [each for _, each in sorted(graded, key=itemgetter(0))]


async def _units(seed: int, tried: Iterable[tuple[PlannedCase, Sequence[Probe]]]) -> AsyncIterator[WorkUnit]:
    pairs = list(tried)
    for index in range(max((len(probes) for _, probes in pairs), default=0)):
        for plan, probes in pairs:
            if index < len(probes):
                probe, id_ = probes[index], plan.case.id
                answered = Attempt(state="passed", duration_s=probe.duration_s, transcript=probe.answer)
                yield WorkUnit(id_, index, trial_seed(seed, id_, index), (answered,))


def _marks(soundness: Soundness, locks: dict[str, CaseLock], moment: str) -> Iterator[CaseMark]:
    """Of each case that is known to be unsound, or of which everything was tested."""
    for case_id, lock in locks.items():
        unsound = tuple(soundness.unsound(case_id))
        if unsound or case_id not in soundness.untested:
            yield CaseMark(case_id=case_id, key=lock.key, tested_at=moment, unsound=unsound)


def _verdict(unsound: Sequence[Finding], untested: set[str], provable: int) -> tuple[SelftestVerdict, int]:
    """What was found stays found, whatever could not be tested beside it."""
    if unsound:
        return "UNSOUND", 1
    if untested:
        return "INVALID", 3
    return ("SOUND", 0) if provable else ("NOT PROVABLE", 0)


def _judging(graded: Iterable[GradedProbe]) -> tuple[Judging, ...]:
    return added_up(took for each in graded for grade in each.attempt.grades for took in grade.judging)


def _history(store: Store, suite_name: str, locks: dict[str, CaseLock]) -> Iterator[Finding]:
    """Of the runs that tried the same cases on somebody's agent."""
    judged: dict[str, tuple[int, int]] = {}
    runs = 0
    for past in islice(store.past_runs(suite_name), LOOKED_BACK):
        same = {id_ for id_, lock in locks.items() if past.key(id_) == lock.key}
        if past.kind in BUILT_IN or not same:
            continue
        runs += 1
        for case_id, (trials, passed) in store.judged(past.id).items():
            if case_id in same:
                before = judged.get(case_id, (0, 0))
                judged[case_id] = before[0] + trials, before[1] + passed
    yield from unvarying(judged, runs)
