"""HTML reports: a page in one file that needs no network. One run, several side by side, or two compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, ClassVar

from evalharness.contracts.reporter import Reporter
from evalharness.domain.reported_run import Presentation, ReportedComparison, ReportedRun
from evalharness.reports.pages.compare_file import write_compare_file
from evalharness.reports.pages.matrix_file import write_matrix_file
from evalharness.reports.pages.page_file import BEGINNING
from evalharness.reports.pages.run_file import write_run_file


class HtmlReporter(Reporter):
    name: ClassVar[str] = "html"
    endings: ClassVar[tuple[str, ...]] = (".html", ".htm")
    compares: ClassVar[bool] = True

    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        if len(runs) == 1:
            write_run_file(runs[0], stream, presentation)
        else:
            write_matrix_file(runs, stream, presentation)

    def write_comparisons(
        self, compared: Sequence[ReportedComparison], stream: IO[str], presentation: Presentation
    ) -> None:
        write_compare_file(compared, stream, presentation)

    def recognises(self, head: str) -> bool:
        return not head.strip() or head.startswith(BEGINNING)
