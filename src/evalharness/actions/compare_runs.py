"""Compare runs: one with others, whether they are stored here or reports in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evalharness.contracts.context import Context
from evalharness.domain.comparison import Comparison
from evalharness.steps.compare_reports import compare_reports, with_gates
from evalharness.steps.find_reports import find_reports


async def compare_runs(
    context: Context, references: Sequence[str], asked: Mapping[str, Any] | None = None, suite_name: str | None = None
) -> list[Comparison]:
    """The first of these with each of the others, case by case: runs, baselines or files with a JSON report.

    `suite_name` says whose baselines are meant; `asked` are fields of the rule that win over those of a run's gate.
    """
    first, *others = find_reports(references, context.store, suite_name)
    new = with_gates((other.alone for other in others), context.store)
    return compare_reports(first, new, asked or {}, context.store, context.today)
