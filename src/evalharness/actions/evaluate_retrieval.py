"""Evaluate retrieval: the figures of one query, without a run."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.contracts.context import Context
from evalharness.formats.task_suites.records import RetrievalResult
from evalharness.steps.measure_retrieval import measure_retrieval
from evalharness.values.json_value import Json


async def evaluate_retrieval(
    context: Context, query: str, retrieved: Sequence[Json] | None, expected: Json, k: int | None
) -> RetrievalResult:
    """Nothing is stored."""
    del context
    return measure_retrieval(query, retrieved, expected, k)
