"""What capped runs have spent, kept while they spend it: a cap that was reached stays reached, whatever ends a process.

The trials themselves tell less: what a trial cost that was never finished stands in no row of theirs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from evalharness.stores.sqlite import Database
from evalharness.stores.writing import GroupWriter

_KEEP = (
    "INSERT INTO spending (purse, cost_usd, tokens) VALUES (?, ?, ?) "
    "ON CONFLICT (purse) DO UPDATE SET cost_usd = excluded.cost_usd, tokens = excluded.tokens"
)
_FORGET = "DELETE FROM spending WHERE purse NOT IN (SELECT id FROM runs UNION SELECT matrix_id FROM runs)"


class StoredSpending:
    """By purse: the id of a run, or of all runs that one command started."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = GroupWriter(self._commit)

    def keep(self, purse: str, cost_usd: float, tokens: int) -> None:
        self._writer.put((purse, cost_usd, tokens))

    def read(self, purse: str) -> tuple[float, int]:
        self._writer.flush()
        rows = self._database.read("SELECT cost_usd, tokens FROM spending WHERE purse = ?", (purse,))
        return (rows[0][0], rows[0][1]) if rows else (0.0, 0)

    def close(self) -> None:
        self._writer.close()

    def _commit(self, group: Sequence[tuple[str, float, int]]) -> None:
        """Of several sums of one purse the last counts."""
        sums = {purse: (purse, cost_usd, tokens) for purse, cost_usd, tokens in group}
        with self._database.transaction() as connection:
            connection.executemany(_KEEP, list(sums.values()))


def delete_unused(connection: sqlite3.Connection) -> None:
    """What was spent by runs that are all removed."""
    connection.execute(_FORGET)
