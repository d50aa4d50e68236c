"""The list of suites as people read it: name, size, place, target and description, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.domain.plain_numbers import count
from evalharness.domain.suite import ListedSuite
from evalharness.reports.terminal.runs import GAP, fitted
from evalharness.reports.terminal.screen import MARKS, Screen
from evalharness.reports.wording import one_line

SUITE, PLACE, ABOUT = 0, 2, 3
LONGEST_DESCRIPTION = 80


class SuitesReport:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, suites: Sequence[ListedSuite]) -> None:
        """A broken file has the mark of a failure."""
        rows = [[self._screen.clean(cell) for cell in _cells(suite)] for suite in suites]
        widths = fitted(rows, self._screen.console.width - 2, ((ABOUT,), (PLACE,), (SUITE,)))
        for suite, row in zip(suites, rows, strict=True):
            cells = [one_line(cell, width).ljust(width) for cell, width in zip(row, widths, strict=True)]
            mark = MARKS["failed"] if suite.cases is None else " "
            self._screen.say(mark, " ", GAP.join(cells).rstrip())


def _cells(suite: ListedSuite) -> list[str]:
    cases, trials = suite.cases, suite.trials or 1
    variants = suite.variants or 1
    size = "" if cases is None else count(cases, "case") + (f" × {count(trials, 'trial')}" if trials > 1 else "")
    size += f" × {count(variants, 'variant')}" if variants > 1 else ""
    place = suite.where if not suite.file else suite.file + (" (registered)" if suite.where == "registered" else "")
    about = (suite.target, one_line(suite.description, LONGEST_DESCRIPTION))
    return [suite.suite, size, place, " · ".join(part for part in about if part)]
