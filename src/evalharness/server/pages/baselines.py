"""The baselines of all suites: seen, set and removed."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from evalharness.actions.list_runs import list_runs
from evalharness.actions.set_baseline import DEFAULT_NAME, list_baselines, remove_baseline, set_baseline
from evalharness.domain.stored import Baseline
from evalharness.reports.pages.baselines_page import BaselineRow, BaselinesPage
from evalharness.reports.pages.page_actions import ChoiceField, PageAction, TextField
from evalharness.reports.terminal.runs import age
from evalharness.server.context import Server, ServerContext
from evalharness.server.pages.forms import Form, see
from evalharness.server.pages.site import PageSite, Site

router = APIRouter(include_in_schema=False)
OFFERED_RUNS = 50
REMOVE = "remove"


@router.get("/baselines")
def baselines(server: Server, site: Site) -> HTMLResponse:
    now = server.harness.context.clock()
    rows = [
        BaselineRow(
            suite=each.suite_name,
            name=each.name,
            runs=[(run.run_id, run.run_name) for run in each.runs],
            when=age(each.set_at, now),
            removal=_removal(each, site),
        )
        for each in server.harness.call(list_baselines)
    ]
    return site.page("baselines.html", "Baselines", page=BaselinesPage(rows, _promotion(server, site)))


@router.post("/baselines")
def change(server: Server, site: Site, form: Form) -> Response:
    """Set one, or remove one."""
    name = form.get("name", "") or DEFAULT_NAME
    if form.get("do") == REMOVE:
        server.harness.call(remove_baseline, name, form.get("suite") or None)
    else:
        server.harness.call(set_baseline, form.get("run", ""), name)
    return see(site.link(page="baselines"))


def promotion(run_id: str, run_name: str, site: PageSite) -> PageAction:
    return PageAction(
        title="Promote to baseline",
        address=site.link(page="baselines"),
        command=site.commands.promote(run_name),
        about="Later runs of the suite are compared with it.",
        fields={"run": run_id},
        texts=[TextField("name", "as", DEFAULT_NAME)],
    )


def _promotion(server: ServerContext, site: PageSite) -> PageAction | None:
    lines = server.harness.call(list_runs, OFFERED_RUNS, None).lines
    finished = [(line.id, f"{line.name} · {line.suite_name} · {line.verdict}") for line in lines if line.finished_at]
    if not finished:
        return None
    return PageAction(
        title="Promote",
        address=site.link(page="baselines"),
        command=site.commands.promote_any(),
        texts=[TextField("name", "as", DEFAULT_NAME)],
        choices=[ChoiceField("run", "run", finished)],
    )


def _removal(baseline: Baseline, site: PageSite) -> PageAction:
    return PageAction(
        title="Remove",
        address=site.link(page="baselines"),
        command=site.commands.remove_baseline(baseline.name, baseline.suite_name),
        fields={"do": REMOVE, "suite": baseline.suite_name, "name": baseline.name},
    )
