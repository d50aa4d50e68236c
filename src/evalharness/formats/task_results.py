"""The records of what became of a task suite: checks, results, the summary of a run, and how a score changed."""

from __future__ import annotations

from pydantic import Field

from evalharness.domain.report import CaseState
from evalharness.formats.task_records import TaskRecord


class CheckDetail(TaskRecord):
    """One thing that was checked, with what was expected and what was found."""

    check: str
    passed: bool
    expected: str = ""
    actual: str = ""


class ResponseScore(TaskRecord):
    passed: bool
    score: float
    details: tuple[CheckDetail, ...]


class EvalResult(TaskRecord):
    """One task, over all its trials: the mean score, sums of time, tokens and cost, the checks of the last trial.

    `score` is None where the task was judged, and nobody scored it.
    """

    task_id: str
    task_category: str
    passed: bool
    score: float | None
    duration_ms: float
    tokens_used: int = 0
    cost_usd: float = 0.0
    tool_calls_made: int = 0
    error: str | None = None
    details: tuple[CheckDetail, ...] = ()
    state: CaseState


class CategorySummary(TaskRecord):
    passed: int
    failed: int
    avg_score: float | None


class EvalRunSummary(TaskRecord):
    """`failed` counts wrong answers, `unjudged` what could not be judged; with `passed` they make the total."""

    run_id: str
    run_name: str
    suite_name: str
    timestamp: str
    total_tasks: int
    passed: int
    failed: int
    unjudged: int
    total_duration_ms: float
    total_cost_usd: float
    per_category: dict[str, CategorySummary] = Field(default_factory=dict)
    results: tuple[EvalResult, ...] = ()


class ScoreChange(TaskRecord):
    """A positive `delta` is a degradation."""

    degraded: bool
    delta: float


class RegressionCheck(TaskRecord):
    """A positive `delta` is a degradation."""

    task_id: str
    previous_score: float
    current_score: float
    degraded: bool
    delta: float
