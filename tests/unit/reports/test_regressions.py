"""The text of regressions: tasks by how their scores changed, also if a score is unknown."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from evalharness.domain.comparison import Regressions, TaskChange
from evalharness.domain.finding import Finding
from evalharness.reports.terminal.regressions import RegressionsReport
from evalharness.reports.terminal.screen import Screen


def shown(*tasks: TaskChange) -> str:
    console = Console(file=io.StringIO(), width=400)
    found = Regressions(
        suite_name="s",
        verdict="REGRESSION",
        exit_code=1,
        comparisons=(),
        threshold=0.1,
        tasks=tasks,
        notes=(Finding.model_validate("told"),),
    )
    RegressionsReport(Screen(console), None).show(found)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("previous", "current", "told"),
    [(0.8, 0.8, "0.80 → 0.80"), (0.8, None, "0.80 → –"), (None, 0.5, "– → 0.50"), (None, None, "– → –")],
)
def test_a_task_that_fails_now_is_reported_with_or_without_its_scores(
    previous: float | None, current: float | None, told: str
) -> None:
    task = TaskChange(
        task_id="t",
        previous_score=previous,
        current_score=current,
        degraded=False,
        delta=None,
        previous_state="passed",
        current_state="failed",
    )
    lines = [line.rstrip() for line in shown(task).splitlines()]
    assert f"scores   1 case passed before and failed now, though no score fell by more than 0.1: t {told}" in lines
    assert "note     told" in lines
