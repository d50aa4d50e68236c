"""The page of one run: live while it is under way, else what a report shows; and what can be done with it."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from evalharness.errors import UnknownName
from evalharness.reports.pages.live_page import live_page, waiting_page
from evalharness.server.context import Server
from evalharness.server.pages.case_tables import Asked, case_table
from evalharness.server.pages.site import Site

router = APIRouter(include_in_schema=False)
FIRST_FAILURES = 10
LIVE_FAILURES = 10
DELETE, RERUN, RERUN_FAILED, RESUME, CANCEL = "delete", "rerun", "rerun-failed", "resume", "cancel"


@router.get("/runs/{reference}")
def run(server: Server, site: Site, asked: Asked, reference: str, part: str = "") -> HTMLResponse:
    job = server.jobs.find(reference)
    overview = _overview(server, reference)
    if overview is None:
        if job is None:
            raise UnknownName("run", reference, [])
        return _shown_live(site, waiting_page(job.run_id, job.suite, _state(job), _log(server, job)), part, None, job)
    job = job or server.jobs.find(overview.line.id)
    if part == "cases":
        return site.part("case_table.html", table=case_table(server, site, overview, asked))
    if not _is_over(overview, job):
        return _shown_live(site, _live(server, overview, job), part, overview, job, server, asked)
    if part == "live":
        return site.part("live_part.html", page=live_page(overview.line, "finished", (), 0, None, ""))
    return _shown(server, site, overview, job, asked)
