"""The list of runs."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from evalharness.actions.list_runs import list_runs
from evalharness.domain.plain_numbers import count
from evalharness.reports.pages.run_list import RunsPage, run_rows
from evalharness.server.context import Server
from evalharness.server.pages.running import running_ids
from evalharness.server.pages.site import Site

router = APIRouter(include_in_schema=False)
ON_A_PAGE = 50


@router.get("/runs")
def runs(server: Server, site: Site, suite: str = "", before: str = "") -> HTMLResponse:
    """`before` is a run: the page has those older than it."""
    found = server.harness.call(list_runs, ON_A_PAGE + 1, suite or None, before)
    lines = found.lines[:ON_A_PAGE]
    older = lines[-1].id if len(found.lines) > ON_A_PAGE else ""
    page = RunsPage(
        runs=run_rows(lines, found.now, running_ids(server)),
        suites=sorted(server.harness.context.store.suite_names()),
        suite=suite,
        count=count(found.total, "run"),
        before=site.link(page="runs", suite=suite) if before else "",
        after=site.link(page="runs", suite=suite, before=older) if older else "",
    )
    return site.page("runs.html", "Runs", page=page)
