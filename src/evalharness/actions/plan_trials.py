"""Plan trials: how many cases and trials of a suite would show a drop, judging by its last run. Nothing is started."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.bounds import LEAST_ALPHA
from evalharness.domain.case import observation
from evalharness.domain.finding import Finding, finding
from evalharness.domain.run import Run
from evalharness.domain.stored import PastRun
from evalharness.domain.suite import Suite
from evalharness.domain.trial_plan import TrialPlan
from evalharness.engine.measuring.trial_counts import Measured, count_trials
from evalharness.engine.planning.sample_size import Known, WantedEffect, make_plan, spread_of
from evalharness.errors import UsageError
from evalharness.stats.between_runs import Counts, alarms_of_unchanged, noise_between_runs
from evalharness.stats.thresholds import ALPHA, POWER
from evalharness.steps.find_runs import find_run
from evalharness.steps.find_suites import find_suite

LOOKED_BACK = 20
Doubt: TypeAlias = Literal["regraded", "sequential", "unfinished", "invalid", "built-in target", "nothing judged"]
"""Why a run does not tell how results vary."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """`cases` and `trials` are what somebody thinks of, instead of what the suite has."""

    suite: str
    """A file, or a name."""
    effect: float
    power: float = POWER
    alpha: float = ALPHA
    cases: int | None = None
    trials: int | None = None
    run: str | None = None
    """The run to judge by (its id or name), whatever speaks against it."""

    def __post_init__(self) -> None:
        if not 0 < self.effect <= 1:
            raise UsageError(f"effect must be a share above 0, at most 1, not {self.effect}", hint="0.05 is 5 points")
        if not 0.5 < self.power < 1:
            raise UsageError(f"power must be between 0.5 and 1, not {self.power}")
        if not LEAST_ALPHA <= self.alpha < 0.25:
            raise UsageError(f"alpha must be above 0 and below 0.25, not {self.alpha}")
        for name, number in (("cases", self.cases), ("trials", self.trials)):
            if number is not None and number < 1:
                raise UsageError(f"{name} must be at least 1, not {number}")


@dataclass(frozen=True, slots=True)
class _Basis:
    """What a plan is judged by; `doubt` is why this run would not have been taken by itself."""

    run: Run
    known: Known
    doubt: Doubt | None = None

    @property
    def cases(self) -> int:
        return len(self.known.counts)

    @property
    def is_measured(self) -> bool:
        """Whether it tells chance from cases that differ."""
        return spread_of(self.known.counts, self.known.clusters).basis == "measured"

    def tells_more_than(self, newer: _Basis) -> bool:
        if self.cases != newer.cases:
            return self.cases > newer.cases
        is_alike = self.run.target.label == newer.run.target.label
        return is_alike and self.is_measured and not newer.is_measured


async def plan_trials(context: Context, request: PlanRequest) -> TrialPlan:
    store = context.store
    suite = _weighing(find_suite(store, request.suite))
    basis, why_none = (_named_run(suite, request.run, store), None) if request.run else _last_run(suite, store)
    clusters = _clusters(suite)
    run, known = (basis.run, basis.known) if basis else (None, _nothing_known(suite))
    number = len(set(clusters.values()))
    if request.cases:
        number = math.ceil(number * request.cases / len(suite.cases))
    plan = make_plan(
        suite.name,
        request.cases or len(suite.cases),
        request.trials or (run.lock.trials if run else suite.trials),
        known,
        WantedEffect(request.effect, request.power, request.alpha),
        clusters=number or None,
        is_chosen=request.trials is not None,
    )
    if basis is None or run is None:
        return plan.model_copy(update={"why_no_run": why_none})
    return plan.model_copy(
        update={
            "run_id": run.id,
            "run_name": run.name,
            "run_target": run.target.label,
            "run_cases": basis.cases,
            "run_trials": run.lock.trials,
            "notes": (*_notes(suite, basis, plan), *_noise(run, store, request.alpha)),
        }
    )


def _weighing(suite: Suite) -> Suite:
    """With the cases that count in the pass rate."""
    cases = tuple(case for case in suite.cases if case.weight > 0)
    if not suite.cases:
        raise UsageError(f"suite {suite.name} has no cases")
    if not cases:
        raise UsageError(f"every case of suite {suite.name} has weight 0", hint="give a case a weight above 0")
    return suite.model_copy(update={"cases": cases})


def _last_run(suite: Suite, store: Store) -> tuple[_Basis | None, Finding]:
    """The newest run with the most cases of the suite, or an older one of its target with as many that has repeats.

    One trial per case does not tell how results vary. Where no run serves, why is reported.
    """
    unfit: Counter[Doubt] = Counter()
    best: _Basis | None = None
    for run in store.newest_runs(suite.name, LOOKED_BACK):
        if best and best.cases == len(suite.cases) and run.lock.trials == 1:
            continue  # it cannot tell more, so its trials need not be read
        basis = None if (doubt := _doubt(run)) else _judged(suite, run, store)
        if basis is None:
            unfit[doubt or "nothing judged"] += 1
        elif best is None or basis.tells_more_than(best):
            best = basis
            if best.is_measured and best.cases == len(suite.cases):
                break
    if best or not unfit:
        return best, finding("plan.never_run")
    return None, finding("plan.no_usable_run", runs=unfit.total(), doubts=[list(each) for each in unfit.items()])


def _named_run(suite: Suite, reference: str, store: Store) -> _Basis:
    run = find_run(reference, store)
    if run.suite.name != suite.name:
        raise UsageError(f"{run.name} is a run of {run.suite.name}, not of {suite.name}")
    basis = _judged(suite, run, store, _doubt(run))
    if basis is None:
        raise UsageError(f"{run.name} judged no trial of the cases that {suite.name} has now")
    return basis


def _doubt(run: Run) -> Doubt | None:
    """Why it does not tell how results vary; when a run stopped early depends on what it saw."""
    if not run.has_fresh_trials:
        return "regraded"
    if run.options.sequential:
        return "sequential"
    if run.finished_at is None:
        return "unfinished"
    if run.report is not None and run.report.is_broken:
        return "invalid"
    if all(run.target_of(case).is_built_in for case in run.suite.cases):
        return "built-in target"
    return None


def _judged(suite: Suite, run: Run, store: Store, doubt: Doubt | None = None) -> _Basis | None:
    """None where no trial of the cases that the suite has now was judged."""
    ids = {case.id for case in suite.cases}
    measured = count_trials(run.suite, run.lock.trials, store.outcomes(run.id))
    tallies = {id_: tally for id_, tally in measured.tallies.items() if id_ in ids and tally.first_graded}
    if not tallies:
        return None
    clusters, weights = _clusters(suite), _weights(suite)
    known = Known(
        [(tally.first_graded, tally.first_passed) for tally in tallies.values()],
        [clusters[case_id] for case_id in tallies] if clusters else (),
        *_price(measured, store.progress(run.id)[1]),
        weights=[weights[case_id] for case_id in tallies] if weights else (),
    )
    return _Basis(run, known, doubt)


def _clusters(suite: Suite) -> dict[str, str]:
    """What each case counts as; empty where every case is by itself."""
    found = {case.id: observation(case.id, case.cluster) for case in suite.cases}
    return found if len(set(found.values())) < len(found) else {}


def _weights(suite: Suite) -> dict[str, float]:
    """Of each case; empty where all weigh the same."""
    found = {case.id: case.weight for case in suite.cases}
    return found if len(set(found.values())) > 1 else {}


def _nothing_known(suite: Suite) -> Known:
    return Known(clusters=list(_clusters(suite).values()), weights=list(_weights(suite).values()))


def _price(measured: Measured, elapsed_s: float) -> tuple[float | None, float]:
    """What a trial cost and took."""
    tried = sum(tally.finished - tally.skipped for tally in measured.tallies.values())
    return None if measured.cost_usd is None else measured.cost_usd / tried, elapsed_s / tried


def _noise(run: Run, store: Store, alpha: float) -> Iterator[Finding]:
    """What the newest runs like this one show of what all trials of a run share, where they show it."""
    comparable = [counts for past in islice(store.past_runs(run.suite.name), LOOKED_BACK)
                  if (counts := _comparable(run, past, store))]  # fmt: skip
    found = noise_between_runs(comparable, alpha=alpha)
    if found is not None and found.is_shown:
        yield finding(
            "plan.noise_between_runs",
            "warning",
            runs=found.runs,
            sd=found.sd,
            low=found.low,
            high=found.high,
            level=1 - alpha,
            by_chance=found.sd_by_chance,
            alarms=alarms_of_unchanged(found.sd, found.sd_by_chance, alpha),
        )


def _comparable(run: Run, past: PastRun, store: Store) -> Counts:
    """Trials and passes of a past run by the places of the cases; empty where it is no run of the same.

    It tried the same target, with a fixed number of trials, on half of the cases at least as they are in this one.
    """
    if past.target != run.lock.target or past.is_sequential or past.kind == "artifact":
        return {}
    report = store.outline(past.id).report
    if report is None or report.is_broken:
        return {}
    judged = store.judged(past.id)
    counts = {
        place: judged[case_id]
        for place, (case_id, lock) in enumerate(run.lock.cases.items())
        if case_id in judged and past.key(case_id) == lock.key and past.own_target(case_id) == lock.target
    }
    return counts if 2 * len(counts) >= len(run.lock.cases) else {}


def _notes(suite: Suite, basis: _Basis, plan: TrialPlan) -> Iterator[Finding]:
    if basis.doubt:
        yield finding("plan.doubtful_run", "warning", doubt=basis.doubt)
    if basis.cases < len(suite.cases):
        yield finding("plan.fewer_cases", "warning", judged=basis.cases, cases=len(suite.cases))
    if plan.pass_rate is not None and not plan.is_possible:
        yield finding("plan.cannot_drop", "warning", pass_rate=plan.pass_rate, effect=plan.effect)
    if plan.clusters is not None:
        yield finding("plan.clusters")
    if len({case.weight for case in suite.cases}) > 1:
        yield finding("plan.weights", "warning", times=1 / basis.known.evenness)
    if plan.spread.is_smoothed:
        yield finding("plan.hardly_differ", unit=plan.unit)
    if basis.run.suite.config.retry_failed:
        yield finding("plan.first_answers")
