"""What budgets have paid. Written in groups, like trials."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.stores import statements
from evalharness.stores.sqlite import Database
from evalharness.stores.writing import GroupWriter


class Spending:
    """Shared by all views of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sums = GroupWriter(self._commit)
        self.close = self._sums.close

    def record(self, budget_id: str, cost_usd: float, tokens: int) -> None:
        self._sums.put((budget_id, cost_usd, tokens))

    def spent(self, budget_id: str) -> tuple[float, int]:
        self._sums.flush()
        for cost_usd, tokens in self._database.read(statements.SPENT, (budget_id,)):
            return cost_usd, tokens
        return 0.0, 0

    def _commit(self, group: Sequence[tuple[str, float, int]]) -> None:
        """Of several sums of one budget the last counts."""
        sums = {budget_id: (budget_id, cost_usd, tokens) for budget_id, cost_usd, tokens in group}
        with self._database.transaction() as connection:
            connection.executemany(statements.RECORD_SPENT, list(sums.values()))
