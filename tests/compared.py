"""Reports to compare, built from the few values that a test gives: cases with their trials and passes."""

from __future__ import annotations

from typing import Any

from evalharness.domain.case_result import CaseResult
from evalharness.domain.report import Report, RunMetadata, RunSummary


def case(case_id: str, trials: int, passed: int, **more: Any) -> CaseResult:
    """A case with the usual question and graders, and the score that follows from its passes."""
    given = {"key": "same", "score": passed / trials if trials else None} | more
    return CaseResult(case_id=case_id, trials=trials, passed=passed, **given)


def report(*cases: CaseResult, name: str = "quiet-sparrow-023", verdict: Any = "PASSED", **more: Any) -> Report:
    told = {"suite_name": "checkout", "run_id": f"id-of-{name}", "timestamp": "2026-01-19T10:00:00Z"} | more
    metadata = RunMetadata(run_name=name, **told)
    return Report(metadata=metadata, verdict=verdict, exit_code=0, why="why", summary=RunSummary(), cases=cases)


def alike(number: int, trials: int, passed: int, first: int = 0, **more: Any) -> list[CaseResult]:
    """This many cases with the same result."""
    return [case(f"c{n}", trials, passed, **more) for n in range(first, first + number)]


def airline(**more: Any) -> Report:
    """tau-bench, gpt-4o, airline: 50 tasks × 4 trials, of which 14, 12, 10, 4, 10 tasks have 0, 1, 2, 3, 4 passes."""
    passes = [passed for passed, tasks in enumerate((14, 12, 10, 4, 10)) for _ in range(tasks)]
    return report(*(case(f"task {n}", 4, passed) for n, passed in enumerate(passes)), **more)
