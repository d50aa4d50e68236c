"""Collect stored runs, trials or grades as flat rows, for data frames."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from evalharness.actions.list_runs import list_runs
from evalharness.actions.write_report import find_reported
from evalharness.contracts.context import Context
from evalharness.contracts.store import Store
from evalharness.domain.case import as_text
from evalharness.domain.stored import RunLine
from evalharness.reports.table_rows import TABLES, Row, What
from evalharness.steps.find_reports import report_of
from evalharness.values.json_value import Json

TEXTS = ("output", "evidence")
"""Columns whose values are of any kind: in a frame all of them are texts."""


async def run_rows(context: Context, suite: str | None = None, limit: int | None = None) -> list[Row]:
    """One row per run, newest first, with its metrics as columns."""
    return [_run_row(line, context.store) for line in await _lines(context, suite, limit)]


async def table_rows(
    context: Context, runs: Sequence[str], what: What, suite: str | None = None, limit: int | None = None
) -> list[Row]:
    """Of these runs; without any, of all runs of a suite, or of the store."""
    names = runs or [line.id for line in await _lines(context, suite, limit)]
    rows = TABLES[what].rows(await find_reported(context, names))
    return [{name: _text(value) if name in TEXTS else value for name, value in row.items()} for row in rows]


async def _lines(context: Context, suite: str | None, limit: int | None) -> list[RunLine]:
    most = context.store.count_runs(suite) if limit is None else limit
    return (await list_runs(context, most, suite)).lines


def _text(value: Json) -> str | None:
    return None if value is None else as_text(value)


def _run_row(line: RunLine, store: Store) -> Row:
    report = report_of(store.outline(line.id), store)
    summary, rate = report.summary, report.measurements.get("pass_rate")
    return {
        "run_id": line.id,
        "run_name": line.name,
        "suite_name": line.suite_name,
        "variant": line.variant,
        "created_at": datetime.fromisoformat(line.created_at),
        "regrade_of": line.regrade_of,
        "mode": line.mode,
        "verdict": report.verdict,
        "cases": summary.total_evals,
        "trials_per_case": report.metadata.trials_per_case,
        "passed": summary.passed,
        "failed": summary.failed,
        "errors": summary.errors,
        "skipped": summary.skipped,
        "awaiting": summary.awaiting,
        "pending": summary.pending,
        "duration_s": report.metadata.duration_seconds,
        "cost_usd": report.cost_usd,
        "input_tokens": report.input_tokens,
        "output_tokens": report.output_tokens,
        "pass_rate": summary.pass_rate,
        "pass_rate_low": rate.low if rate else None,
        "pass_rate_high": rate.high if rate else None,
        **{name: value for name, value in report.metrics.items() if name != "pass_rate"},
    }
