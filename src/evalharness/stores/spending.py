"""What budgets have paid, written while it is spent."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.stores import statements
from evalharness.stores.sqlite import Database
from evalharness.stores.writing import GroupWriter


class Spending:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._writer = GroupWriter(self._commit)

    def record(self, budget_id: str, cost_usd: float, tokens: int) -> None:
        self._writer.put((budget_id, cost_usd, tokens))

    def of(self, budget_id: str) -> tuple[float, int]:
        self._writer.flush()
        for cost_usd, tokens in self._database.read(statements.SPENT, (budget_id,)):
            return cost_usd, tokens
        return 0.0, 0

    def close(self) -> None:
        self._writer.close()

    def _commit(self, group: Sequence[tuple[str, float, int]]) -> None:
        """Of several sums of one budget the last counts."""
        sums = {budget_id: (budget_id, cost_usd, tokens) for budget_id, cost_usd, tokens in group}
        with self._database.transaction() as connection:
            connection.executemany(statements.RECORD_SPENT, list(sums.values()))
