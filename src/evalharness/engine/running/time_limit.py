"""Time limit: how long the code of others may take, fair to those who wait.

Unlike `asyncio.timeout` it asks again, so that code which swallows one cancellation (a retry loop with a bare `except`)
still ends; it never loses the wish of somebody else, who cancelled the same task meanwhile; and time during which
another trial held the event loop does not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from time import perf_counter
from types import TracebackType
from typing import Any

RENEWAL_S = 5.0
STRAY = "its task was cancelled, and not by the harness"
NOTICEABLE_S = 0.05


class TrialsTask(asyncio.Task[None]):
    """A task in which trials run. What runs in it can cancel it as well: only the harness's own wishes end it."""

    asked: int = 0
    """How many of its cancellations are the harness's own."""

    def ask_to_end(self) -> None:
        self.asked += 1
        self.cancel()

    def take_back(self) -> None:
        self.asked -= 1
        self.uncancel()

    @property
    def has_strays(self) -> bool:
        """Whether somebody else cancelled it. Python 3.11 also leaves one behind after a task group that failed."""
        return self.cancelling() > self.asked

    async def drop_strays(self) -> None:
        """Raises CancelledError where one is still to be delivered."""
        while self.has_strays:
            self.uncancel()
        await asyncio.sleep(0)


class LoopTime:
    """How long trials held the event loop, in all: code that computes or blocks without awaiting."""

    __slots__ = ("held_s",)

    def __init__(self) -> None:
        self.held_s = 0.0


class Steps:
    """`await Steps(loop_time, function, argument)` awaits a call and notes how long its own steps held the loop."""

    __slots__ = ("_argument", "_function", "_loop_time", "held_s")

    def __init__(self, loop_time: LoopTime, function: Callable[[Any], Awaitable[Any]], argument: Any) -> None:
        self._loop_time = loop_time
        self._function = function
        self._argument = argument
        self.held_s = 0.0

    def __await__(self) -> Generator[Any, Any, Any]:
        inside: Any = self._function(self._argument).__await__()
        step, argument = inside.send, None
        while True:
            began = perf_counter()
            try:
                yielded = step(argument)
            except StopIteration as end:
                return end.value
            finally:
                took_s = perf_counter() - began
                if took_s > NOTICEABLE_S:
                    self.held_s += took_s
                    self._loop_time.held_s += took_s
            try:
                argument = yield yielded
                step = inside.send
            except BaseException as error:  # noqa: BLE001 - a cancellation, handed on to whoever awaits inside
                step, argument = inside.throw, error


class TimeLimit:
    """`with limit.of(seconds, steps):` around an await. Past the limit the block is left, and `expired` is true.

    One object serves the trials of one task, one after the other: its timer stays set from trial to trial and is only
    moved when it goes off too early, because setting and clearing one each time would cost more than a quick trial.
    """

    __slots__ = ("_active", "_began", "_cancels", "_due", "_handle", "_held_before", "_loop", "_loop_time", "_seconds",
                 "_steps", "_task")  # fmt: skip

    def __init__(self, loop_time: LoopTime) -> None:
        self._loop_time = loop_time
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._handle: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._active = False

    def of(self, seconds: float, steps: Steps) -> TimeLimit:
        self._seconds = seconds
        self._steps = steps
        self._held_before = self._loop_time.held_s
        self._cancels = 0
        self._began = self._loop.time()
        return self

    @property
    def expired(self) -> bool:
        """Also true for code that never gave the limit a chance to end it."""
        return self._cancels > 0 or self._left_s() < 0

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def __enter__(self) -> TimeLimit:
        self._active = True
        due = self._began + self._seconds
        if self._handle is None or due < self._due:
            self._set_timer(due)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        assert self._task is not None
        self._active = False
        for _ in range(self._cancels):
            if isinstance(self._task, TrialsTask):
                self._task.take_back()
            else:
                self._task.uncancel()
        others_cancel = is_being_cancelled(self._task)
        if kind is None and others_cancel:
            raise asyncio.CancelledError  # what ran inside swallowed a cancellation that was not ours
        return self._cancels > 0 and kind is asyncio.CancelledError and not others_cancel

    def _left_s(self) -> float:
        held_by_others_s = self._loop_time.held_s - self._held_before - self._steps.held_s
        return self._seconds - (self._loop.time() - self._began) + held_by_others_s

    def _set_timer(self, due: float) -> None:
        self.close()
        self._due = due
        self._handle = self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        assert self._task is not None
        self._handle = None
        if not self._active:
            return
        left_s = self._left_s()
        if left_s > 0:
            self._set_timer(self._loop.time() + left_s)
            return
        self._cancels += 1
        if isinstance(self._task, TrialsTask):
            self._task.ask_to_end()
        else:
            self._task.cancel()
        self._set_timer(self._loop.time() + RENEWAL_S)


def is_being_cancelled(task: asyncio.Task[Any] | None) -> bool:
    """Whether a task has been asked to end: otherwise a CancelledError in it is just another exception."""
    if isinstance(task, TrialsTask):
        return task.asked > 0
    return task is not None and task.cancelling() > 0
