"""Several runs of one suite side by side as Markdown tables: cases down, variants across."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evalharness.domain.case import as_text
from evalharness.domain.plain_numbers import count
from evalharness.domain.report import Report
from evalharness.domain.reported_run import ReportedRun
from evalharness.reports.markdown_parts import table
from evalharness.reports.markdown_text import MarkdownText
from evalharness.reports.terminal.case_lines import counted, mark_of, not_clean
from evalharness.reports.terminal.figures import rate_text
from evalharness.reports.terminal.screen import MARKS

MOST_COLUMNS = 6
"""Variants in one table; the others are in tables below it."""
MOST_CASES = 1000
"""More never fit."""
LONGEST_CELL = 60


class MarkdownMatrix:
    """Only cases that did not pass everywhere, those first about which the variants disagree."""

    def __init__(self, text: MarkdownText, runs: Sequence[ReportedRun]) -> None:
        self._text = text
        self._reports = [each.report for each in runs]
        self._failures = [not_clean(report) for report in self._reports]
        self._results = [{case.case_id: case for case in report.cases} for report in self._reports]
        self._ids = list(dict.fromkeys(case_id for found in self._results for case_id in found))

    def lines(self, room: int) -> list[str]:
        places = range(len(self._reports))
        bad = [case_id for case_id in self._ids if not all(self._is_clean(place, case_id) for place in places)]
        bad.sort(key=lambda case_id: all(case_id in found for found in self._failures))
        lines = [f"### Cases of {self._text.inline(self._reports[0].metadata.suite_name)}", ""] if bad else []
        bands = [places[first : first + MOST_COLUMNS] for first in places[::MOST_COLUMNS]]
        for band in bands if bad else ():
            lines += self._band(band, bad, room // len(bands))
        everywhere = len(self._ids) - len(bad)
        return [*lines, f"{count(everywhere, 'case')} passed everywhere", ""] if everywhere else lines

    def _is_clean(self, place: int, case_id: str) -> bool:
        """Whether it passed every trial, or was not asked."""
        result = self._results[place].get(case_id)
        return case_id not in self._failures[place] and (result is None or result.state == "passed")

    def _band(self, places: Sequence[int], cases: Sequence[str], room: int) -> list[str]:
        heads = [self._text.cell(_column(self._reports[place]), LONGEST_CELL) for place in places]
        rates = [rate_of(self._reports[place]) for place in places]
        rows = (
            (self._text.cell(case_id), *(self._cell(place, case_id) for place in places))
            for case_id in cases[:MOST_CASES]
        )
        kept = list(_within(rows, room))
        hidden = len(cases) - len(kept)
        more = [f"{count(hidden, 'more case')} did not pass everywhere", ""] if hidden else []
        return [*table(("Case", *heads), [("pass rate", *rates), *kept], most=len(kept) + 1), *more]

    def _cell(self, place: int, case_id: str) -> str:
        """The mark, how many trials passed where there are several, and what was answered instead."""
        failure, result = self._failures[place].get(case_id), self._results[place].get(case_id)
        if failure is None:
            return MARKS[result.state][0] if result else "not run"
        answer = as_text(failure.difference.actual) if failure.difference else failure.reason
        share = counted(failure)
        parts = [
            MARKS[mark_of(failure)][0],
            "" if share in ("0/1", "1/1") else share,
            self._text.cell(answer, LONGEST_CELL) if answer else "",
        ]
        return " ".join(filter(None, parts))


def rate_of(report: Report) -> str:
    found = report.measurements.get("pass_rate")
    return rate_text(found) if found else "–"


def _column(report: Report) -> str:
    return report.metadata.variant or report.metadata.run_name


def _within(rows: Iterable[Sequence[str]], room: int) -> Iterator[Sequence[str]]:
    """The first ones, as many as there is room for."""
    for row in rows:
        room -= sum(len(cell) + 3 for cell in row) + 2
        if room < 0:
            return
        yield row
