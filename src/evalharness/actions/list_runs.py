"""List the runs in the store."""

from __future__ import annotations

from evalharness.contracts.context import Context
from evalharness.domain.stored import RunLine


async def list_runs(context: Context, limit: int) -> list[RunLine]:
    """Newest first."""
    return context.store.list_runs(limit)
