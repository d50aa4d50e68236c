"""Measure retrieval: what was retrieved for one query compared with what was expected, by rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from evalharness.errors import UsageError
from evalharness.formats.task_suites.records import RetrievalResult
from evalharness.graders.retrieved_documents import Comparison, Match, gains_of
from evalharness.values.json_value import Json


def measure_retrieval(
    query: str,
    retrieved: Sequence[Json] | None = None,
    expected: Json = None,
    k: int | None = None,
    *,
    field: str = "",
    match: Match = "exact",
) -> RetrievalResult:
    """Raises UsageError for a query that is empty or not text, and for anything that cannot be compared."""
    if not isinstance(query, str) or not query.strip():
        raise UsageError(f"the query must be text that is not empty, not {query!r:.80}")
    documents = () if retrieved is None else retrieved
    if not isinstance(documents, list | tuple):
        raise UsageError(f"the retrieved documents must be a list, best first, not {retrieved!r:.80}")
    if k is not None and (not isinstance(k, int) or isinstance(k, bool) or k < 1):
        raise UsageError(f"k must be a whole number of at least 1, or None for all places, not {k!r:.80}")
    if match not in get_args(Match):
        raise UsageError(f"match must be one of {', '.join(get_args(Match))}, not {match!r:.80}")
    if expected is None:
        return RetrievalResult(query=query, retrieved_count=len(documents), k=k)
    try:
        comparison = Comparison(gains_of(expected), field, match)
    except ValueError as error:
        raise UsageError(f"expected {error}") from None
    ranks = comparison.ranks(documents)
    found = comparison.figures(ranks, len(documents), k)
    hits = {"hit_at_1": bool(found.hit_at_1), "hit_at_k": bool(found.hit_at_k)}
    return RetrievalResult(query=query, retrieved_count=len(documents), k=k, ranks=ranks, **found._asdict() | hits)
