"""The budget: what the models and targets of a run together may spend. The driver implements it."""

from __future__ import annotations

from typing import Protocol

from evalharness.domain.grade import Judging


class Budget(Protocol):
    max_cost_usd: float | None
    max_tokens: int | None

    @property
    def is_used_up(self) -> bool: ...

    async def begin(self, model: str, cost_usd: float = 0.0, tokens: int = 0) -> None:
        """Called before every call, with its maximum. It may wait; raises what `check` raises."""
        ...

    def check(self) -> None:
        """Raises SpendCapReached if nothing more may be spent."""
        ...

    def end(self, model: str, cost_usd: float | None = 0.0, tokens: int = 0, *, broken_off: bool = False) -> None:
        """Called after every call that was begun; the cost is None if the price is unknown.

        `broken_off`: the call ended without waiting for the reply.
        """
        ...

    def charge(
        self, cost_usd: float | None, tokens: int, model: str | None = None, *, broken_off: bool = False
    ) -> None:
        """Charge what was spent outside of `end`; `model` is set for a call under way."""
        ...

    async def begin_trial(self, *, is_metered: bool = False) -> None:
        """Called before every trial. `is_metered`: its calls are metered one by one; others report at their end."""
        ...

    def end_trial(self, cost_usd: float | None, tokens: int, *, is_metered: bool = False) -> None: ...

    def add_check(self, check: Judging) -> None:
        """Add the cost of testing a judge, which belongs to no trial."""
        ...
