"""Several runs side by side as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO

from evalharness.domain.reported_run import Presentation, ReportedRun
from evalharness.reports.pages.case_panel import CasePanel, PanelMaker
from evalharness.reports.pages.matrix_page import MatrixPage, matrix_page
from evalharness.reports.pages.page_file import PageFile
from evalharness.reports.pages.stored_cases import StoredCases


def write_matrix_file(runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
    file = PageFile(stream, presentation)
    stored = [StoredCases(run, presentation) for run in runs]
    page = matrix_page(runs, stored, presentation)
    file.write("matrix.html", panels=_panels(page, stored, file), page=page, show_one=page.show_one)


def _panels(page: MatrixPage, stored: Sequence[StoredCases], file: PageFile) -> Iterator[tuple[str, Callable[[], str]]]:
    maker = PanelMaker()
    for row in page.rows:
        for number, cell in enumerate(row.cells):
            if cell is not None:
                whose = page.columns[number].title
                make = partial(stored[number].panel, row.case_id, maker, key=cell.key, whose=whose)
                yield file.templates.clean(cell.key), partial(_panel, file, make)


def _panel(file: PageFile, make: Callable[[], CasePanel | None]) -> str:
    return file.panel(make())
