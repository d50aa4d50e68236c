"""Limits the number of concurrent requests to one server with one key to what the server can handle.

The limit starts at 1,000, or at its ceiling if that is lower, and grows with every reply, as in TCP, so that it doubles
in each round. It halves when the server reports an overload. While the server asks clients to wait, nothing is sent,
and calls that cannot wait that long fail at once. This module sends nothing itself.
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

from evalharness.llms.faults import ProviderFault

FIRST_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as a parameter, so that tests can simulate an outage of five minutes."""

    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


class _Ticket(NamedTuple):
    admitted: asyncio.Future[None]
    gives_up_at: Callable[[], float]


class Pace:
    def __init__(self, ceiling: int, clock: Clock) -> None:
        self.was_answered = False
        """Whether the server has ever answered."""
        self.succeeded_at = -math.inf
        self.line = WaitingLine()
        self._clock = clock
        self._ceiling = float(ceiling)
        self._limit = float(min(FIRST_LIMIT, ceiling))
        self._doubles_below = self._ceiling
        self._halved_at = -math.inf
        self._under_way = 0
        self._waiting: deque[_Ticket] = deque()
        self._shut_until = -math.inf
        self._shut_by: ProviderFault | None = None
        self._reopening: asyncio.Task[None] | None = None

    @property
    def limit(self) -> int:
        return int(self._limit)

    @property
    def shut_by(self) -> ProviderFault | None:
        """Why no requests may be sent now; None if they may."""
        return self._shut_by if self._reopening is not None else None

    @property
    def opens_at(self) -> float:
        """When requests may be sent again; in the past if they may be sent now."""
        return self._shut_until if self._reopening is not None else -math.inf

    @asynccontextmanager
    async def turn(self, gives_up_at: Callable[[], float], *, again: bool) -> AsyncIterator[float]:
        """Wait for the turn of one request: first come, first served, but retries go before all others.

        Yields the time at which the request may be sent, which is now. A request that would give up before the server
        opens again (`shut_by`) is admitted at once, so that it can fail.
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
            if not ticket.admitted.cancelled():  # admitted just before being cancelled
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
        """Halve the limit, but only once for all requests that were sent before the last halving."""
        if sent_at < self._halved_at:
            return
        self._limit = self._doubles_below = max(1.0, self._limit / 2)
        self._halved_at = self._clock.now()

    def shut_for(self, wait_s: float, why: ProviderFault) -> None:
        """Send no requests for `wait_s` seconds; requests under way continue."""
        until = self._clock.now() + wait_s
        if until <= self._shut_until:
            return  # calls that cannot wait that long have already failed
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


# The requests that wait for a reply from one server with one key, in the order in which they were sent.
#
# A server that handles one request at a time is silent to the first request in line only; the others wait for those
# before them. A connection that hangs soon becomes the first. This class sends nothing and cancels nothing.


class WaitingLine:
    def __init__(self) -> None:
        self._waiting: dict[object, None] = {}
        self._first_since = 0.0

    def join(self, who: object, now: float) -> None:
        if not self._waiting:
            self._first_since = now
        self._waiting[who] = None

    def leave(self, who: object, last_reply_at: float) -> None:
        """Remove a request; the one that is first now has been waiting since the last reply to any request."""
        if self._is_first(who):
            self._first_since = last_reply_at
        del self._waiting[who]

    def silent_since(self, who: object, last_reply_at: float) -> float:
        """Since when this request has been waiting without a reply to any request before it."""
        return self._first_since if self._is_first(who) else last_reply_at

    def _is_first(self, who: object) -> bool:
        return next(iter(self._waiting)) is who
