"""The runs of a matrix side by side."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from evalharness.actions.show_overview import show_matrix
from evalharness.actions.write_report import find_reported
from evalharness.reports.pages.matrix_page import matrix_page
from evalharness.reports.pages.stored_cases import StoredCases
from evalharness.server.context import Server
from evalharness.server.pages.site import Site

router = APIRouter(include_in_schema=False)


@router.get("/matrix/{matrix_id}")
def matrix(server: Server, site: Site, matrix_id: str) -> HTMLResponse:
    ids = [found.run.line.id for found in server.harness.call(show_matrix, matrix_id)]
    runs = server.harness.call(find_reported, ids)
    stored = [StoredCases(run, site.presentation) for run in runs]
    page = matrix_page(runs, stored, site.presentation)
    return site.page("matrix.html", "Runs", page=page, show_one=page.show_one)
