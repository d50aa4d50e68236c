"""The list of runs as people read it: verdict, name, suite, pass rate, target and age, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from evalharness.domain.plain_numbers import digits, percent
from evalharness.domain.stored import RunLine
from evalharness.reports.terminal.screen import MARKS, Screen
from evalharness.reports.wording import interval_of, one_line

STATES = {"PASSED": "passed", "FAILED": "failed", "INVALID": "error", "INTERRUPTED": "skipped", "": "pending"}
"""The state whose mark a verdict has; the others await something."""
GAP = "  "
RUN, SUITE, TARGET = 1, 2, 4
"""Columns that are cut where there is no room, names of runs last."""
LEAST = 8
MOST_DAYS = 30


class RunsReport:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, lines: Sequence[RunLine], total: int, now: datetime | None) -> None:
        """Without `now`, the time of each run in place of its age: that stays the same."""
        names = {line.id: line.name for line in lines}
        rows = [[self._screen.clean(cell) for cell in _cells(line, names, now)] for line in lines]
        widths = fitted(rows, self._screen.console.width - 2, ((SUITE, TARGET), (RUN,)))
        for line, row in zip(lines, rows, strict=True):
            mark, colour = MARKS[STATES.get(line.verdict, "awaiting")]
            cells = [one_line(cell, width).ljust(width) for cell, width in zip(row, widths, strict=True)]
            self._screen.say((f"{mark} {cells[0]}", colour), GAP + GAP.join(cells[1:]).rstrip())
        if total > len(lines):
            self._screen.say((f"{total - len(lines):,} more; list them all: --limit {total}", "dim"))


def _cells(line: RunLine, names: dict[str, str], now: datetime | None) -> list[str]:
    done = sum(line.counts.values())
    rate = f"{done:,} of {line.planned:,} trials" if line.pending or not line.verdict else _rate(line)
    target = f"regrade of {names.get(line.regrade_of, line.regrade_of)}" if line.regrade_of else line.variant
    when = line.created_at if now is None else age(line.created_at, now)
    return [line.verdict or "unfinished", line.name, line.suite_name, rate, target, when]


def _rate(line: RunLine) -> str:
    """`74 % (61–84)`."""
    found = line.pass_rate
    if found is None:
        return "–"
    value = percent(found.value, digits(found.half_width))
    return value if found.half_width is None else f"{value} ({interval_of(found).removesuffix(' %')})"


def age(moment: str, now: datetime) -> str:
    """`2 h ago`; the date of what is long ago, or still to come."""
    try:
        passed = now - datetime.fromisoformat(moment)
    except (TypeError, ValueError):
        return moment
    if not timedelta() <= passed < timedelta(days=MOST_DAYS):
        return moment.partition("T")[0]
    minutes = int(passed.total_seconds() // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 48 * 60 else f"{minutes // (24 * 60)} d ago"


def fitted(rows: Sequence[Sequence[str]], room: int, giving_way: Sequence[Sequence[int]]) -> list[int]:
    """How wide each column may be: of those that give way, the widest first, and a later group only when it has to."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - room
    for columns in giving_way:
        while excess > 0 and any(widths[column] > LEAST for column in columns):
            widest = max(columns, key=lambda column: widths[column])
            widths[widest] -= 1
            excess -= 1
    return widths
