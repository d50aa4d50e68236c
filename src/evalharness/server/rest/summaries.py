"""From what the actions say of runs to the summaries of the API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from evalharness.actions.list_results import TaskResult
from evalharness.actions.show_overview import RunProgress
from evalharness.domain.case_line import CaseLine, CaseTally
from evalharness.domain.job import Job
from evalharness.domain.trial import Outcome
from evalharness.server.rest.records import Case, Category, Check, Result, Summary, Trial


def summary_of(progress: RunProgress, results: Sequence[TaskResult] = ()) -> Summary:
    found, line, report = progress.run, progress.run.line, progress.run.report
    states: Counter[str] = Counter()
    for each in found.tallies:
        states[each.state] += each.cases
    is_known = report is not None and found.is_current
    return Summary(
        id=line.id,
        name=line.name,
        suite_name=line.suite_name,
        target=line.variant,
        timestamp=line.created_at,
        state=state_of(progress),
        verdict=line.verdict if is_known else "",
        total_tasks=states.total(),
        passed=states["passed"],
        failed=states["failed"],
        errors=states["error"],
        skipped=states["skipped"],
        awaiting=states["awaiting"],
        pending=states["pending"],
        total_duration_ms=round(1000 * found.elapsed_s, 3),
        total_cost_usd=report.cost_usd if report and is_known else None,
        pass_rate=report.summary.pass_rate if report and is_known else None,
        per_category=categories_of(found.tallies),
        matrix_id=found.matrix_id,
        trials=line.counts,
        planned_trials=line.planned,
        change=found.last_change,
        results=list(map(result_of, results)),
    )


def state_of(progress: RunProgress) -> str:
    line, job = progress.run.line, progress.job
    if job is not None and job.is_active:
        return job.state
    if line.finished_at:
        return "finished"
    return job.state if job is not None and job.state in ("cancelled", "interrupted") else "unfinished"


def queued_summary(job: Job) -> Summary:
    """Of a run that its process has not stored yet, or that could not be started."""
    return Summary(
        id=job.run_id,
        name="",
        suite_name=job.suite,
        target=job.request.target if job.request else "",
        timestamp=job.queued_at,
        state="not_started" if job.state == "ended" else job.state,
        verdict="",
        total_tasks=0,
        passed=0,
        failed=0,
        errors=0,
        skipped=0,
        awaiting=0,
        pending=0,
        total_duration_ms=0.0,
        total_cost_usd=None,
        pass_rate=None,
        per_category={},
        matrix_id=job.run_id,
        trials={},
        planned_trials=0,
        change=0,
        results=[],
    )


def categories_of(tallies: Iterable[CaseTally]) -> dict[str, Category]:
    """`avgScore` is the mean over cases that were judged."""
    found: dict[str, list[CaseTally]] = {}
    for each in tallies:
        found.setdefault(each.category, []).append(each)
    return {name: _category(some) for name, some in found.items()}


def _category(tallies: Sequence[CaseTally]) -> Category:
    judged = [each for each in tallies if each.state in ("passed", "failed")]
    scored = sum(each.scored for each in judged)
    return Category(
        passed=sum(each.cases for each in judged if each.state == "passed"),
        failed=sum(each.cases for each in judged if each.state == "failed"),
        avg_score=sum(each.score_sum for each in judged) / scored if scored else None,
    )


def result_of(result: TaskResult) -> Result:
    line = result.line
    return Result(
        task_id=line.case_id,
        task_category=line.category,
        passed=line.state == "passed",
        score=line.score,
        duration_ms=None if result.duration_s is None else round(1000 * result.duration_s, 3),
        tokens_used=line.tokens,
        cost_usd=line.spent_usd,
        tool_calls_made=line.tool_calls,
        error=result.error,
        details=[
            Check(check=each.check, passed=each.passed, expected=each.expected, actual=each.actual)
            for each in result.details
        ],
        state=line.state,
    )


def case_of(line: CaseLine) -> Case:
    return Case(
        id=line.case_id,
        position=line.position,
        name=line.name,
        category=line.category,
        tags=list(line.tags),
        state=line.state,
        is_flaky=line.is_flaky,
        marks=line.marks,
        trials=line.trials,
        passed=line.passed,
        graded=line.graded,
        score=line.score,
        latency_s=line.latency_s,
        cost_usd=line.cost_usd,
    )


def trial_of(outcome: Outcome) -> Trial:
    return Trial(
        case_id=outcome.case_id,
        index=outcome.trial_index,
        state=outcome.state,
        first_state=outcome.first_state,
        score=outcome.score,
        reason=outcome.reason,
        duration_ms=round(1000 * outcome.duration_s, 3),
        cost_usd=outcome.cost_usd,
        input_tokens=outcome.input_tokens,
        output_tokens=outcome.output_tokens,
    )
