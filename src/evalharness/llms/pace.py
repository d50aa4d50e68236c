"""How many requests may be under way at once to one server with one key: as many as it can take.

It starts low and grows with every reply, as TCP does, so that it doubles in each round; it halves when the server says
that it is too much; and while the server says "not before", nobody asks at all, and who cannot wait so long is reported
at once. It sends nothing and knows nothing of what is sent.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from evalharness.llms.faults import Fault

FIRST_LIMIT = 50


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, handed in so that an outage of five minutes can be lived through in less."""

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class _Ticket(NamedTuple):
    admitted: asyncio.Future[None]
    gives_up_at: Callable[[], float]


class Pace:
    def __init__(self, ceiling: int, clock: Clock) -> None:
        self.was_answered = False
        """Whether the server has ever said anything at all."""
        self.succeeded_at = -math.inf
        self.line = Line()
        self._clock = clock
        self._ceiling = float(ceiling)
        self._limit = float(min(FIRST_LIMIT, ceiling))
        self._doubles_below = self._ceiling
        self._halved_at = -math.inf
        self._under_way = 0
        self._waiting: deque[_Ticket] = deque()
        self._shut_until = -math.inf
        self._shut_by: Fault | None = None
        self._reopening: asyncio.Task[None] | None = None

    @property
    def limit(self) -> int:
        return int(self._limit)

    @property
    def shut_by(self) -> Fault | None:
        """Why nobody may ask now; None where all may."""
        return self._shut_by if self._reopening is not None else None

    @property
    def opens_at(self) -> float:
        """When anybody may ask again; long ago where all may."""
        return self._shut_until if self._reopening is not None else -math.inf

    @asynccontextmanager
    async def turn(self, gives_up_at: Callable[[], float], *, again: bool) -> AsyncIterator[float]:
        """One request: first come, first served, but those go before all others who have been refused once.

        Gives the time at which it may be sent: now. Who gives up before anybody may ask (`shut_by`) comes at once.
        """
        ticket = _Ticket(asyncio.get_running_loop().create_future(), gives_up_at)
        if self._is_hopeless(ticket):
            self._let_in(ticket)
        elif again:
            self._waiting.appendleft(ticket)
        else:
            self._waiting.append(ticket)
        self._admit()
        try:
            await ticket.admitted
        except asyncio.CancelledError:
            if not ticket.admitted.cancelled():  # admitted in the very moment of being cancelled
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

    def shut_for(self, wait_s: float, why: Fault) -> None:
        """Nobody asks until then; what is under way is not called back."""
        until = self._clock.now() + wait_s
        if until <= self._shut_until:
            return  # whoever cannot wait so long has been reported
        self._shut_until, self._shut_by = until, why
        if self._reopening is None:
            self._reopening = asyncio.create_task(self._reopen())
        waiting, self._waiting = self._waiting, deque()
        for ticket in waiting:
            if self._is_hopeless(ticket):
                self._let_in(ticket)
            else:
                self._waiting.append(ticket)

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

    def _is_hopeless(self, ticket: _Ticket) -> bool:
        return ticket.gives_up_at() <= self.opens_at

    def _admit(self) -> None:
        while self._waiting and self._reopening is None and self._under_way < self.limit:
            self._let_in(self._waiting.popleft())

    def _let_in(self, ticket: _Ticket) -> None:
        if not ticket.admitted.cancelled():
            self._under_way += 1
            ticket.admitted.set_result(None)


# Who waits for a reply of one server with one key, in the order in which they asked.
#
# A server that takes one request after another is not silent to those in line: they wait for others. To the first of
# them it is, and a connection that hangs is soon the first one. It sends nothing, and gives nobody up.


class Line:
    def __init__(self) -> None:
        self._waiting: dict[object, None] = {}
        self._first_since = 0.0

    def join(self, who: object, now: float) -> None:
        if not self._waiting:
            self._first_since = now
        self._waiting[who] = None

    def leave(self, who: object, last_reply_at: float) -> None:
        """Whoever is first now has been waiting for a reply since the last one, to this or to another."""
        if self._is_first(who):
            self._first_since = last_reply_at
        del self._waiting[who]

    def silent_since(self, who: object, last_reply_at: float) -> float:
        """Since when the server lets it wait without a reply to anybody before it."""
        return self._first_since if self._is_first(who) else last_reply_at

    def _is_first(self, who: object) -> bool:
        return next(iter(self._waiting)) is who
