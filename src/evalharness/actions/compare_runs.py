"""Compare runs: one with others, whether they are stored here or reports in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalharness.contracts.context import Context
from evalharness.domain.comparison import THRESHOLD, Comparison, Regressions
from evalharness.domain.report import worst
from evalharness.domain.reported_run import ReportedComparison
from evalharness.steps.apply_gate import whole
from evalharness.steps.compare_reports import (
    BROKE,
    compare_reports,
    judge_comparisons,
    with_gates,
    with_lost_cases,
)
from evalharness.steps.find_reports import find_reports
from evalharness.steps.report_runs import reported_comparisons


async def compare_runs(
    context: Context, references: Sequence[str], asked: Mapping[str, Any] | None = None, suite_name: str | None = None
) -> list[Comparison]:
    """The first of these with each of the others, case by case: runs, baselines or files with a JSON report.

    `suite_name` says whose baselines are meant; `asked` are fields of the rule that win over those of a run's gate.
    """
    first, *others = find_reports(references, context.store, suite_name)
    new = with_gates((other.alone for other in others), context.store)
    return compare_reports(first, new, asked or {}, context.store, context.today)


async def report_comparisons(context: Context, comparisons: Sequence[Comparison]) -> list[ReportedComparison]:
    """For reporters: with the runs that the store has."""
    return reported_comparisons(comparisons, context.store)


async def judge_runs(
    context: Context, references: Sequence[str], asked: Mapping[str, Any], suite_name: str | None = None
) -> Regressions:
    """The same, with what a check for regressions would say of them; `tasks` is left empty."""
    store = context.store
    first, *others = find_reports(references, store, suite_name)
    new = with_gates((other.alone for other in others), store)
    compared = compare_reports(whole(first), new, asked, store, context.today)
    judged = [with_lost_cases(each, *run, asked, store) for each, run in zip(compared, new, strict=True)]
    verdict, codes = judge_comparisons(judged, new)
    broken = [BROKE for found, _ in new if found.report.is_broken]
    return Regressions(
        suite_name=new[0][0].report.metadata.suite_name,
        verdict="INVALID" if broken else verdict,
        exit_code=worst([*codes, *broken]),
        rule="flips" if verdict == "FAILED" else "comparison",
        comparisons=tuple(judged),
        threshold=THRESHOLD,
    )
