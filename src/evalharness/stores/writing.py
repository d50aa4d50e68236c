"""Group commits: trials are written by one thread, many to a transaction, each waiting at most 20 ms for the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from evalharness.errors import StoreError

GROUP_WAIT_S = 0.02
GROUP_SIZE = 1000


class GroupWriter:
    """`commit` writes a group in one transaction. After a failed commit nothing more is accepted.

    Any thread may put, flush and close.
    """

    def __init__(self, commit: Callable[[Sequence[Any]], None]) -> None:
        self._commit = commit
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._hurry = threading.Event()
        self._failure: StoreError | None = None
        self._failure_was_raised = False
        self._thread: threading.Thread | None = None
        self._entrance = threading.Lock()
        self._is_closed = False

    @property
    def backlog(self) -> int:
        """How many wait to be written; none does when nothing will be written any more."""
        return self._queue.qsize() if self._failure is None else 0

    def put(self, item: Any) -> None:
        self._raise_failure()
        with self._entrance:  # so that nothing is put behind the end of the queue, where nobody would write it
            if self._is_closed:
                raise StoreError("the store is closed")
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="evalharness-store", daemon=True)
                self._thread.start()
            self._queue.put(item)

    def flush(self) -> None:
        """Return once everything put before is on disk; raises what kept it from getting there."""
        thread = self._thread
        if thread is not None:
            reached = threading.Event()
            self._hurry.set()  # before it is put, so that whoever takes it out can unset this
            self._queue.put(reached)
            while not reached.wait(timeout=0.5):
                if not thread.is_alive():
                    self._raise_failure()
                    raise StoreError("the store was closed while it was being written")
        self._raise_failure()

    def close(self) -> None:
        """Write what is left; raises what kept it from being written, unless somebody has heard of it already."""
        with self._entrance:
            self._is_closed = True
            thread = self._thread
            if thread is not None:
                self._hurry.set()
                self._queue.put(None)
        if thread is not None:
            thread.join()
            self._thread = None
        if not self._failure_was_raised:
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            self._failure_was_raised = True
            raise StoreError(self._failure.message, hint=self._failure.hint) from self._failure

    def _work(self) -> None:
        ended_well = False
        try:
            open_for_more = True
            while open_for_more:
                group, flushes, open_for_more = self._next_group()
                self._write(group)
                for flush in flushes:
                    flush.set()
            ended_well = True
        finally:
            if not ended_well:
                self._failure = StoreError(
                    "the store cannot be written: its thread has died", hint="its error is printed above"
                )

    def _write(self, group: Sequence[Any]) -> None:
        if group and self._failure is None:
            try:
                self._commit(group)
            except StoreError as error:
                self._failure = error

    def _next_group(self) -> tuple[list[Any], list[threading.Event], bool]:
        """What to write together, who waits for it, and whether there may be more.

        Between the first and the rest the thread sleeps: to be woken by every trial would cost as much as to write it.
        """
        group: list[Any] = []
        item = self._queue.get()
        is_to_write = item is not None and not isinstance(item, threading.Event)
        if is_to_write and self._queue.qsize() < GROUP_SIZE:
            self._hurry.wait(GROUP_WAIT_S)
        while True:
            if item is None:
                return group, [], False
            if isinstance(item, threading.Event):
                self._hurry.clear()
                return group, [item], True
            group.append(item)
            if len(group) >= GROUP_SIZE:
                return group, [], True
            try:
                item = self._queue.get_nowait()
            except Empty:
                return group, [], True
