"""Check whether a process is running a run, whoever started it."""

from __future__ import annotations

from evalharness.contracts.context import Context
from evalharness.errors import RunBusy


async def is_under_way(context: Context, run_id: str) -> bool:
    try:
        with context.store.claim(context.store.part_of(run_id)):
            return False
    except RunBusy:
        return True
