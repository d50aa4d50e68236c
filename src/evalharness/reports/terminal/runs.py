"""The list of runs as people read it: verdict, name, suite, pass rate, cases, target and age, within the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from evalharness.domain.plain_numbers import count, digits, percent
from evalharness.domain.stored import RunLine
from evalharness.reports.terminal.screen import MARKS, Screen
from evalharness.reports.wording import interval_of, one_line

STATES = {"PASSED": "passed", "FAILED": "failed", "INVALID": "error", "INTERRUPTED": "skipped", "": "pending"}
"""The state whose mark a verdict has; the others await something."""
GAP = "  "
Rows: TypeAlias = list[list[str]]
SUITE, RATE, CASES, TARGET, WHEN = 2, 3, 4, 5, 6
"""Where there is no room, these give way; names of runs never do: people paste them."""
LEAST = 8
MOST_DAYS = 30


class RunsReport:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def show(self, lines: Sequence[RunLine], total: int, now: datetime | None) -> None:
        """Without `now`, the time of each run in place of its age: that stays the same."""
        names = {line.id: line.name for line in lines}
        rows = [[self._screen.clean(cell) for cell in _cells(line, names, now)] for line in lines]
        room = self._screen.console.width - 2
        for shorten in SHORTENINGS:
            if rows and excess(rows, room) > 0:
                rows = shorten(rows)
        widths = fitted(rows, room, ((SUITE, TARGET),)) if rows else []
        for line, row in zip(lines, rows, strict=True):
            mark, colour = MARKS[STATES.get(line.verdict, "awaiting")]
            cells = [
                (last_part(cell, width) if column == TARGET else one_line(cell, width)).ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            shown = [cell for cell, width in zip(cells[1:], widths[1:], strict=True) if width]
            self._screen.say((f"{mark} {cells[0]}", colour), GAP + GAP.join(shown).rstrip())
        if total > len(lines):
            self._screen.say((f"{total - len(lines):,} more; list them all: --limit {total}", "dim"))


def _cells(line: RunLine, names: dict[str, str], now: datetime | None) -> list[str]:
    done = sum(line.counts.values())
    rate = f"{done:,} of {line.planned:,} trials" if line.pending or not line.verdict else line_rate(line)
    when = line.created_at if now is None else age(line.created_at, now)
    cases = "" if line.cases is None else count(line.cases, "case")
    return [line.verdict or "unfinished", line.name, line.suite_name, rate, cases, line.asked(names), when]


def line_rate(line: RunLine) -> str:
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


def _with(rows: Rows, column: int, change: Callable[[str], str]) -> Rows:
    return [[*row[:column], change(row[column]), *row[column + 1 :]] for row in rows]


def _without_cases(rows: Rows) -> Rows:
    return _with(rows, CASES, lambda _: "")


def _without_common_suite(rows: Rows) -> Rows:
    return _with(rows, SUITE, lambda _: "") if len({row[SUITE] for row in rows}) == 1 else rows


def _with_short_age(rows: Rows) -> Rows:
    return _with(rows, WHEN, lambda when: when.removesuffix(" ago"))


def _without_intervals(rows: Rows) -> Rows:
    return _with(rows, RATE, lambda rate: rate.partition(" (")[0])


SHORTENINGS = (_without_cases, _without_common_suite, _with_short_age, _without_intervals)
"""What is done one after the other until the rows fit; then suites and targets are cut."""


def last_part(text: str, width: int) -> str:
    """Targets often differ at their end only."""
    whole = one_line(text, len(text))
    return whole if len(whole) <= width else f"…{whole[len(whole) - width + 1 :]}"


def excess(rows: Sequence[Sequence[str]], room: int) -> int:
    """How many columns of the terminal the rows lack; at most 0 if they fit. An empty column takes no room."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return sum(widths) + len(GAP) * (sum(map(bool, widths)) - 1) - room


def fitted(rows: Sequence[Sequence[str]], room: int, giving_way: Sequence[Sequence[int]]) -> list[int]:
    """How wide each column may be: of those that give way, the widest first, and a later group only when it has to."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lacking = excess(rows, room)
    for columns in giving_way:
        while lacking > 0 and any(widths[column] > LEAST for column in columns):
            widest = max(columns, key=lambda column: widths[column])
            widths[widest] -= 1
            lacking -= 1
    return widths
