"""Worker threads: users' sync functions on daemon threads, so that they cannot block the loop or the exit.

Threads pull calls from one queue and hand results back in groups: waking the loop once per group instead of once per
call is what keeps the cost of a call far below `asyncio.to_thread`. A call that is given up (its awaiter was
cancelled at the time limit) keeps its thread; the pool replaces that thread, up to twice its size in all.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, Literal

from evalharness.errors import TargetUnavailable

GROW_AFTER_S = 0.002


class _Call:
    """`state` is changed under the pool's lock: a call is either begun by a thread or given up, never half of each."""

    __slots__ = ("arguments", "context", "function", "future", "keywords", "state")

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.context = copy_context()  # the thread knows whose trial it works for
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.state: Literal["waiting", "running", "given up", "lost"] = "waiting"


class Offloader:
    """`await offloader(function, *args)`. `size` calls run at once."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._done: deque[tuple[_Call, Any, BaseException | None]] = deque()
        self._waking = False
        self._lock = threading.Lock()
        self._threads = 0
        self._lost = 0
        self._busy = 0
        self._finished = 0
        self._grows = False

    async def __call__(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        call = _Call(function, arguments, keywords)
        self._busy += 1
        try:
            self._ensure_thread()
            if self._threads == self._lost:
                raise self._exhausted()
            self._calls.put(call)
            return await call.future
        except asyncio.CancelledError:
            if self._give_up(call) == "waiting" and self._lost:
                raise self._exhausted() from None  # it never had its turn
            raise
        finally:
            self._busy -= 1
            if call.state == "lost":
                self._ensure_thread()  # for those who still wait

    def close(self) -> None:
        """Let idle threads go; those stuck in a function are daemons and end with the process."""
        for _ in range(self._threads):
            self._calls.put(None)

    def _ensure_thread(self) -> None:
        """One thread at once; more only for calls that still wait after a moment: threads with little to do fight."""
        if self._threads - self._lost >= min(self._busy, self._size) or self._threads >= 2 * self._size:
            return
        if self._threads == self._lost:
            self._start_thread()
        elif not self._grows:
            self._grows = True
            asyncio.get_running_loop().call_later(GROW_AFTER_S, self._grow, self._finished)

    def _grow(self, finished_before: int) -> None:
        self._grows = False
        waiting = self._calls.qsize()
        if self._finished - finished_before < waiting:  # else whoever waits now was not waiting then
            room = min(self._size + self._lost, 2 * self._size) - self._threads
            for _ in range(min(waiting, room)):
                self._start_thread()
        elif waiting:
            self._ensure_thread()  # nobody else will look after them if the next call is a long one

    def _start_thread(self) -> None:
        loop = asyncio.get_running_loop()
        name = f"evalharness-{self._threads + 1}"
        with suppress(RuntimeError):  # the system allows no more threads: those there are must do
            threading.Thread(target=self._work, args=(loop,), name=name, daemon=True).start()
            self._threads += 1

    def _exhausted(self) -> TargetUnavailable:
        return TargetUnavailable(
            f"no thread is free: {self._lost} of {self._threads} are blocked by calls that exceeded their time limit",
            hint="use `isolate: process`, which can end a call",
        )

    def _give_up(self, call: _Call) -> str:
        """What had become of the call; one that is running keeps its thread until it returns by itself."""
        with self._lock:
            before = call.state
            if before == "waiting":
                call.state = "given up"
            elif before == "running" and call.future.cancelled():
                call.state = "lost"
                self._lost += 1
        return before

    def _begin(self, call: _Call) -> bool:
        with self._lock:
            if call.state != "waiting":
                return False
            call.state = "running"
        return True

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while (call := self._calls.get()) is not None:
            if not self._begin(call):
                continue
            result, error = None, None
            try:
                result = call.context.run(call.function, *call.arguments, **call.keywords)
            except BaseException as raised:  # noqa: BLE001 - carried to the awaiter, who decides
                error = raised
            self._done.append((call, result, error))
            del call, result, error  # while it waits for the next call, the thread keeps nothing alive
            with self._lock:
                wake, self._waking = not self._waking, True
            if wake:
                with suppress(RuntimeError):  # the loop has ended; nobody waits any more
                    loop.call_soon_threadsafe(self._hand_back)

    def _hand_back(self) -> None:
        with self._lock:
            self._waking = False
        while self._done:
            call, result, error = self._done.popleft()
            self._finished += 1
            if call.state == "lost":
                self._lost -= 1  # late, but the thread is free again
            elif call.future.cancelled():
                call.state = "given up"  # finished in the very moment in which it was given up
            elif error is not None:
                call.future.set_exception(_carried(error))
            else:
                call.future.set_result(result)


def _carried(error: BaseException) -> BaseException:
    """The exception as it can travel through a future: those that would end a loop or a generator are wrapped."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"the function raised {error!r}").with_traceback(error.__traceback__)
