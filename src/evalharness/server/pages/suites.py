"""The page of a suite: its runs over time, its baselines, and a button that runs it."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from evalharness.actions.list_suites import list_suites
from evalharness.domain.job import JobRequest
from evalharness.domain.suite import ListedSuite
from evalharness.domain.trend import Trend
from evalharness.errors import UnknownName
from evalharness.reports.pages.page_actions import ChoiceField, PageAction, PageActions
from evalharness.reports.pages.page_commands import registered_targets
from evalharness.reports.pages.suite_page import suite_page
from evalharness.server.context import Server, ServerContext
from evalharness.server.failures import Refusal
from evalharness.server.pages.forms import Form, see
from evalharness.server.pages.site import PageSite, Site, shown_folder
from evalharness.server.trends import trend_of

router = APIRouter(include_in_schema=False)
READY_MADE = "ready-made"


@router.get("/suites")
@router.get("/suites/{name:path}")
def suite(server: Server, site: Site, name: str) -> HTMLResponse:
    """The first way in is for names that browsers would change in a path."""
    found = next((each for each in listed_suites(server) if each.suite == name), None)
    try:
        page = trend_of(server, site.presentation, name).page
    except UnknownName:
        if found is None:
            raise
        page = suite_page(Trend(suite_name=name), site.presentation)
    actions = PageActions()
    if found is not None:
        action = run_action(found, server, site)
        actions = PageActions(first=action, listed=[action] if action else ())
    return site.page(
        "suite.html",
        page=page,
        page_actions=actions,
        start=terminal_command(found, server, site) if found else "",
        baselines=server.harness.context.store.baselines(name),
    )


@router.post("/suites")
@router.post("/suites/{name:path}")
def start(server: Server, site: Site, form: Form, name: str) -> Response:
    """Run it, on its own target or on a registered one."""
    found = next((each for each in listed_suites(server) if each.suite == name), None)
    if found is None:
        raise Refusal(404, f"there is no suite '{name}' in {shown_folder(server.options.suites)}")
    target = form.get("target", "")
    if target and target not in server.options.targets:
        raise Refusal(400, f"there is no registered target '{target}'", hint=registered_targets(server.options.targets))
    job = server.jobs.start(_request(found, server, target), name)
    return see(site.link(run=job.run_id))


def listed_suites(server: ServerContext) -> list[ListedSuite]:
    """Those below the folder, and those that are registered; without the ready-made ones."""
    found = server.harness.call(list_suites, server.options.suites).suites
    return [suite for suite in found if suite.where != READY_MADE]


def run_action(
    suite: ListedSuite, server: ServerContext, site: PageSite, *, with_targets: bool = True
) -> PageAction | None:
    """None for a suite without a target where none is registered either."""
    has_own = _has_own_target(suite)
    if not (has_own or server.options.targets):
        return None
    own = [("", suite.target or "the suite's own")] if has_own else []
    choices = own + [(name, name) for name in server.options.targets]
    asks = not has_own or (with_targets and len(choices) > 1)
    return PageAction(
        title="Run",
        address=site.link(suite=suite.suite),
        command=site.commands.run(_request(suite, server, "" if has_own else choices[0][0])),
        choices=[ChoiceField("target", "on", choices)] if asks else (),
    )


def terminal_command(suite: ListedSuite, server: ServerContext, site: PageSite) -> str:
    """What runs it in a terminal, where it may be given any target."""
    request = _request(suite, server, "")
    return site.commands.run(request if _has_own_target(suite) else request.model_copy(update={"target": "TARGET"}))


def _has_own_target(suite: ListedSuite) -> bool:
    return bool(suite.target) or (suite.variants or 1) > 1


def _request(suite: ListedSuite, server: ServerContext, target: str) -> JobRequest:
    named = shown_folder(Path(suite.file)) if suite.file else suite.suite
    return JobRequest(suite=named, target=server.options.targets[target] if target else "")
