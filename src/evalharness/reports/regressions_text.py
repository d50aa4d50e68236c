"""What `regressions` prints: each comparison, then the tasks whose score fell or rose, and what decides."""

from __future__ import annotations

from collections.abc import Iterator

from evalharness.domain.comparison import Comparison, Regressions, TaskChange
from evalharness.domain.plain_numbers import count
from evalharness.errors import UsageError
from evalharness.reports.comparison_text import ComparisonReport
from evalharness.reports.screen import Screen
from evalharness.reports.words import say

SHOWN = 10
"""Tasks of each kind."""


class RegressionsReport:
    def __init__(self, screen: Screen, store: str | None) -> None:
        self._screen = screen
        self._comparisons = ComparisonReport(screen, store)

    def show(self, found: Regressions) -> None:
        """What decides comes first, whatever the verdict of a comparison is: lost cases, or a threshold."""
        lost = [note for note in found.notes if note.code == "gate.flips" and note.severity == "error"]
        for note in lost:
            self._screen.say()
            self._screen.say(("FAILED", "bold red"), f"  flips: {say(note)}")
        if found.rule == "threshold":
            self._screen.say()
            self._verdict(found)
        for comparison in found.comparisons:
            self._comparisons.show(comparison)
        for line in _task_lines(found):
            self._screen.line("scores", line)
        for note in found.notes:
            if note not in lost:
                self._screen.line("note", say(note))
        if found.rule != "threshold" and (found.verdict == "INVALID" or len(found.comparisons) > 1):
            self._verdict(found)

    def _verdict(self, found: Regressions) -> None:
        self._screen.say((found.verdict, "bold"), f"  {found.suite_name}: {_why(found)}")


def _task_lines(found: Regressions) -> Iterator[str]:
    """A task that failed at the same score is reported as well: a score alone would hide it."""
    limit = f"{found.threshold:g}"
    kinds = (
        (f"fell by more than {limit}", [task for task in found.tasks if task.degraded]),
        (
            f"passed before and failed now, though no score fell by more than {limit}",
            [t for t in found.tasks if t.broken and not t.degraded],
        ),
        (f"rose by more than {limit}", [task for task in found.tasks if task.improved(found.threshold)]),
    )
    for what, tasks in kinds:
        if tasks:
            more = f", and {len(tasks) - SHOWN:,} more" if len(tasks) > SHOWN else ""
            listed = ", ".join(_task_line(task, with_variant=len(found.comparisons) > 1) for task in tasks[:SHOWN])
            yield f"{count(len(tasks), 'task')} {what}: {listed}{more}"
    if found.tasks and not kinds[0][1]:
        yield f"no task fell by more than {limit}"


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
        return "a run that broke says nothing about the agent; repair it with resume"
    if found.rule == "threshold":
        degraded = sum(task.degraded for task in found.tasks)
        tasks = count(degraded, "task") if degraded else "no task"
        return f"{tasks} fell by more than {found.threshold:g} (--threshold decides, not the comparison below)"
    decisive = [each.new.variant or each.new.run_name for each in found.comparisons if each.verdict == found.verdict]
    return f"{', '.join(decisive)} against {_old_runs(found.comparisons[0])}"
