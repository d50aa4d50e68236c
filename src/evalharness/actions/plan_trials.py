"""Plan trials: how many cases and trials of a suite would show a drop, judging by its last run. Nothing is started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from evalharness.domain.plain_numbers import count, percent, points
from evalharness.domain.run import Run
from evalharness.domain.suite import Suite
from evalharness.domain.trial_plan import TrialPlan
from evalharness.engine.sizing import Known, Wish, make_plan
from evalharness.engine.tallying import Measured, count_trials
from evalharness.errors import UsageError
from evalharness.stores.sql_store import SqlStore

LOOKED_BACK = 20


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """`cases` and `trials` are what somebody thinks of, instead of what the suite has."""

    wish: Wish
    cases: int | None = None
    trials: int | None = None


def plan_trials(suite: Suite, request: PlanRequest, store: SqlStore) -> TrialPlan:
    if not suite.cases:
        raise UsageError(f"suite {suite.name} has no cases")
    run, known, why_no_run = _last_run(suite, store)
    plan = make_plan(
        suite.name,
        request.cases or len(suite.cases),
        request.trials or (run.lock.trials if run else suite.trials),
        known,
        request.wish,
        is_chosen=request.trials is not None,
    )
    if run is None:
        return plan.model_copy(update={"why_no_run": why_no_run})
    return plan.model_copy(
        update={
            "run_id": run.id,
            "run_name": run.name,
            "run_cases": len(known.counts),
            "run_trials": run.lock.trials,
            "notes": tuple(_notes(suite, run, plan)),
        }
    )


def _last_run(suite: Suite, store: SqlStore) -> tuple[Run | None, Known, str]:
    """The newest run that tried its cases itself and judged something; else why there is none.

    One that was allowed to stop early is passed over: when it stopped depends on what it saw.
    """
    ids = {case.id for case in suite.cases}
    unfit: Counter[str] = Counter()
    for run in store.newest_runs(suite.name, LOOKED_BACK):
        if not run.is_tried_anew:
            unfit["only graded what was there"] += 1
            continue
        if run.options.sequential:
            unfit["may have stopped early"] += 1
            continue
        measured = count_trials(run.suite, run.lock.trials, store.outcomes(run.id))
        tallies = [tally for case_id, tally in measured.tallies.items() if case_id in ids and tally.first_graded]
        if tallies:
            counts = [(tally.first_graded, tally.first_passed) for tally in tallies]
            return run, _known(counts, measured, store.progress(run.id)[1]), ""
        unfit["judged no trial of these cases"] += 1
    told = ", ".join(f"{number:,} {why}" for why, number in unfit.items())
    if not told:
        return None, Known(), "the suite has not been run yet"
    return None, Known(), f"of its last {count(unfit.total(), 'run')} none tells how results vary ({told})"


def _known(counts: list[tuple[int, int]], measured: Measured, elapsed_s: float) -> Known:
    tried = sum(sum(tally.counts.values()) - tally.counts["skipped"] for tally in measured.tallies.values())
    return Known(counts, None if measured.cost_usd is None else measured.cost_usd / tried, elapsed_s / tried)


def _notes(suite: Suite, run: Run, plan: TrialPlan) -> Iterator[str]:
    if plan.pass_rate is not None and not plan.is_possible:
        yield f"the pass rate was {percent(plan.pass_rate)}, so it cannot drop by {points(plan.effect)}"
    if any(case.cluster for case in suite.cases):
        yield "cases of one cluster resemble each other, so count clusters where this says cases"
    if run.suite.config.retry_failed:
        yield "only first answers count here: an answer that was mended by another try is a fail"
