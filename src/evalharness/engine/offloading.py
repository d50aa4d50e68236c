"""Offloading: users' sync functions on daemon threads, so that they cannot block the loop or the exit.

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
from queue import SimpleQueue
from typing import Any

from evalharness.errors import TargetUnavailable


class _Call:
    __slots__ = ("arguments", "function", "future", "keywords", "running")

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.running = False


class Offloader:
    def __init__(self, size: int) -> None:
        self._size = size
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._done: deque[tuple[_Call, Any, BaseException | None]] = deque()
        self._waking = False
        self._lock = threading.Lock()
        self._threads = 0
        self._lost = 0
        self._busy = 0

    async def __call__(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        call = _Call(function, arguments, keywords)
        self._busy += 1
        self._ensure_threads()
        self._calls.put(call)
        try:
            return await call.future
        except asyncio.CancelledError:
            if call.running and not call.future.done():
                self._lost += 1
            raise
        finally:
            self._busy -= 1

    def close(self) -> None:
        """Let idle threads go; those stuck in a function are daemons and end with the process."""
        for _ in range(self._threads):
            self._calls.put(None)

    def _ensure_threads(self) -> None:
        wanted = min(self._busy, self._size)
        if self._threads - self._lost >= wanted:
            return
        if self._threads >= 2 * self._size:
            if self._lost >= self._threads:
                raise TargetUnavailable(
                    f"all {self._threads} threads are held by calls that passed their time limit",
                    hint="use `isolate: process`, which really ends a call",
                )
            return
        self._threads += 1
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, args=(loop,), name=f"evalharness-{self._threads}", daemon=True).start()

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while (call := self._calls.get()) is not None:
            if call.future.cancelled():
                continue
            call.running = True
            result, error = None, None
            try:
                result = call.function(*call.arguments, **call.keywords)
            except BaseException as raised:  # noqa: BLE001 - carried to the awaiter, who decides
                error = raised
            self._done.append((call, result, error))
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
            if call.future.cancelled():
                self._lost -= 1  # late, but the thread is free again
            elif error is not None:
                call.future.set_exception(_carried(error))
            else:
                call.future.set_result(result)


def _carried(error: BaseException) -> BaseException:
    """StopIteration cannot travel through a future; SystemExit must not end the loop that it did not start in."""
    if isinstance(error, StopIteration):
        return RuntimeError(f"the function raised StopIteration({error.value!r})")
    if isinstance(error, SystemExit):
        return RuntimeError(f"the function called sys.exit({error.code!r})")
    return error
