"""What Markdown reports are made of: tables, lists, marks of verdicts. Cells and lines are Markdown already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evalharness.reports.terminal.screen import MARKS
from evalharness.reports.terminal.verdict import STATES

MOST_ROWS = 40
MOST_NOTES = 10
SENTENCE = 600
"""Characters of what the harness concludes."""
NAMED = 5
"""Cases, suites or runs that are named of many."""


def marked(verdict: str) -> str:
    return f"{MARKS[STATES.get(verdict, 'awaiting')][0]} {verdict}"


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, most: int = MOST_ROWS, total: int | None = None
) -> list[str]:
    """`total` is how many rows there are, where not all are given."""
    number = len(rows) if total is None else total
    more = [f"and {number - most:,} more", ""] if number > most else []
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows[:most])]
    return [*lines, "", *more]


def listed(lines: Iterable[str], most: int) -> list[str]:
    found = list(lines)
    more = [f"- and {len(found) - most:,} more"] if len(found) > most else []
    return [*found[:most], *more, ""] if found else []


def size(lines: Iterable[str]) -> int:
    """Characters, with line ends."""
    return sum(len(line) + 1 for line in lines)


def text_of(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip("\n") + "\n"
