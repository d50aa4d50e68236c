"""Runs as lines of a list: what `runs` shows without opening each one."""

from __future__ import annotations

from dataclasses import dataclass

from evalharness.stores.sqlite import Database


@dataclass(frozen=True, slots=True)
class RunLine:
    id: str
    name: str
    suite_name: str
    created_at: str
    finished_at: str | None
    planned: int
    regrade_of: str
    counts: dict[str, int]

    @property
    def pending(self) -> int:
        return self.planned - sum(self.counts.values())


def read_run_lines(database: Database, limit: int) -> list[RunLine]:
    """Newest first."""
    rows = database.read(
        "SELECT seq, id, name, suite_name, created_at, finished_at, planned, regrade_of FROM runs "
        "ORDER BY seq DESC LIMIT ?",
        (limit,),
    )
    states = "SELECT state, COUNT(*) FROM trials WHERE run_seq = ? GROUP BY state"
    return [RunLine(*(*about, dict(database.read(states, (seq,))))) for seq, *about in rows]
