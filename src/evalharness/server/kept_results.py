"""Results that take seconds to compute of large runs, kept for as long as nothing they were computed from has changed.

Runs that have come to a stop change seldom. What is kept is what is shown, never the runs themselves: it is small.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, TypeVar

from evalharness.harness import Harness

Result = TypeVar("Result")
MOST_KEPT = 16
MOST_AT_ONCE = 3
"""How many are computed at the same time: each may take hundreds of megabytes."""


class KeptResults:
    """May be shared by threads. What several ask for at the same time is computed once."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._computing = [threading.Lock() for _ in range(MOST_AT_ONCE)]

    def get(self, key: Hashable, revision: Hashable, compute: Callable[[], Result]) -> Result:
        """`revision` stands for all that may change and that the result depends on, as it was read before.

        None: that changes all the time, so nothing is kept.
        """
        found = self._find(key, revision)
        if found is None:
            with self._computing[hash(key) % MOST_AT_ONCE]:
                found = self._find(key, revision) or self._keep(key, revision, compute())
        result: Result = found[0]
        return result

    def _find(self, key: Hashable, revision: Hashable) -> tuple[Any] | None:
        with self._lock:
            if revision is None or key not in self._kept or self._kept[key][0] != revision:
                return None
            self._kept.move_to_end(key)
            return (self._kept[key][1],)

    def _keep(self, key: Hashable, revision: Hashable, result: Any) -> tuple[Any]:
        if revision is not None:
            with self._lock:
                self._kept[key] = (revision, result)
                self._kept.move_to_end(key)
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
        return (result,)


def revision_of(harness: Harness, suites: Iterable[str], run_ids: Collection[str] = ()) -> Hashable:
    """Of what is said of all runs of these suites; None where trials of one of `run_ids` are still being written."""
    store = harness.context.store
    runs = [run for suite in sorted(set(suites)) for run in store.revisions(suite)]
    if not all(run.is_current for run in runs if run.id in run_ids):
        return None
    return (*runs, *store.baselines(), harness.context.today)
