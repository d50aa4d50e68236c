"""The page of one or several comparisons as a file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO

from evalharness.domain.reported_run import Presentation, ReportedComparison
from evalharness.reports.pages.compare_page import TITLES, ComparedCases
from evalharness.reports.pages.page_file import PageFile


def write_compare_file(compared: Sequence[ReportedComparison], stream: IO[str], presentation: Presentation) -> None:
    file = PageFile(stream, presentation)
    shown = [
        ComparedCases(each, presentation, f"{number}/" if len(compared) > 1 else "")
        for number, each in enumerate(compared)
    ]
    file.write(
        "compare.html",
        panels=(panel for each in shown for panel in _panels(each, file)),
        comparisons=[each.shown() for each in shown],
        titles=TITLES,
        show_one=f"{presentation.command} compare {' '.join(_names(compared[0]))} -v",
    )


def _names(compared: ReportedComparison) -> list[str]:
    comparison = compared.comparison
    return [shlex.quote(run.run_name) for run in (comparison.old, comparison.new)]


def _panels(cases: ComparedCases, file: PageFile) -> Iterator[tuple[str, Callable[[], str]]]:
    for row in cases.rows:
        yield file.templates.clean(row.key), partial(_panel, cases, row.id, file)


def _panel(cases: ComparedCases, case_id: str, file: PageFile) -> str:
    panel = cases.panel(case_id)
    return file.templates.render("compare_panel.html", panel=panel) if panel else ""
