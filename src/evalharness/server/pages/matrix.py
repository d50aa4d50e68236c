"""The runs of a matrix side by side."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from evalharness.actions.show_overview import show_matrix
from evalharness.actions.write_report import find_together
from evalharness.reports.pages.matrix_page import MatrixPage, matrix_page
from evalharness.reports.pages.stored_cases import StoredCases
from evalharness.server.context import Server
from evalharness.server.kept_results import revision_of
from evalharness.server.pages.site import Site

router = APIRouter(include_in_schema=False)


@router.get("/matrix/{matrix_id}")
def matrix(server: Server, site: Site, matrix_id: str) -> HTMLResponse:
    lines = [found.run.line for found in server.harness.call(show_matrix, matrix_id)]

    def read() -> MatrixPage:
        runs = server.harness.call(find_together, matrix_id)
        return matrix_page(runs, [StoredCases(run, site.presentation) for run in runs])

    revision = revision_of(server.harness, (line.suite_name for line in lines), [line.id for line in lines])
    return site.page("matrix.html", "Runs", page=server.kept.get(("matrix", matrix_id), revision, read))
