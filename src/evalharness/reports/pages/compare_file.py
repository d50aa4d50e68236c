"""The page of one or several comparisons as a file."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO, Any

from evalharness.domain.case import Case
from evalharness.domain.reported_run import Presentation, ReportedComparison
from evalharness.reports.pages.compare_page import (
    TITLES,
    ChangeRow,
    change_rows,
    compare_page,
    compare_panel,
    trials_of,
)
from evalharness.reports.pages.page_file import PageFile
from evalharness.reports.pages.run_page import command_to_show

MOST_ROWS = 500
"""In each group."""


def write_compare_file(compared: Sequence[ReportedComparison], stream: IO[str], presentation: Presentation) -> None:
    file = PageFile(stream, presentation)
    shown = [
        _Compared(each, f"{number}/" if len(compared) > 1 else "", presentation) for number, each in enumerate(compared)
    ]
    file.write(
        "compare.html",
        panels=(panel for each in shown for panel in each.panels(file)),
        index={"show": [f"{presentation.command} compare {' '.join(_names(each))} -v" for each in compared]},
        comparisons=[each.values() for each in shown],
        titles=TITLES,
    )


def _names(compared: ReportedComparison) -> list[str]:
    comparison = compared.comparison
    return [shlex.quote(run.run_name) for run in (comparison.old, comparison.new)]


class _Compared:
    """One comparison on the page; `prefix` tells its cases from those of the others."""

    def __init__(self, compared: ReportedComparison, prefix: str, presentation: Presentation) -> None:
        self._compared, self._prefix, self._presentation = compared, prefix, presentation
        self._rows: list[ChangeRow] = []
        self._counts: Counter[str] = Counter()
        for row in change_rows(compared, prefix):
            self._counts[row.group] += 1
            if self._counts[row.group] <= MOST_ROWS:
                self._rows.append(row)
        self._rows.sort(key=lambda row: list(TITLES).index(row.group))

    def values(self) -> dict[str, Any]:
        first = next((group for group in TITLES if self._counts[group]), "same")
        return {
            "page": compare_page(self._compared.comparison),
            "rows": self._rows,
            "counts": self._counts,
            "first": f"{self._prefix}{first}",
            "prefix": self._prefix,
            "hidden": {group: number - MOST_ROWS for group, number in self._counts.items() if number > MOST_ROWS},
        }

    def panels(self, file: PageFile) -> Iterator[tuple[str, Callable[[], str]]]:
        asked = {case.id: case for case in self._compared.new.asked()} if self._compared.new else {}
        for row in self._rows:
            yield file.templates.clean(row.key), partial(self._panel, file, row, asked.get(row.id))

    def _panel(self, file: PageFile, row: ChangeRow, case: Case | None) -> str:
        sides = (self._compared.old, self._compared.new)
        commands = [command_to_show(run, self._presentation, row.id) for run in sides if run]
        trials = trials_of(self._compared, row.id)
        if not (trials.before or trials.now):
            return ""
        return file.templates.render("compare_panel.html", panel=compare_panel(row, case, trials, commands))
