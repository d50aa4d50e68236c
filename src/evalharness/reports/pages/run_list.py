"""Runs in a table, as the home page and the list of runs show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from evalharness.domain.plain_numbers import count
from evalharness.domain.stored import RunLine
from evalharness.reports.terminal.runs import STATES, age, line_rate


@dataclass(frozen=True, slots=True)
class RunRow:
    id: str
    name: str
    suite: str
    state: str
    verdict: str
    rate: str
    cases: str
    target: str
    when: str
    started: str


@dataclass(frozen=True, slots=True)
class RunsPage:
    runs: list[RunRow]
    suites: list[str]
    suite: str
    """The one whose runs are listed; empty for all."""
    count: str
    before: str
    """The address of newer runs; so is `after` of older ones."""
    after: str


def run_rows(lines: Iterable[RunLine], now: datetime, running: frozenset[str] = frozenset()) -> list[RunRow]:
    """`running` are the ids of those that are under way."""
    listed = list(lines)
    names = {line.id: line.name for line in listed}
    return [_row(line, names, now, is_running=line.id in running) for line in listed]


def _row(line: RunLine, names: dict[str, str], now: datetime, *, is_running: bool) -> RunRow:
    return RunRow(
        id=line.id,
        name=line.name,
        suite=line.suite_name,
        state="pending" if is_running else STATES.get(line.verdict, "awaiting"),
        verdict="running" if is_running else line.verdict or "unfinished",
        rate=line_rate(line),
        cases="" if line.cases is None else count(line.cases, "case"),
        target=line.asked(names),
        when=age(line.created_at, now),
        started=line.created_at,
    )
