"""Open one case of a run, finished or not: what was asked, and its trials. Nothing of the other cases is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.case import Case
from evalharness.domain.case_line import CaseLine
from evalharness.domain.review import Remark
from evalharness.domain.specification import GraderSpec
from evalharness.domain.stored import RunOverview
from evalharness.domain.trial import Trial
from evalharness.engine.planning.planned_cases import asked_case
from evalharness.errors import UnknownName
from evalharness.steps.find_runs import find_overview


@dataclass(frozen=True, slots=True)
class OpenedCase:
    run: RunOverview
    line: CaseLine
    case: Case
    """As its target got it."""
    graders: tuple[GraderSpec, ...]
    trials: Sequence[Trial]
    before: Sequence[Trial]
    """Of the baseline that the run was compared with, where the store has it."""
    remarks: Sequence[Remark] = ()
    """What the owner said about grades."""


async def open_case(context: Context, reference: str, case_id: str) -> OpenedCase:
    """Raises UnknownName if there is no such run, or it has no such case."""
    store = context.store
    run = find_overview(reference, store)
    line = store.case_line(run.line.id, case_id)
    if line is None:
        raise UnknownName(f"case in run {run.line.name}", case_id, [])
    part = store.part_of(run.line.id, [case_id])
    [case] = part.suite.cases
    asked = asked_case(part, case)
    return OpenedCase(
        run=run,
        line=line,
        case=asked,
        graders=part.suite.graders_for(asked),
        trials=list(store.trials(run.line.id, case_id)),
        before=_before(store, run, case_id),
        remarks=[each for each in store.reviews.remarks(run.line.id) if each.case_id == case_id],
    )


def _before(store: Store, run: RunOverview, case_id: str) -> list[Trial]:
    compared = run.report.comparison if run.report else None
    if compared is None or compared.old.run_id in ("", run.line.id):
        return []
    try:
        return list(store.trials(compared.old.run_id, case_id))
    except UnknownName:
        return []
