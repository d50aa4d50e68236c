"""The table of a run's cases: some of its rows, what was asked of them, and where the others are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType

from evalharness.domain.plain_numbers import count
from evalharness.reports.pages.case_rows import CaseRow

ORDERS: Mapping[str, str] = MappingProxyType(
    {
        "": "as in the suite",
        "id": "by id",
        "-id": "by id, last first",
        "rate": "fewest passed first",
        "-rate": "most passed first",
        "score": "lowest score first",
        "-score": "highest score first",
        "cost": "cheapest first",
        "-cost": "most expensive first",
        "latency": "fastest first",
        "-latency": "slowest first",
    }
)
"""In words, by what the address says."""
PHONE_ORDERS = ("", "rate", "score", "-latency")
"""Those that are offered where the table has no heads to click on."""


@dataclass(frozen=True, slots=True)
class TableQuery:
    """What a reader asks of the table; it is in the address of the page. `show` is all or failed: not passed."""

    q: str = ""
    show: str = "all"
    category: str = ""
    tag: str = ""
    sort: str = ""

    def as_fields(self) -> dict[str, str]:
        """Without what goes without saying."""
        return {name: value for name, value in asdict(self).items() if value and (name, value) != ("show", "all")}

    def next_order(self, name: str) -> str:
        """What a click on a head sorts by: up, down, and as in the suite again."""
        return {name: f"-{name}", f"-{name}": ""}.get(self.sort, name)

    def direction(self, name: str) -> str:
        return {name: "ascending", f"-{name}": "descending"}.get(self.sort, "none")

    @property
    def orders(self) -> dict[str, str]:
        return {name: ORDERS[name] for name in dict.fromkeys((*PHONE_ORDERS, self.sort)) if name in ORDERS}


@dataclass(frozen=True, slots=True)
class CaseTable:
    run: str
    rows: Sequence[CaseRow]
    found: int
    """Cases that match."""
    total: int
    has_costs: bool
    categories: Sequence[str]
    tags: Sequence[str]
    query: TableQuery = TableQuery()
    unlisted: int = 0
    """Cases that a file has no room for."""
    before: str = ""
    """The address of the rows before these; so is `after` of those behind. A file has all of them itself."""
    after: str = ""

    @property
    def count(self) -> str:
        if self.found == self.total:
            return count(self.total, "case")
        return f"{self.found:,} of {count(self.total, 'case')}"
