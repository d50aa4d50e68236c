"""The pace: it grows with replies, halves once for requests that ran together, and pauses everybody on request."""

from __future__ import annotations

import asyncio
import math

import pytest
from misbehaving_server import hurried

from evalharness.llms.faults import ProviderFault
from evalharness.llms.pace import FIRST_LIMIT, Clock, Pace

BUSY = ProviderFault("HTTP 429", 429)


def never() -> float:
    return math.inf


class Standing:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 0.0

    def clock(self) -> Clock:
        return Clock(now=lambda: self.time)


def test_it_starts_at_the_first_limit_and_doubles_in_every_round_up_to_the_ceiling() -> None:
    pace = Pace(4 * FIRST_LIMIT, Clock())
    assert pace.limit == FIRST_LIMIT
    for _ in range(FIRST_LIMIT):
        pace.succeeded()
    assert pace.limit == 2 * FIRST_LIMIT
    for _ in range(2 * FIRST_LIMIT):
        pace.succeeded()
    assert pace.limit == 4 * FIRST_LIMIT


def test_a_low_ceiling_applies_from_the_start() -> None:
    assert Pace(3, Clock()).limit == 3


def test_requests_refused_together_halve_the_limit_once() -> None:
    standing = Standing()
    pace = Pace(FIRST_LIMIT, standing.clock())
    standing.time = 5.0
    for _ in range(10):
        pace.overloaded(sent_at=1.0)
    assert pace.limit == FIRST_LIMIT // 2
    standing.time = 9.0
    pace.overloaded(sent_at=6.0)
    assert pace.limit == FIRST_LIMIT // 4


def test_it_never_falls_below_one_and_grows_slowly_after_a_refusal() -> None:
    standing = Standing()
    pace = Pace(100, standing.clock())
    for sent_at in range(20):
        standing.time = sent_at + 0.5
        pace.overloaded(sent_at)
    assert pace.limit == 1
    for _ in range(10):
        pace.succeeded()
    assert 2 <= pace.limit <= 5


async def test_who_was_refused_goes_before_those_who_wait() -> None:
    order: list[str] = []

    async def take(pace: Pace, name: str, again: bool) -> None:
        async with pace.turn(never, again=again):
            order.append(name)

    pace = Pace(1, Clock())
    async with pace.turn(never, again=False):
        names = [("first", False), ("second", False), ("refused before", True)]
        waiting = []
        for name, again in names:
            waiting.append(asyncio.create_task(take(pace, name, again)))
            await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert order == ["refused before", "first", "second"]


async def test_a_longer_wait_reported_later_applies() -> None:
    clock = hurried(100)

    pace = Pace(10, clock)
    began = clock.now()
    for wait_s in (5, 60, 1):
        pace.shut_for(wait_s, BUSY)
    async with pace.turn(never, again=False) as admitted_at:
        found = admitted_at - began
    assert found >= 60


async def test_turns_are_returned_by_those_who_fail_or_are_cancelled() -> None:
    async with asyncio.timeout(10):
        pace = Pace(1, Clock())
        with pytest.raises(ZeroDivisionError):
            async with pace.turn(never, again=False):
                raise ZeroDivisionError
        async with pace.turn(never, again=False):
            tasks = [asyncio.create_task(pace.turn(never, again=False).__aenter__()) for _ in range(3)]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        async with pace.turn(never, again=False):
            pass


async def test_who_is_cancelled_in_the_moment_of_being_admitted_gives_the_turn_back() -> None:
    async with asyncio.timeout(10):
        pace = Pace(1, Clock())
        context = pace.turn(never, again=False)
        await context.__aenter__()
        waiting = asyncio.create_task(pace.turn(never, again=False).__aenter__())
        await asyncio.sleep(0)
        await context.__aexit__(None, None, None)
        waiting.cancel()
        [ended] = await asyncio.gather(waiting, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError)
        async with pace.turn(never, again=False):
            pass


async def test_a_call_that_cannot_wait_so_long_fails_at_once_before_and_after_the_server_said_so() -> None:
    standing = Standing()
    told: list[tuple[str, ProviderFault | None]] = []

    async def take(pace: Pace, name: str, gives_up_at: float) -> None:
        async with pace.turn(lambda: gives_up_at, again=False):
            told.append((name, pace.shut_by))

    pace = Pace(1, standing.clock())
    async with pace.turn(never, again=False):
        waiting = [asyncio.create_task(take(pace, name, at)) for name, at in (("patient", 900.0), ("early", 30.0))]
        await asyncio.sleep(0)
        pace.shut_for(600, BUSY)
        waiting.append(asyncio.create_task(take(pace, "late", 30.0)))
        await asyncio.wait_for(asyncio.gather(*waiting[1:]), 10)
    waiting[0].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    pace.close()
    assert told == [("early", BUSY), ("late", BUSY)]
