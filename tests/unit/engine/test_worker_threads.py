"""Sync functions on threads: results, limits, and threads that never return."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import traceback
import weakref
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest

from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import TargetUnavailable

T = TypeVar("T")
LIMIT_S = 0.2
LONG_S = 30.0


@asynccontextmanager
async def pool(size: int) -> AsyncIterator[tuple[Offloader, threading.Event]]:
    """A pool, and the event that hanging calls wait for; it is set at the end, so no test leaves threads behind."""
    offloader, release = Offloader(size), threading.Event()
    try:
        yield offloader, release
    finally:
        release.set()
        offloader.close()


async def give_up(call: Coroutine[Any, Any, Any]) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(LIMIT_S):
            await call


def within_long(work: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(LONG_S):
            return await work

    return asyncio.run(limited())


def test_arguments_go_in_and_the_result_comes_out_of_another_thread() -> None:
    def function(a: int, *, b: int) -> tuple[int, int]:
        return a + b, threading.get_ident()

    async def work() -> tuple[int, int]:
        async with pool(1) as (offloader, _):
            result: tuple[int, int] = await offloader(function, 2, b=3)
            return result

    total, thread = within_long(work())
    assert total == 5
    assert thread != threading.get_ident()


def test_an_exception_comes_out_with_its_traceback() -> None:
    def function() -> None:
        raise ValueError("no idea")

    async def work() -> None:
        async with pool(1) as (offloader, _):
            await offloader(function)

    with pytest.raises(ValueError, match="no idea") as raised:
        within_long(work())
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "function"


@pytest.mark.parametrize(
    "error", [SystemExit(3), StopIteration(4), KeyboardInterrupt(), asyncio.CancelledError()], ids=repr
)
def test_exceptions_that_steer_python_come_out_as_ordinary_ones(error: BaseException) -> None:
    def function() -> None:
        raise error

    async def work() -> None:
        async with pool(1) as (offloader, _):
            await offloader(function)

    with pytest.raises(RuntimeError, match=type(error).__name__) as raised:
        within_long(work())
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "function"


def test_as_many_calls_run_at_once_as_the_pool_is_large() -> None:
    async def work() -> int:
        meeting = threading.Barrier(3)
        async with pool(3) as (offloader, _):
            await asyncio.gather(*(offloader(meeting.wait, LONG_S) for _ in range(9)))
            return sum(thread.name.startswith("evalharness-") for thread in threading.enumerate())

    assert within_long(work()) >= 3


@pytest.mark.parametrize("instant", [0, 3, 5, 8, 15])
def test_long_calls_behind_instant_ones_run_at_once_all_the_same(instant: int) -> None:
    async def main() -> None:
        async with pool(10) as (offloader, _):
            together = threading.Barrier(3, timeout=LONG_S)
            calls = [offloader(int) for _ in range(instant)] + [offloader(together.wait) for _ in range(3)]
            results = await asyncio.gather(*calls)
            assert sorted(results[instant:]) == [0, 1, 2], "all three have met"

    asyncio.run(main())


def test_no_more_calls_run_at_once_than_the_pool_is_large() -> None:
    running = most = 0
    lock = threading.Lock()

    def function() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    async def work() -> None:
        async with pool(2) as (offloader, _):
            await asyncio.gather(*(offloader(function) for _ in range(12)))

    within_long(work())
    assert most <= 2


def test_the_loop_goes_on_meanwhile() -> None:
    async def work() -> str:
        async with pool(1) as (offloader, release):
            waiting = asyncio.create_task(offloader(release.wait, LONG_S))
            await asyncio.sleep(0.01)
            release.set()
            return "ended" if await waiting else "gave up"

    assert within_long(work()) == "ended"


def test_a_call_given_up_has_its_thread_replaced() -> None:
    async def work() -> int:
        async with pool(1) as (offloader, release):
            await give_up(offloader(release.wait))
            result: int = await offloader(lambda: 4)
            return result

    assert within_long(work()) == 4


def test_those_who_wait_get_the_thread_that_replaces_a_lost_one() -> None:
    async def work() -> int:
        async with pool(1) as (offloader, release):
            lost = asyncio.create_task(give_up(offloader(release.wait)))
            await asyncio.sleep(0.01)
            result: int = await offloader(lambda: 4)
            await lost
            return result

    assert within_long(work()) == 4


def test_when_all_threads_are_lost_a_call_is_refused_at_once() -> None:
    async def work() -> None:
        async with pool(1) as (offloader, release):
            await give_up(offloader(release.wait))
            await give_up(offloader(release.wait))
            await offloader(lambda: 4)

    with pytest.raises(TargetUnavailable, match="2 of 2") as raised:
        within_long(work())
    assert "isolate: process" in raised.value.hint


def test_a_call_that_never_had_its_turn_says_so_when_it_is_given_up() -> None:
    async def work() -> None:
        async with pool(1) as (offloader, release):
            await give_up(offloader(release.wait))
            unchecked = asyncio.create_task(offloader(release.wait, LONG_S))
            await asyncio.sleep(0.05)
            try:
                async with asyncio.timeout(LIMIT_S):
                    await offloader(lambda: 4)
            finally:
                release.set()
                await unchecked

    with pytest.raises(TargetUnavailable, match="no thread is free"):
        within_long(work())


def test_threads_that_come_back_late_are_used_again() -> None:
    async def work() -> int:
        async with pool(1) as (offloader, release):
            await give_up(offloader(release.wait))
            await give_up(offloader(release.wait))
            release.set()
            while True:
                try:
                    result: int = await offloader(lambda: 4)
                    return result
                except TargetUnavailable:
                    await asyncio.sleep(0.01)

    assert within_long(work()) == 4


async def all_meet(offloader: Offloader, size: int) -> bool:
    """Whether this many threads can be in use at once."""
    meeting = threading.Barrier(size)

    async def come() -> bool:
        try:
            await offloader(meeting.wait, LONG_S)
            return True
        except TargetUnavailable:
            meeting.abort()
            return False
        except threading.BrokenBarrierError:
            return False

    return all(await asyncio.gather(*(come() for _ in range(size))))


def test_calls_given_up_at_the_very_moment_they_end_do_not_upset_the_count() -> None:
    async def hasty(offloader: Offloader) -> None:
        try:
            async with asyncio.timeout(0.001):
                await offloader(time.sleep, 0.001)
        except (TimeoutError, TargetUnavailable):
            pass

    async def work() -> None:
        async with pool(4) as (offloader, _):
            for _ in range(50):
                await asyncio.gather(*(hasty(offloader) for _ in range(4)))
            while not await all_meet(offloader, 4):  # some are still returning
                await asyncio.sleep(0.01)

    within_long(work())


def test_idle_threads_keep_no_result_alive() -> None:
    class Large:
        pass

    async def work() -> None:
        async with pool(1) as (offloader, _):
            large = await offloader(Large)
            seen = weakref.ref(large)
            del large
            while seen() is not None:
                gc.collect()
                await asyncio.sleep(0.01)

    within_long(work())


def test_closing_ends_the_threads() -> None:
    async def work() -> list[threading.Thread]:
        before = set(threading.enumerate())
        async with pool(3) as (offloader, _):
            meeting = threading.Barrier(3)
            await asyncio.gather(*(offloader(meeting.wait, LONG_S) for _ in range(3)))
            started = set(threading.enumerate()) - before
            return [thread for thread in started if thread.name.startswith("evalharness-")]

    started = within_long(work())
    assert len(started) == 3
    assert all(thread.daemon for thread in started)
    for thread in started:
        thread.join(LONG_S)
        assert not thread.is_alive()


def test_a_result_that_comes_after_the_loop_has_ended_is_dropped_in_silence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    others = set(threading.enumerate())  # other tests leave threads behind that never end
    release = threading.Event()
    ended = threading.Event()

    def function() -> None:
        release.wait()
        ended.set()

    async def work() -> None:
        offloader = Offloader(1)
        await give_up(offloader(function))
        offloader.close()

    asyncio.run(work())
    release.set()
    assert ended.wait(LONG_S)
    for thread in set(threading.enumerate()) - others:
        thread.join(LONG_S)
        assert not thread.is_alive()
    sys.stderr.flush()
    assert capsys.readouterr().err == ""
