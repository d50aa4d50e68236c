"""Timing: a limit on how long the code of others may take.

Unlike `asyncio.timeout` it asks again, so that code which swallows one cancellation (a retry loop with a bare `except`)
still ends; and it never loses the wish of somebody else, who cancelled the same task meanwhile.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

RENEWAL_S = 5.0


class TimeLimit:
    """`with TimeLimit(seconds) as limit:` around an await. Past the limit the block is left, and `expired` is true."""

    __slots__ = ("_cancels", "_handle", "_loop", "_seconds", "_task")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._cancels = 0
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()

    @property
    def expired(self) -> bool:
        return self._cancels > 0

    def __enter__(self) -> TimeLimit:
        self._handle = self._loop.call_later(self._seconds, self._cancel)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._handle.cancel()
        if self._cancels:
            self._uncancel()
        if kind is None and is_being_cancelled():
            raise asyncio.CancelledError  # what ran inside swallowed a cancellation that was not ours
        return self.expired and kind is asyncio.CancelledError and not is_being_cancelled()

    def _cancel(self) -> None:
        assert self._task is not None
        self._cancels += 1
        self._task.cancel()
        self._handle = self._loop.call_later(RENEWAL_S, self._cancel)

    def _uncancel(self) -> None:
        assert self._task is not None
        for _ in range(self._cancels):
            self._task.uncancel()


def is_being_cancelled() -> bool:
    """Whether somebody asked the current task to end: otherwise a CancelledError is just another exception."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
