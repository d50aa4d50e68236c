"""Several runs of one suite side by side: cases down, variants across, and the figures of each on top."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalharness.domain.case import as_text
from evalharness.domain.plain_numbers import count
from evalharness.domain.prompt import JOINED
from evalharness.domain.report import Failure, Report
from evalharness.domain.reported_run import ReportedRun, Verbosity
from evalharness.reports.terminal.case_lines import FIRST_CASES, counted, mark_of, not_clean
from evalharness.reports.terminal.figures import rate_text
from evalharness.reports.terminal.screen import MARKS, Part, Screen, padded
from evalharness.reports.wording import from_here, money

NARROWEST, WIDEST = 14, 40
WIDEST_ID = 24
GAP = "   "
RATE, COST = "pass rate", "cost"
LONGEST_NAME = 300


class Matrix:
    """Only cases that some variant did not pass, those first of which the variants disagree; the others are counted."""

    def __init__(self, screen: Screen, runs: Sequence[ReportedRun], verbosity: Verbosity = 0) -> None:
        self._screen = screen
        self._runs = runs
        self._results = [{case.case_id: case for case in each.report.cases} for each in runs]
        self._failures = [not_clean(each.report) for each in runs]
        self._most = None if verbosity > 0 else FIRST_CASES

    def show(self) -> None:
        """In as many tables, one below the other, as it takes for all variants to fit."""
        cases = self._cases()
        shown = cases[: self._most]
        widest = max((self._screen.width_of(case_id) for case_id in (*shown, RATE)), default=0)
        ids = min(widest, WIDEST_ID)
        room = self._screen.console.width - ids
        most = max(1, min(len(self._runs), room // (NARROWEST + len(GAP))))
        bands = math.ceil(len(self._runs) / most)
        fitting = math.ceil(len(self._runs) / bands)  # bands of one size, rather than a last one of a single column
        wide = max(NARROWEST, min(self._needed(shown), room // fitting - len(GAP)))
        for first in range(0, len(self._runs), fitting):
            if first:
                self._screen.say()
            self._band(range(first, min(first + fitting, len(self._runs))), shown, ids, wide)
        if len(cases) > len(shown):
            self._screen.say(f"  {len(cases) - len(shown):,} more did not pass everywhere (-v)")
        passed = sum(self._passes_everywhere(case_id) for case_id in self._ids() if case_id not in set(cases))
        if passed:
            self._screen.say(MARKS["passed"], f" {count(passed, 'case')} passed everywhere")

    def _needed(self, cases: Sequence[str]) -> int:
        """The width of a column in which nothing has to be cut, as far as columns may be so wide."""
        places = range(len(self._runs))
        cells = [self._cell(place, case_id, WIDEST) for place in places for case_id in cases]
        cells += [[head] for place in places for head in (*self._head(place, WIDEST), self._rate(place))]
        return max(self._width_of(cell) for cell in cells)

    def _width_of(self, cell: Sequence[Part]) -> int:
        return sum(self._screen.width_of(part if isinstance(part, str) else part[0]) for part in cell)

    def _ids(self) -> list[str]:
        return list(dict.fromkeys(case_id for found in self._results for case_id in found))

    def _passes_everywhere(self, case_id: str) -> bool:
        return all(case_id in found and found[case_id].state == "passed" for found in self._results)

    def _cases(self) -> list[str]:
        """Those that did not pass everywhere; a case that all variants fail says nothing about their difference."""
        bad = [case_id for case_id in self._ids() if any(case_id in found for found in self._failures)]
        return sorted(bad, key=lambda case_id: all(case_id in found for found in self._failures))

    def _band(self, places: Sequence[int], cases: Sequence[str], ids: int, wide: int) -> None:
        heads = [self._head(place, wide) for place in places]
        for line in range(max(map(len, heads))):
            self._row("", [[(head[line] if line < len(head) else "", "bold")] for head in heads], ids, wide)
        self._row(RATE, [[self._rate(place)] for place in places], ids, wide)
        if any(each.report.cost_usd is not None for each in self._runs):
            self._row(COST, [[plain_cost(self._runs[place].report) or "–"] for place in places], ids, wide)
        for case_id in cases:
            self._row(case_id, [self._cell(place, case_id, wide) for place in places], ids, wide)

    def _row(self, label: str, cells: Sequence[Sequence[Part]], ids: int, wide: int) -> None:
        line: list[Part] = [padded(self._screen.cut(label, ids), ids)]
        for cell in cells[:-1]:
            line += [GAP, *cell, " " * (wide - self._width_of(cell))]
        self._screen.say(*line, GAP, *cells[-1])

    def _head(self, place: int, wide: int) -> list[str]:
        """The variant's name. Where it is too long, its prompt and its target have a line each."""
        run, report = self._runs[place].run, self._runs[place].report
        name = self._screen.one_line(report.metadata.variant or (run.target.label if run else ""), LONGEST_NAME)
        prompt = report.metadata.environment.get("prompt")
        if self._screen.width_of(name) > wide and prompt and name.startswith(f"{prompt}{JOINED}"):
            return [self._fitted(str(prompt), wide), self._fitted(name.removeprefix(f"{prompt}{JOINED}"), wide)]
        return [self._fitted(name, wide)]

    def _fitted(self, name: str, wide: int) -> str:
        """Names of variants begin alike and end differently more often than the other way round."""
        while self._screen.width_of(name) > wide:
            name = f"…{name[2:]}"
        return name

    def _rate(self, place: int) -> str:
        found = self._runs[place].report.measurements.get("pass_rate")
        return rate_text(found) if found else "–"

    def _cell(self, place: int, case_id: str, wide: int) -> list[Part]:
        """The mark, how many trials passed where there are several, and what was answered instead."""
        failure = self._failures[place].get(case_id)
        trials = self._runs[place].report.metadata.trials_per_case
        if failure is None:
            found = self._results[place].get(case_id)
            share = f" {found.passed}/{found.trials}" if found and trials > 1 else ""
            return [MARKS[found.state], share or f" {found.state}"] if found else [("not run", "dim")]
        text = " ".join(part for part in (counted(failure) if trials > 1 else "", _answer(failure)) if part)
        return [MARKS[mark_of(failure)], f" {self._screen.cut(text, wide - 2)}"]


def plain_cost(report: Report) -> str:
    """What the answers cost; empty where that is not known."""
    return "" if report.cost_usd is None else money(report.cost_usd)


def _answer(failure: Failure) -> str:
    if failure.difference is not None:
        return as_text(failure.difference.actual)
    return from_here(failure.reason) if failure.state != "passed" else ""
