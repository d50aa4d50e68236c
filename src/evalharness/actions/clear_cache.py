"""The cache of judges' verdicts: how much it holds, and forgetting all of them or those older than an age."""

from __future__ import annotations

from evalharness.contracts.context import Context
from evalharness.domain.stored import CacheLine
from evalharness.steps.parse_age import moment_before


async def judge_cache_line(context: Context) -> CacheLine:
    return context.store.judge_cache.line()


async def clear_judge_cache(context: Context, older_than: str | None) -> int:
    """Returns how many."""
    before = "" if older_than is None else moment_before(older_than, context.clock())
    return context.store.judge_cache.remove(before)
