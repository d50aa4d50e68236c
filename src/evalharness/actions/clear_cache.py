"""Clear the cache: verdicts of judges are forgotten, all or those older than an age."""

from __future__ import annotations

from evalharness.actions.open_store import open_store
from evalharness.actions.prune_store import moment_before


def clear_judge_cache(older_than: str | None, store: str | None) -> int:
    """Returns how many."""
    before = "" if older_than is None else moment_before(older_than)
    with open_store(store, to_read=True) as opened:
        return opened.judge_cache.remove(before)
