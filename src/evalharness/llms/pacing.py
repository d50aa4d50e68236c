"""How many requests may be under way at once to one server with one key: as many as it bears.

It starts low and grows with every reply, as TCP does; it halves when the server says that it is too much; and while
the server says "not before", nobody asks at all. It sends nothing and knows nothing of what is sent.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

FIRST_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, handed in so that an outage of five minutes can be lived through in less."""

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class Pace:
    def __init__(self, ceiling: int, clock: Clock) -> None:
        self.was_answered = False
        """Whether the server has ever said anything at all."""
        self.succeeded_at = -math.inf
        self._clock = clock
        self._ceiling = float(ceiling)
        self._limit = float(min(FIRST_LIMIT, ceiling))
        self._doubles_below = self._ceiling
        self._halved_at = -math.inf
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._shut_until = -math.inf
        self._reopening: asyncio.Task[None] | None = None

    @property
    def limit(self) -> int:
        return int(self._limit)

    @asynccontextmanager
    async def turn(self, *, again: bool) -> AsyncIterator[float]:
        """One request: first come, first served, but those go before all others who have been refused once.

        Gives the time at which it may be sent: now.
        """
        ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if again:
            self._waiting.appendleft(ticket)
        else:
            self._waiting.append(ticket)
        self._admit()
        try:
            await ticket
        except asyncio.CancelledError:
            if not ticket.cancelled():  # admitted in the very moment of being cancelled
                self._leave()
            raise
        try:
            yield self._clock.now()
        finally:
            self._leave()

    def succeeded(self) -> None:
        self.succeeded_at = self._clock.now()
        grown = self._limit + (1.0 if self._limit < self._doubles_below else 1.0 / self._limit)
        self._limit = min(self._ceiling, grown)

    def overloaded(self, sent_at: float) -> None:
        """Halves the limit, but once for all requests that were on their way together: they met the same moment."""
        if sent_at < self._halved_at:
            return
        self._limit = self._doubles_below = max(1.0, self._limit / 2)
        self._halved_at = self._clock.now()

    def shut_for(self, wait_s: float) -> None:
        """Nobody asks until then; what is under way is not called back."""
        self._shut_until = max(self._shut_until, self._clock.now() + wait_s)
        if self._reopening is None:
            self._reopening = asyncio.create_task(self._reopen())

    def close(self) -> None:
        if self._reopening is not None:
            self._reopening.cancel()

    async def _reopen(self) -> None:
        while (left_s := self._shut_until - self._clock.now()) > 0:
            await self._clock.sleep(left_s)
        self._reopening = None
        self._admit()

    def _leave(self) -> None:
        self._under_way -= 1
        self._admit()

    def _admit(self) -> None:
        if self._reopening is not None:
            return
        while self._waiting and self._under_way < self.limit:
            ticket = self._waiting.popleft()
            if not ticket.cancelled():
                self._under_way += 1
                ticket.set_result(None)
