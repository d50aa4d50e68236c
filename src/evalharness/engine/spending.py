"""Spending: what the models of a run have cost so far, and whether they may cost more. One purse for the whole run.

The judge draws on it like the target. Near the cap no more is begun than will probably fit: each call is taken to cost
as much as the dearest before it, and the first one goes alone, since nobody knows yet what a call costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from evalharness.domain.plain_numbers import count
from evalharness.errors import SpendCapReached


@dataclass(slots=True)
class _Lane:
    """Things of one kind that cost: how many are under way, and what the dearest of them took."""

    under_way: int = 0
    cost_usd: float = 0.0
    tokens: int = 0
    is_known: bool = False

    def learn(self, cost_usd: float, tokens: int) -> None:
        self.cost_usd, self.tokens = max(self.cost_usd, cost_usd), max(self.tokens, tokens)
        self.is_known = True


@dataclass(slots=True)
class Spending:
    """Implements `contracts.Purse`. `kept` is told of every new sum, so that it outlives this process."""

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    cost_usd: float = 0.0
    tokens: int = 0
    unpriced: int = 0
    """What was charged without a price: a cap in dollars cannot count it."""
    kept: Callable[[float, int], None] | None = None
    _calls: _Lane = field(default_factory=_Lane)
    _trials: _Lane = field(default_factory=_Lane)
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def is_capped(self) -> bool:
        return self.max_cost_usd is not None or self.max_tokens is not None

    @property
    def is_used_up(self) -> bool:
        return not self._leaves_room()

    async def begin(self) -> None:
        """A call of a model. It never waits for a trial, which may be waiting for it."""
        await self._begin(self._calls, ())

    def end(self, cost_usd: float | None = 0.0, tokens: int = 0) -> None:
        """What it cost; nothing where it was broken off."""
        self._end(self._calls, cost_usd, tokens)

    async def begin_trial(self) -> None:
        """Of a target whose calls go past this purse, and which tells at its end what they cost."""
        await self._begin(self._trials, (self._calls,))

    def end_trial(self, cost_usd: float | None, tokens: int) -> None:
        self._end(self._trials, cost_usd, tokens)

    def charge(self, cost_usd: float | None, tokens: int) -> None:
        self.cost_usd += cost_usd or 0.0
        self.tokens += tokens
        self.unpriced += cost_usd is None
        if self.kept is not None and self.is_capped:
            self.kept(self.cost_usd, self.tokens)

    async def _begin(self, lane: _Lane, others: tuple[_Lane, ...]) -> None:
        while self.is_capped:
            if self.is_used_up:
                raise SpendCapReached(self.told)
            if lane.under_way == 0 or (lane.is_known and self._leaves_room(lane, *others)):
                break
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        lane.under_way += 1

    def _end(self, lane: _Lane, cost_usd: float | None, tokens: int) -> None:
        lane.under_way -= 1
        lane.learn(cost_usd or 0.0, tokens)
        self.charge(cost_usd, tokens)
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _leaves_room(self, *lanes: _Lane) -> bool:
        """Once all that is under way there has cost what it may cost."""
        cost_usd = self.cost_usd + sum(lane.under_way * lane.cost_usd for lane in lanes)
        tokens = self.tokens + sum(lane.under_way * lane.tokens for lane in lanes)
        if self.max_cost_usd is not None and cost_usd >= self.max_cost_usd:
            return False
        return self.max_tokens is None or tokens < self.max_tokens

    @property
    def notes(self) -> Iterator[str]:
        """What a reader of a capped run's report must know."""
        yield self.told
        if self.unpriced and self.max_cost_usd is not None:
            yield f"{count(self.unpriced, 'answer')} without a known cost, which the cap could not count"

    @property
    def told(self) -> str:
        caps = []
        if self.max_cost_usd is not None:
            caps.append(f"${self.cost_usd:.4f} of ${self.max_cost_usd:g}")
        if self.max_tokens is not None:
            caps.append(f"{self.tokens:,} of {count(self.max_tokens, 'token')}")
        return f"spent {' and '.join(caps)}"
