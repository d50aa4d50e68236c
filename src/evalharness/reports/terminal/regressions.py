"""What `regressions` prints: each comparison, then the tasks whose score fell or rose, and what decides."""

from __future__ import annotations

from collections.abc import Iterator

from evalharness.domain.comparison import Comparison, Regressions, TaskChange
from evalharness.domain.plain_numbers import count
from evalharness.domain.reported_run import Verbosity
from evalharness.errors import UsageError
from evalharness.reports.terminal.comparison import COLOURS as VERDICT_COLOURS
from evalharness.reports.terminal.comparison import ComparisonReport
from evalharness.reports.terminal.screen import Screen
from evalharness.reports.words.say import say

COLOURS = {**VERDICT_COLOURS, "FAILED": "red", "INVALID": "magenta"}
SHOWN, MORE_SHOWN = 3, 10
"""Tasks of each kind, and for those who ask for more."""


class RegressionsReport:
    """`verbosity` as in a `ComparisonReport`."""

    def __init__(self, screen: Screen, store: str | None, verbosity: Verbosity = 0) -> None:
        self._screen = screen
        self._comparisons = ComparisonReport(screen, store, verbosity)
        self._is_brief = verbosity < 0
        self._is_verbose = verbosity > 0

    def show(self, found: Regressions) -> None:
        """What decides comes first, whatever the verdict of a comparison is: lost cases, or a threshold."""
        deciding = list(_deciding(found))
        for verdict, why in deciding:
            self._screen.entry([(verdict, f"bold {COLOURS[verdict]}"), "   "], why)
        if self._is_brief and deciding:
            return
        if deciding:
            self._screen.say()
        scores = [("scores", line) for line in _task_lines(found, in_full=self._is_verbose)]
        notes = [("note", say(note)) for note in found.notes]
        self._comparisons.show_all(found.comparisons, [*scores, *notes])
        if not found.comparisons:
            for label, text in (*scores, *notes):
                self._comparisons.line(label, text)


def _deciding(found: Regressions) -> Iterator[tuple[str, str]]:
    """What decides beside the verdict of a single comparison."""
    for comparison in found.comparisons:
        if comparison.lost:
            yield "FAILED", say(comparison.lost)
    if found.rule == "threshold" or found.verdict == "INVALID" or len(found.comparisons) > 1:
        yield found.verdict, f"{found.suite_name}: {_why(found)}"


def _task_lines(found: Regressions, *, in_full: bool) -> Iterator[str]:
    """A task that failed at the same score is reported as well: a score alone would hide it. Gains are for -v."""
    limit, shown = f"{found.threshold:g}", MORE_SHOWN if in_full else SHOWN
    kinds = (
        (f"fell by more than {limit}", [task for task in found.tasks if task.degraded]),
        (
            f"passed before and failed now, though no score fell by more than {limit}",
            [t for t in found.tasks if t.broken and not t.degraded],
        ),
        (f"rose by more than {limit}", [task for task in found.tasks if in_full and task.improved(found.threshold)]),
    )
    for what, tasks in kinds:
        if tasks:
            more = f", and {len(tasks) - shown:,} more" if len(tasks) > shown else ""
            listed = ", ".join(_task_line(task, with_variant=len(found.comparisons) > 1) for task in tasks[:shown])
            yield f"{count(len(tasks), 'case')} {what}: {listed}{more}"
    if in_full and found.tasks and not kinds[0][1]:
        yield f"no case fell by more than {limit}"


def _task_line(task: TaskChange, *, with_variant: bool) -> str:
    variant = f" on {task.variant}" if with_variant else ""
    before, now = ("–" if score is None else f"{score:.2f}" for score in (task.previous_score, task.current_score))
    return f"{task.task_id}{variant} {before} → {now}"


def _old_runs(comparison: Comparison) -> str:
    return ", ".join(run.run_name for run in comparison.before)


def _why(found: Regressions) -> str:
    if found.verdict == "INVALID" and found.exit_code == UsageError.exit_code:
        return "not every run could be compared"
    if found.verdict == "INVALID":
        return "the run broke, so nothing is known about the agent; finish it with: eval-harness resume"
    if found.rule == "threshold":
        degraded = sum(task.degraded for task in found.tasks)
        tasks = count(degraded, "case") if degraded else "no case"
        return f"{tasks} fell by more than {found.threshold:g} (--threshold decides, not the comparison below)"
    by_flips = found.rule == "flips"
    deciding = [each for each in found.comparisons if (each.lost if by_flips else each.verdict == found.verdict)]
    decisive = [each.new.variant or each.new.run_name for each in deciding]
    return f"{', '.join(decisive)} against {_old_runs(found.comparisons[0])}"
