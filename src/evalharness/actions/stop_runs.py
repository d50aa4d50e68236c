"""Stop runs: the first Ctrl-C stops cleanly, every further one at once; and nothing a target does can prevent it.

An async target that blocks (computes, sleeps without awaiting) holds the event loop, and with it everybody. A timer of
the operating system ends that: its signal raises inside the code that blocks. Only the main thread can be helped so.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from evalharness.engine.running import Running
from evalharness.errors import TargetFailed

PATIENCE_S = 2.0
BEAT_S = 0.5


@dataclass(slots=True)
class Stopper:
    """Hands the wish to stop to whichever run is under way, and keeps those after it from starting."""

    asked: bool = False
    current: Running | None = None
    interrupted: bool = False
    """A signal came; the event loop may not have heard of it yet."""
    can_unblock: bool = False
    """Whether the system's timer is ours, to end a call that holds the event loop."""

    def __call__(self) -> None:
        self.asked = True
        if self.current is not None:
            self.current.stop("interrupted")


@contextmanager
def unblocked(stopper: Stopper, longest_s: float) -> Iterator[None]:
    """While this lasts, a call that holds the event loop for longer than any trial may last is ended.

    A timer that somebody else has set (a test runner's, say) is left alone.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getitimer(signal.ITIMER_REAL)[0] > 0:
        yield
        return
    loop = asyncio.get_running_loop()
    beat: asyncio.TimerHandle | None = None

    def on_alarm(*_: object) -> None:
        if stopper.interrupted:  # the trial is given up, like all that are under way
            stopper()
            raise asyncio.CancelledError
        raise TargetFailed("time limit: it held the event loop without awaiting, and kept everybody else waiting")

    def set_alarm() -> None:
        nonlocal beat
        signal.setitimer(signal.ITIMER_REAL, longest_s)
        beat = loop.call_later(BEAT_S, set_alarm)

    former = signal.signal(signal.SIGALRM, on_alarm)
    stopper.can_unblock = True
    set_alarm()
    try:
        yield
    finally:
        stopper.can_unblock = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former or signal.SIG_DFL)
        if beat is not None:
            beat.cancel()


@contextmanager
def exits_guarded() -> Iterator[None]:
    """`os._exit` in a target would end the harness without a word and with its exit code; in a fork it is as usual."""
    real, owner = os._exit, os.getpid()

    def refuse(status: int) -> NoReturn:
        if os.getpid() != owner:
            real(status)
        raise SystemExit(status)

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = real


@contextmanager
def stopped_by_signals(stopper: Stopper) -> Iterator[None]:
    """Ctrl-C and SIGTERM. Only the main thread may listen.

    The loop's own handlers would not do: they wait for their turn behind a target that blocks the loop.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def on_signal(*_: object) -> None:
        if stopper.interrupted:
            raise KeyboardInterrupt
        stopper.interrupted = True
        loop.call_soon_threadsafe(stopper)
        if stopper.can_unblock:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)  # for a loop that is blocked; a living one sets it anew

    former = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler or signal.SIG_DFL)
