"""The cases of a run as rows of a page: which ones, in which order, and where the others are."""

from __future__ import annotations

from typing import Annotated, cast, get_args

from fastapi import Depends, Request

from evalharness.domain.case_line import CaseOrder, CaseQuery
from evalharness.domain.stored import RunOverview
from evalharness.reports.pages.case_rows import row_of_line
from evalharness.reports.pages.case_table import CaseTable, TableQuery
from evalharness.server.context import ServerContext
from evalharness.server.pages.site import PageSite

ON_A_PAGE = 100
MOST_LABELS = 200
"""Tags or categories that can be chosen from."""


class AskedTable:
    """What the address asks of the table; `page` counts from 1."""

    def __init__(self, request: Request) -> None:
        query = request.query_params
        orders = query.getlist("sort")  # of the select, and of the head that was clicked on, which comes last
        show = "failed" if query.get("show") == "failed" else "all"
        self.query = TableQuery(
            q=query.get("q", "").strip(),
            show=show,
            category=query.get("category", ""),
            tag=query.get("tag", ""),
            sort=orders[-1] if orders and orders[-1].removeprefix("-") in get_args(CaseOrder) else "",
        )
        page = query.get("nr", "1")
        self.page = max(1, int(page)) if page.isascii() and page.isdigit() and len(page) < 9 else 1

    def lines(self, offset: int, limit: int) -> CaseQuery:
        query = self.query
        return CaseQuery(
            state="not_passed" if query.show == "failed" else "",
            category=query.category,
            tag=query.tag,
            q=query.q,
            sort=cast(CaseOrder, query.sort.removeprefix("-") or "position"),
            descending=query.sort.startswith("-"),
            offset=offset,
            limit=limit,
        )


Asked = Annotated[AskedTable, Depends(AskedTable)]


def case_table(server: ServerContext, site: PageSite, run: RunOverview, asked: AskedTable) -> CaseTable:
    store, run_id = server.harness.context.store, run.line.id
    found = store.case_page(run_id, asked.lines((asked.page - 1) * ON_A_PAGE, ON_A_PAGE))
    total = run.line.cases or store.case_page(run_id, CaseQuery(limit=1)).total
    labels = store.case_labels(run_id)
    fields = asked.query.as_fields()

    def at(page: int) -> str:
        return f"{site.link(run=run_id, **fields, nr=page if page > 1 else '')}#cases"

    return CaseTable(
        run=run_id,
        rows=[row_of_line(line) for line in found.lines],
        found=found.total,
        total=total,
        has_costs=any(line.cost_usd is not None for line in found.lines)
        or bool(run.report and run.report.cost_usd is not None),
        categories=labels.categories[:MOST_LABELS],
        tags=labels.tags[:MOST_LABELS],
        query=asked.query,
        before=at(asked.page - 1) if asked.page > 1 else "",
        after=at(asked.page + 1) if asked.page * ON_A_PAGE < found.total else "",
    )
