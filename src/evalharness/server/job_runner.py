"""The jobs of a server: starts, adopts, watches, cancels and resumes the processes of runs."""

from __future__ import annotations

from evalharness.harness import Harness


class JobRunner:
    """One for each server."""

    def __init__(self, harness: Harness, store: str, limit: int) -> None:
        self._harness = harness
        self._store = store
        self._limit = limit
