"""Budget: what the models of a run have cost so far, and whether they may cost more. One for the whole run.

The judge draws on it like the target. Near the cap no more is begun than will probably fit: each call of a model is
taken to cost as much as its dearest before it, and as much as its own length and limit say. The first one goes alone,
since nobody knows yet what it costs, and each reply lets one more go at once, since it may have been a cheap one: what
is under way is no more than what is known already. Trials begin in the same way: one that has begun should not have to
wait for its calls, since its time is limited.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from evalharness.domain.finding import Finding, finding
from evalharness.domain.grade import Judging
from evalharness.domain.plain_numbers import spent_of
from evalharness.errors import SpendCapReached


@dataclass(slots=True)
class _Lane:
    """Things of one kind that cost: how many are under way, what the dearest of them took, and who waits to begin."""

    under_way: int = 0
    known: int = 0
    """How many have ended, or shown otherwise what they cost."""
    cost_usd: float = 0.0
    tokens: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def learn(self, cost_usd: float, tokens: int) -> None:
        self.cost_usd, self.tokens = max(self.cost_usd, cost_usd), max(self.tokens, tokens)

    def hear(self, cost_usd: float | None, tokens: int) -> None:
        self.known += 1
        self.learn(cost_usd or 0.0, tokens)


@dataclass(slots=True)
class RunBudget:
    """Implements `contracts.Budget`. `kept` gets every new sum of a capped run, so that it outlives this process."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    cost_usd: float = 0.0
    tokens: int = 0
    unpriced: int = 0
    """What was charged without a price: a cap in dollars cannot count it."""
    broken_off: int = 0
    """Calls whose reply nobody waited for: no more than a guess of their input was charged."""
    checks: list[Judging] = field(default_factory=list)
    """What it took to try out judges: part of the sums, and of no trial."""
    kept: Callable[[float, int], None] | None = None
    _calls: dict[str, _Lane] = field(default_factory=lambda: defaultdict(_Lane))
    _trials: _Lane = field(default_factory=_Lane)
    _metered_trials: _Lane = field(default_factory=_Lane)

    @property
    def is_capped(self) -> bool:
        return self.max_cost_usd is not None or self.max_tokens is not None

    @property
    def is_used_up(self) -> bool:
        return not self._leaves_room()

    async def begin(self, model: str, cost_usd: float = 0.0, tokens: int = 0) -> None:
        """A call of a model. It never waits for a trial, which may be waiting for it."""
        lane = self._calls[model]
        lane.learn(cost_usd, tokens)
        await self._begin(lane)

    def check(self) -> None:
        if self.is_used_up:
            raise SpendCapReached(spent_of(**self._spent))

    def end(self, model: str, cost_usd: float | None = 0.0, tokens: int = 0, *, broken_off: bool = False) -> None:
        self._calls[model].under_way -= 1
        self._calls[model].hear(cost_usd, tokens)
        self.charge(cost_usd, tokens, broken_off=broken_off)
        self._admit()

    async def begin_trial(self, *, is_metered: bool = False) -> None:
        """The calls of a target that is not metered go past this budget: it tells at its end what they cost."""
        await self._begin(self._metered_trials if is_metered else self._trials)

    def end_trial(self, cost_usd: float | None, tokens: int, *, is_metered: bool = False) -> None:
        lane = self._metered_trials if is_metered else self._trials
        lane.under_way -= 1
        lane.hear(cost_usd, tokens)
        if not is_metered:
            self.charge(cost_usd, tokens)
        self._admit()

    def charge(
        self, cost_usd: float | None, tokens: int, model: str | None = None, *, broken_off: bool = False
    ) -> None:
        self.broken_off += broken_off
        self.cost_usd += cost_usd or 0.0
        self.tokens += tokens
        self.unpriced += cost_usd is None
        if self.kept is not None:
            self.kept(self.cost_usd, self.tokens)
        if model is not None:
            for lane in (self._calls[model], self._metered_trials):  # nobody need wait until its trial gives up
                lane.hear(cost_usd, tokens)
            self._admit()

    def add_check(self, check: Judging) -> None:
        self.checks.append(check)

    async def _begin(self, lane: _Lane) -> None:
        """First come, first served. Nobody waits where nothing is capped."""
        if not self.is_capped:
            lane.under_way += 1
            return
        ticket = asyncio.get_running_loop().create_future()
        lane.waiting.append(ticket)
        self._admit()
        try:
            await ticket
            self.check()
        except (asyncio.CancelledError, SpendCapReached):
            if not ticket.cancelled():  # else it was cancelled before it was admitted
                lane.under_way -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        """Only who may begin is woken: all others would but look, and wait again."""
        if not self.is_capped:
            return
        calls = tuple(self._calls.values())
        for lane in (*calls, self._trials, self._metered_trials):
            # What metered trials cost is what their calls cost.
            beside = (lane,) if lane is self._metered_trials else (*calls, lane) if lane is self._trials else calls
            while lane.waiting and self._may_begin(lane, beside):
                ticket = lane.waiting.popleft()
                if not ticket.cancelled():
                    lane.under_way += 1
                    ticket.set_result(None)

    def _may_begin(self, lane: _Lane, beside: Iterable[_Lane]) -> bool:
        if self.is_used_up:  # then only to be reported so
            return True
        if not any(other.under_way for other in beside):
            return True
        return lane.under_way <= lane.known and self._leaves_room(*beside)

    def _leaves_room(self, *lanes: _Lane) -> bool:
        """Once all that is under way there has cost what it may cost."""
        cost_usd = self.cost_usd + sum(lane.under_way * lane.cost_usd for lane in lanes)
        tokens = self.tokens + sum(lane.under_way * lane.tokens for lane in lanes)
        if self.max_cost_usd is not None and cost_usd >= self.max_cost_usd:
            return False
        return self.max_tokens is None or tokens < self.max_tokens

    @property
    def notes(self) -> Iterator[Finding]:
        """What a reader of a capped run's report must know."""
        yield finding("spending.spent", **self._spent)
        if self.unpriced and self.max_cost_usd is not None:
            yield finding("spending.unpriced", "warning", answers=self.unpriced)
        if self.broken_off:
            yield finding("spending.broken_off", "warning", requests=self.broken_off)

    @property
    def _spent(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("cost_usd", "max_cost_usd", "tokens", "max_tokens")}
