"""List the cases of a run: a page of them, filtered and sorted, whether the run is under way or has come to a stop."""

from __future__ import annotations

from typing import NamedTuple

from evalharness.contracts.context import Context
from evalharness.domain.case_line import CaseLine, CaseQuery
from evalharness.domain.stored import RunOverview
from evalharness.steps.find_runs import find_overview


class CaseList(NamedTuple):
    """`total` counts the lines of all pages."""

    run: RunOverview
    lines: list[CaseLine]
    total: int


async def list_cases(context: Context, run: str, query: CaseQuery | None = None) -> CaseList:
    """`run` is its id, its name, `latest`, -N or a baseline. Raises UnknownName if there is no such run."""
    store = context.store
    found = find_overview(run, store)
    page = store.case_page(found.line.id, query or CaseQuery())
    return CaseList(found, page.lines, page.total)
