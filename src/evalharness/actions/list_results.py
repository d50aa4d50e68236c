"""List the results of a run in the words of task suites: one for each case, page by page."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import TypeAdapter

from evalharness.actions.list_cases import CaseList, list_cases
from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.case_line import CaseLine, CaseQuery
from evalharness.domain.grade import Grade
from evalharness.domain.run import Run
from evalharness.formats.task_suites.records import CheckDetail
from evalharness.steps.check_details import check_details

_GRADES = TypeAdapter(tuple[Grade, ...])


class TaskResult(NamedTuple):
    """`error` and `details` are those of the first trial that did not pass; durations are medians."""

    line: CaseLine
    duration_s: float | None
    error: str | None
    details: tuple[CheckDetail, ...]


async def list_results(context: Context, run: str, query: CaseQuery) -> tuple[CaseList, list[TaskResult]]:
    found = await list_cases(context, run, query)
    store, run_id = context.store, found.run.line.id
    failed = [line.case_id for line in found.lines if line.first_not_passed is not None]
    part = store.part_of(run_id, failed)
    durations = store.median_latencies(run_id, [line.case_id for line in found.lines])
    return found, [_result(line, durations.get(line.case_id), part, store) for line in found.lines]


def _result(line: CaseLine, duration_s: float | None, part: Run, store: Store) -> TaskResult:
    if line.first_not_passed is None:
        return TaskResult(line, duration_s, None, ())
    case = next(case for case in part.suite.cases if case.id == line.case_id)
    for outcome in store.outcome_page(part.id, 1, ("", line.first_not_passed - 1), line.case_id):
        grades = _GRADES.validate_json(outcome.grades)
        details = check_details(grades, outcome.reason, part.suite.graders_for(case))
        return TaskResult(line, duration_s, outcome.reason or None, details)
    return TaskResult(line, duration_s, None, ())
