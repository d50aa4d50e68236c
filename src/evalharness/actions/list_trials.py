"""List the trials of a run page by page, show one with everything, or follow them as they are written."""

from __future__ import annotations

from typing import NamedTuple

from evalharness.contracts.context import Context
from evalharness.domain.case import Case
from evalharness.domain.case_line import ChangeKey, TrialChange
from evalharness.domain.run import Run
from evalharness.domain.trial import Outcome, Trial
from evalharness.engine.planning.planned_cases import asked_case
from evalharness.errors import UnknownName
from evalharness.steps.find_runs import find_overview


class ShownTrial(NamedTuple):
    """`run` has no other case than this one, which is as the target got it."""

    run: Run
    case: Case
    trial: Trial


async def list_trials(
    context: Context, run: str, limit: int, after: tuple[str, int] = ("", -1), case_id: str | None = None
) -> list[Outcome]:
    """In the order of case and index, after one of them. Raises UnknownName for a run or a case that is not there."""
    store = context.store
    run_id = find_overview(run, store).line.id
    if case_id is not None and store.case_line(run_id, case_id) is None:
        raise UnknownName("case", case_id, [])
    return store.outcome_page(run_id, limit, after, case_id)


async def show_case(context: Context, run: str, case_id: str) -> tuple[Run, Case]:
    """A case as its target got it, and its run without any other case: for runs of any size."""
    store = context.store
    part = store.part_of(find_overview(run, store).line.id, [case_id])
    if not part.suite.cases:
        raise UnknownName(f"case in run {part.name}", case_id, [])
    return part, asked_case(part, part.suite.cases[0])


async def show_trial(context: Context, run: str, case_id: str, index: int) -> ShownTrial:
    """Raises UnknownName for a trial that is not finished."""
    part, case = await show_case(context, run, case_id)
    trial = context.store.trial(part.id, case_id, index)
    if trial is None:
        raise UnknownName(f"trial of case {case_id} in run {part.name}", str(index), [])
    return ShownTrial(part, case, trial)


async def follow_trials(context: Context, run_id: str, after: ChangeKey, limit: int) -> list[TrialChange]:
    """What was written after a place in the order of writing."""
    return context.store.changes(run_id, after, limit)
