"""What `trend` prints: a line for each run with its interval, newest last; then what moved, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from evalharness.domain.trend import TargetTrend, Trend, TrendRun
from evalharness.reports.terminal.figures import SCALE
from evalharness.reports.terminal.runs import age
from evalharness.reports.terminal.screen import MARKS, Part, Screen, padded
from evalharness.reports.terminal.trend_lines import (
    NOT_ASKED,
    always_passed_text,
    bars,
    by_trouble,
    drawn_rate,
    first_command,
    moved_figure,
    moved_lines,
    next_commands,
    notes_of,
    now_text,
    rate_of,
    runs_text,
    small_figures,
    state_of,
)

SHOWN_CASES = 10
WIDEST_NAME = 24
MOST_MOMENTS = 40
"""Runs in the strip of a case, the newest ones."""


class TrendReport:
    def __init__(self, screen: Screen, store: str | None, now: datetime | None) -> None:
        """Without `now`, the day of each run in place of its age: that stays the same."""
        self._screen, self._store, self._now = screen, store, now

    def show(self, trend: Trend) -> None:
        self._screen.say((trend.suite_name, "bold"), f" · {runs_text(*trend.targets)}")
        for target in trend.targets:
            self._screen.say()
            self._target(target)
        self._screen.say()
        if trend.has_earlier:
            most = max(len(target.runs) for target in trend.targets)
            self._screen.say((f"earlier runs: --limit {2 * most}", "dim"))
        for label, command in next_commands(trend, self._screen.command, self._store):
            self._screen.say((label.ljust(9), "dim"), command)

    def show_nothing(self, trend: Trend, since: str) -> None:
        """Where no run is meant: what to do next."""
        if since:
            self._screen.say(f"no runs of {trend.source} since {since}; leave out --since to see all runs")
        else:
            start = first_command(trend, self._screen.command, self._store)
            self._screen.say(f"no runs of {trend.source} yet; start one: {start}")

    def _target(self, target: TargetTrend) -> None:
        self._screen.say((target.target or "no name", "bold"))
        names = [self._screen.cut(run.run_name, WIDEST_NAME) for run in target.runs]
        width = max(map(len, names))
        rates = [rate_of(run) for run in target.runs]
        for run, name, rate in zip(target.runs, names, rates, strict=True):
            self._run(run, padded(name, width), rate.ljust(max(map(len, rates))))
        self._screen.say()
        self._line("pass rate", now_text(target))
        for figure in small_figures(target):
            self._line(figure.label, f"{bars(figure.values)}  {moved_figure(figure)}")
        for label, text in moved_lines(target):
            self._line(label, text)
        self._cases(target)

    def _run(self, run: TrendRun, name: str, rate: str) -> None:
        when = run.started_at.partition("T")[0] if self._now is None else age(run.started_at, self._now)
        self._screen.say(MARKS[state_of(run)], f" {name}  {rate}  {drawn_rate(run).ljust(SCALE)}  {when}")
        for note in notes_of(run):
            self._screen.entry([" " * (len(name) + 4)], note)

    def _cases(self, target: TargetTrend) -> None:
        """A strip for each case that did not always pass, newest right."""
        troubled = by_trouble(target.cases)
        shown = troubled[:SHOWN_CASES]
        if len(target.runs) > 1 and shown:
            self._screen.say()
            names = [self._screen.cut(case.case_id, WIDEST_NAME) for case in shown]
            width = max(self._screen.width_of(name) for name in names)
            for case, name in zip(shown, names, strict=True):
                self._screen.say(f"  {padded(name, width)}  ", *_strip(case.moments[-MOST_MOMENTS:]))
            if len(troubled) > len(shown):
                more = f"  {len(troubled) - len(shown):,} more did not always pass; all of them: -o trend.html"
                self._screen.say((more, "dim"))
        if text := always_passed_text(target.cases):
            self._screen.say(MARKS["passed"], f" {text}")

    def _line(self, label: str, text: str) -> None:
        self._screen.labelled(label, text)


def _strip(moments: Sequence[str]) -> list[Part]:
    return [MARKS.get(moment, (NOT_ASKED, "dim")) for moment in moments]
