"""Runs as lines of a list: what `runs` shows without opening each one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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


class RunLink(NamedTuple):
    """As much of a run as says which it is, and which others were started together with it."""

    id: str
    name: str
    matrix_id: str
    is_finished: bool


def read_links(database: Database, suite_name: str, since: str) -> list[RunLink]:
    """Newest first, without regrades: they try nothing anew."""
    rows = database.read(
        "SELECT id, name, matrix_id, finished_at IS NOT NULL FROM runs WHERE suite_name = ? AND regrade_of = '' "
        "AND seq > COALESCE((SELECT seq FROM runs WHERE id = ?), 0) ORDER BY seq DESC",
        (suite_name, since),
    )
    return [RunLink(run_id, name, matrix_id, bool(finished)) for run_id, name, matrix_id, finished in rows]
