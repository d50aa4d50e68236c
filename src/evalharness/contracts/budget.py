"""The budget: what the models and targets of a run together may spend. The driver answers it."""

from __future__ import annotations

from typing import Protocol

from evalharness.domain.grade import Judging


class Budget(Protocol):
    max_cost_usd: float | None
    max_tokens: int | None

    @property
    def is_used_up(self) -> bool: ...

    async def begin(self, model: str, cost_usd: float = 0.0, tokens: int = 0) -> None:
        """Before every call, with what it may take. It may have to wait; raises what `check` raises."""
        ...

    def check(self) -> None:
        """Raises SpendCapReached when nothing may be spent any more."""
        ...

    def end(self, model: str, cost_usd: float | None = 0.0, tokens: int = 0, *, broken_off: bool = False) -> None:
        """After every call that was begun; None where no price is known. `broken_off`: no reply was waited for."""
        ...

    def charge(
        self, cost_usd: float | None, tokens: int, model: str | None = None, *, broken_off: bool = False
    ) -> None:
        """What was spent beside the ends of calls; for one that is under way, of which model."""
        ...

    async def begin_trial(self, *, is_metered: bool = False) -> None:
        """Before every trial. `is_metered`: its calls are begun and ended one by one; others report at their end."""
        ...

    def end_trial(self, cost_usd: float | None, tokens: int, *, is_metered: bool = False) -> None: ...

    def add_check(self, check: Judging) -> None:
        """What it took to try out a judge: part of the sums, and of no trial."""
        ...
