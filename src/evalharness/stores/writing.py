"""Group commits: trials are written by one thread, many to a transaction, each waiting at most 20 ms for the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from evalharness.errors import StoreError

GROUP_WAIT_S = 0.02
GROUP_SIZE = 1000


class GroupWriter:
    """`commit` writes a group in one transaction. After a failed commit nothing more is accepted."""

    def __init__(self, commit: Callable[[Sequence[Any]], None]) -> None:
        self._commit = commit
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._failure: StoreError | None = None
        self._thread: threading.Thread | None = None

    @property
    def backlog(self) -> int:
        return self._queue.qsize()

    def put(self, item: Any) -> None:
        if self._failure is not None:
            raise self._failure
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="evalharness-store", daemon=True)
            self._thread.start()
        self._queue.put(item)

    def _check_alive(self) -> None:
        if self._thread is not None and not self._thread.is_alive():
            raise StoreError("the thread that writes the store has died", hint="its error is printed above")

    def flush(self) -> None:
        """Return once everything put before is on disk; raises what kept it from getting there."""
        if self._thread is None:
            return
        reached = threading.Event()
        self._queue.put(reached)
        while not reached.wait(timeout=0.5):
            self._check_alive()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        open_for_more = True
        while open_for_more:
            group, flushes, open_for_more = self._next_group()
            if group and self._failure is None:
                try:
                    self._commit(group)
                except StoreError as error:
                    self._failure = error
            for flush in flushes:
                flush.set()

    def _next_group(self) -> tuple[list[Any], list[threading.Event], bool]:
        """What to write together, who waits for it, and whether there may be more."""
        group: list[Any] = []
        item = self._queue.get()
        deadline = time.monotonic() + GROUP_WAIT_S
        while True:
            if item is None:
                return group, [], False
            if isinstance(item, threading.Event):
                return group, [item], True
            group.append(item)
            left_s = deadline - time.monotonic()
            if left_s <= 0 or len(group) >= GROUP_SIZE:
                return group, [], True
            try:
                item = self._queue.get(timeout=left_s)
            except Empty:
                return group, [], True
