"""A trend as Markdown: a table of runs with drawn intervals, what moved, and each case over the runs.

Pictures inside Markdown are shown by hardly any viewer, so everything here is text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from evalharness.domain.reported_run import Presentation
from evalharness.domain.trend import TargetTrend, Trend, TrendRun
from evalharness.reports.markdown_text import MarkdownText
from evalharness.reports.terminal.screen import MARKS
from evalharness.reports.terminal.trend_lines import (
    NOT_ASKED,
    always_passed_text,
    bars,
    by_trouble,
    drawn_rate,
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

MARKDOWN_BEGINNING = "<!-- eval-harness trend -->"
MOST_RUNS = 60
MOST_CASES = 40
MOST_MOMENTS = 40


def write_markdown_trend(trend: Trend, stream: IO[str], presentation: Presentation) -> None:
    lines = [MARKDOWN_BEGINNING, *_Writer(presentation).trend(trend)]
    stream.write("\n".join(lines).rstrip("\n") + "\n")


class _Writer:
    def __init__(self, presentation: Presentation) -> None:
        self._text = MarkdownText(presentation.redact)
        self._command, self._store = presentation.command, presentation.store

    def trend(self, trend: Trend) -> Iterator[str]:
        yield from (f"## Trend: {self._text.inline(trend.suite_name)}", "")
        if not trend.targets:
            yield f"No runs yet. Start one: {self._text.code(f'{self._command} run SUITE')}"
            return
        yield from (runs_text(trend), "")
        for target in trend.targets:
            yield from self._target(target)
        for label, command in next_commands(trend, self._command, self._store):
            yield f"- {label}: {self._text.code(command)}"

    def _target(self, target: TargetTrend) -> Iterator[str]:
        yield from (f"### {self._text.inline(target.target or 'no name')}", "")
        yield from (f"Pass rate: {self._text.inline(now_text(target))}", "")
        for label, text in moved_lines(target):
            yield f"- {label}: {self._text.inline(text)}"
        for figure in small_figures(target):
            yield f"- {figure.label}: `{bars(figure.values)}` {moved_figure(figure)}"
        yield from ("", "| Run | Pass rate | 0–100 % | Started | |", "|---|---|---|---|---|")
        for run in target.runs[-MOST_RUNS:]:
            yield self._run(run)
        yield ""
        yield from self._cases(target)

    def _run(self, run: TrendRun) -> str:
        drawn = drawn_rate(run)
        mark, _ = MARKS[state_of(run)]
        cells = (
            f"{mark} {self._text.cell(run.run_name)}",
            rate_of(run),
            f"`{drawn}`" if drawn else "",
            run.started_at.partition("T")[0],
            ", ".join(self._text.cell(note) for note in notes_of(run)),
        )
        return f"| {' | '.join(cells)} |"

    def _cases(self, target: TargetTrend) -> Iterator[str]:
        troubled = by_trouble(target.cases)
        if troubled:
            yield from ("| Case | Oldest to newest run |", "|---|---|")
            for case in troubled[:MOST_CASES]:
                marks = "".join(MARKS.get(each, (NOT_ASKED, "dim"))[0] for each in case.moments[-MOST_MOMENTS:])
                yield f"| {self._text.cell(case.case_id)} | `{marks}` |"
            yield ""
        if len(troubled) > MOST_CASES:
            yield from (f"{len(troubled) - MOST_CASES:,} more did not always pass.", "")
        if text := always_passed_text(target.cases):
            yield from (f"{text}.", "")
