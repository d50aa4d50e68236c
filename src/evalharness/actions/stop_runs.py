"""Stop runs: the first Ctrl-C stops cleanly, every further one at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evalharness.engine.running import Running


@dataclass(slots=True)
class Stopper:
    """Hands the wish to stop to whichever run is under way, and keeps those after it from starting."""

    asked: bool = False
    current: Running | None = None

    def __call__(self) -> None:
        self.asked = True
        if self.current is not None:
            self.current.stop("interrupted")


@contextmanager
def stopped_by_signals(stopper: Stopper) -> Iterator[None]:
    """Ctrl-C and SIGTERM. Only the main thread may listen.

    The loop's own handlers would not do: they wait for their turn behind a target that blocks the loop.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    came_before = False

    def on_signal(*_: object) -> None:
        nonlocal came_before
        if came_before:
            raise KeyboardInterrupt
        came_before = True
        loop.call_soon_threadsafe(stopper)

    former = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler or signal.SIG_DFL)
