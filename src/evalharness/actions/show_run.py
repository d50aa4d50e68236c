"""Show what is stored: a run as it stands now, or one of its cases."""

from __future__ import annotations

from dataclasses import dataclass

from evalharness.contracts.context import Context
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory
from evalharness.domain.report import CaseState
from evalharness.domain.run import Run
from evalharness.domain.trial import Trial
from evalharness.engine.planning.planned_cases import filled_case
from evalharness.errors import UnknownName
from evalharness.steps.find_runs import find_run
from evalharness.steps.make_report import case_histories, measured_trials, with_report


@dataclass(frozen=True, slots=True)
class ShownCase:
    """A case with its variables filled in, its finished trials, and how it did in earlier runs."""

    case: Case
    trials: tuple[Trial, ...]
    history: CaseHistory


async def show_run(context: Context, reference: str) -> Run:
    """A run by id or name, with its report recomputed from its trials."""
    return with_report(context, find_run(reference, context.store))


async def case_lines(context: Context, run: Run) -> list[tuple[str, CaseState, str]]:
    """Of every case of a run: its id, its state and the first reason found."""
    tallies = measured_trials(context.store, run).tallies
    return [(id_, tally.state(run.suite.case_threshold), tally.reason) for id_, tally in tallies.items()]


async def show_case(context: Context, run: Run, name: str) -> ShownCase:
    """`name` is its id, else its name."""
    cases = run.suite.cases
    chosen = next((case for case in cases if case.id == name), None)
    chosen = chosen or next((case for case in cases if case.name == name), None)
    if chosen is None:
        raise UnknownName(f"case in run {run.name}", name, [case.id for case in cases])
    public = {name: value for name, value in run.lock.variables.items() if value is not None}
    chosen = filled_case(chosen, run.suite, public)
    history = case_histories(context.store, run)[chosen.id]
    return ShownCase(chosen, tuple(context.store.trials(run.id, chosen.id)), history)
