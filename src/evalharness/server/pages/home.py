"""The home page: the suites with what became of them, and the newest runs."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from evalharness.actions.list_runs import list_runs
from evalharness.domain.suite import ListedSuite
from evalharness.reports.pages.home_page import BROKEN, HomePage, SuiteCard, suite_card
from evalharness.reports.pages.run_list import run_rows
from evalharness.server.context import Server, ServerContext
from evalharness.server.pages.running import running_ids
from evalharness.server.pages.site import PageSite, Site, shown_folder
from evalharness.server.pages.suites import listed_suites, run_action, terminal_command

router = APIRouter(include_in_schema=False)
NEWEST_RUNS = 10
SPARK_RUNS = 20
MOST_SUITES = 60


@router.get("/")
def home(server: Server, site: Site) -> HTMLResponse:
    suites = listed_suites(server)
    newest = server.harness.call(list_runs, NEWEST_RUNS, None)
    running = running_ids(server)
    page = HomePage(
        suites=[_card(suite, server, site, running) for suite in suites[:MOST_SUITES]],
        more_suites=max(0, len(suites) - MOST_SUITES),
        runs=run_rows(newest.lines, newest.now, running),
        folder=shown_folder(server.options.suites),
    )
    return site.page("home.html", "Home", page=page)


def _card(suite: ListedSuite, server: ServerContext, site: PageSite, running: frozenset[str]) -> SuiteCard:
    if suite.suite == BROKEN:
        named = suite._replace(file=shown_folder(Path(suite.file)))
        return suite_card(named, None, (), site.commands.validate(named.file), None)
    store = server.harness.context.store
    lines = store.list_runs(SPARK_RUNS, suite.suite)
    rows = run_rows(lines[:1], server.harness.context.clock(), running)
    action = run_action(suite, server, site, with_targets=False)
    return suite_card(suite, rows[0] if rows else None, lines, terminal_command(suite, server, site), action)
