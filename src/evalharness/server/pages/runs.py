"""The page of one run: live while it is under way, else what a report shows; and what can be done with it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from evalharness.actions.check_activity import is_under_way
from evalharness.actions.show_overview import show_progress
from evalharness.domain.case_line import CaseQuery
from evalharness.domain.job import Job
from evalharness.domain.plain_numbers import count
from evalharness.domain.reported_run import ReportedRun
from evalharness.domain.stored import RunOverview
from evalharness.errors import UnknownName
from evalharness.reports.pages.case_rows import row_of_line
from evalharness.reports.pages.live_page import LivePage, LiveState, live_failure, live_page, waiting_page
from evalharness.reports.pages.message_page import MessagePage
from evalharness.reports.pages.run_page import FailureLine, run_page, show_command, show_failed_command
from evalharness.server.context import Server, ServerContext
from evalharness.server.failures import Refusal
from evalharness.server.pages.case_tables import Asked, case_table
from evalharness.server.pages.forms import Form, see
from evalharness.server.pages.run_actions import RunActions, actions_of, waiting_actions
from evalharness.server.pages.site import PageSite, Site

router = APIRouter(include_in_schema=False)
FIRST_FAILURES = 10
LIVE_FAILURES = 10
MOST_OUTPUT = 20_000
"""Characters of what a process printed, the last ones."""


@router.get("/runs/{reference}")
def run(server: Server, site: Site, asked: Asked, reference: str, part: str = "") -> HTMLResponse:
    try:
        progress = server.harness.call(show_progress, reference)
    except UnknownName:
        return _not_stored(server, site, reference, part)
    overview, job = progress.run, progress.job
    if part == "cases":
        return site.part("case_table.html", table=case_table(server, site, overview, asked))
    state = _state_of(server, overview, job)
    if state == "finished" and part:
        return site.part("live_part.html", page=live_page(overview.line, state, (), 0, None, ""))
    if state != "finished" and part:
        return _shown_live(site, _live(server, overview, state, job), part)
    store = server.harness.context.store
    asks = {
        "table": case_table(server, site, overview, asked),
        "page_actions": actions_of(
            site,
            overview,
            store.part_of(overview.line.id),
            job,
            has_siblings=len(store.ends(overview.matrix_id)) > 1,
        ),
    }
    if state != "finished":
        return _shown_live(site, _live(server, overview, state, job), part, **asks)
    return _shown(server, site, overview, **asks)


@router.post("/runs/{reference}/{what}")
def change(server: Server, site: Site, form: Form, reference: str, what: str) -> Response:
    if what == "rerun":
        return see(site.link(run=server.jobs.rerun(reference, only_failed="failed" in form).run_id))
    if what == "resume":
        server.jobs.resume(reference)
    elif what == "cancel":
        server.jobs.cancel(reference)
    elif what == "delete":
        server.jobs.delete(reference)
        return see(site.link(page="runs"))
    else:
        raise Refusal(404, f"a run cannot be asked to {what[:100]}")
    return see(site.link(run=reference))


@router.get("/runs/{reference}/delete")
def ask_to_delete(server: Server, site: Site, reference: str) -> HTMLResponse:
    line = server.harness.call(show_progress, reference).run.line
    page = MessagePage(
        title=f"Delete {line.name}?",
        text=f"The run of {line.suite_name} and its {count(sum(line.counts.values()), 'trial')} go away for good.",
        action=RunActions(site, line.id, line.name).delete_now(),
        back=site.link(run=line.id),
    )
    return site.page("message.html", page=page)


def _not_stored(server: ServerContext, site: PageSite, reference: str, part: str) -> HTMLResponse:
    """A run that has only a job so far. Raises UnknownName for what is no run at all."""
    job = server.jobs.find(reference)
    if job is None:
        raise UnknownName("run", reference, [])
    page = waiting_page(job.run_id, job.suite, _state(job), _log(server, job))
    return _shown_live(site, page, part, page_actions=waiting_actions(site, job), table=None)


def _state(job: Job) -> LiveState:
    if job.state in ("queued", "running", "cancelling"):
        return job.state
    return "interrupted"


def _state_of(server: ServerContext, overview: RunOverview, job: Job | None) -> LiveState:
    """A run without a current report is under way somewhere, or its process was killed."""
    if job is not None and job.is_active:
        return _state(job)
    if overview.report is not None and overview.is_current:
        return "finished"
    return "running" if server.harness.call(is_under_way, overview.line.id) else "interrupted"


def _live(server: ServerContext, overview: RunOverview, state: LiveState, job: Job | None) -> LivePage:
    store, line = server.harness.context.store, overview.line
    failed = store.case_page(line.id, CaseQuery(state="failed", limit=LIVE_FAILURES))
    erred = store.case_page(line.id, CaseQuery(state="error", limit=LIVE_FAILURES))
    failures = []
    for case in [*failed.lines, *erred.lines][:LIVE_FAILURES]:
        trial = None if case.first_not_passed is None else store.trial(line.id, case.case_id, case.first_not_passed)
        row = row_of_line(case)
        failures.append(live_failure(case.case_id, row.state, trial.reason if trial else "", row.share))
    elapsed_s = None
    if job is not None and job.started_at and not job.is_resumed:
        now = server.harness.context.clock()
        elapsed_s = max(0.0, (now - datetime.fromisoformat(job.started_at)).total_seconds())
    log = _log(server, job) if job else ""
    return live_page(line, state, failures, failed.total + erred.total, elapsed_s, log)


def _log(server: ServerContext, job: Job) -> str:
    return server.jobs.log(job.run_id)[-MOST_OUTPUT:]


def _shown_live(site: PageSite, page: LivePage, part: str, **values: Any) -> HTMLResponse:
    if part:
        return site.part("live_part.html", page=page)
    return site.page("live.html", "Runs", page=page, **values)


def _shown(server: ServerContext, site: PageSite, overview: RunOverview, **values: Any) -> HTMLResponse:
    report = overview.report
    assert report is not None, "it is finished"
    reported = ReportedRun(report, server.harness.context.store.part_of(overview.line.id))
    page = run_page(reported, site.presentation)
    failures = [(failure, _opener(site, page.run_id, failure)) for failure in page.failures[:FIRST_FAILURES]]
    unjudged = [(failure, _opener(site, page.run_id, failure)) for failure in page.unjudged[:FIRST_FAILURES]]
    summary = report.summary
    return site.page(
        "run.html",
        "Runs",
        page=page,
        failures=failures,
        more_failures=(),
        unlisted=max(0, summary.failed + summary.errors - len(failures)),
        unjudged=unjudged,
        unlisted_unjudged=max(0, summary.skipped + summary.awaiting - len(unjudged)),
        show_all=show_failed_command(reported, site.presentation),
        show_one=show_command(reported, site.presentation, "CASE"),
        **values,
    )


def _opener(site: PageSite, run_id: str, failure: FailureLine) -> Markup:
    """What is under a line until it is opened: the way to the page of the case."""
    return site.markup("opener.html", run_id=run_id, id=failure.id)
