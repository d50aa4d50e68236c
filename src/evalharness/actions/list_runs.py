"""List the runs in the store."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from evalharness.contracts.context import Context
from evalharness.domain.stored import RunLine
from evalharness.errors import UnknownName


class RunList(NamedTuple):
    """Newest first; `total` counts those beyond the limit, too."""

    lines: list[RunLine]
    total: int
    now: datetime


async def list_runs(context: Context, limit: int, suite_name: str | None = None, before: str = "") -> RunList:
    """`before` is a run: only older ones. Raises UnknownName where other suites have runs, and this one has none."""
    store = context.store
    known = store.suite_names() if suite_name is not None else []
    if known and suite_name not in known:
        raise UnknownName("suite", str(suite_name), known)
    return RunList(store.list_runs(limit, suite_name, before), store.count_runs(suite_name), context.clock())
