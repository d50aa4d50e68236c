"""One child of a runner: forked, heard up to a limit of bytes and time, and ended with everything it started."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

LOOK_S = 0.05
MOST_SWEEPS = 100
_CHUNK_BYTES = 65_536


class Heard(NamedTuple):
    """`status` is what `waitpid` says; it means nothing where the child was ended."""

    written: bytes
    ended: Literal["itself", "time", "size"]
    status: int

    @property
    def signal(self) -> int:
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0

    @property
    def exit_code(self) -> int:
        return os.waitstatus_to_exitcode(self.status)


def run_child(work: Callable[[int], None], timeout_s: float, most_bytes: int, *, until_line: bool) -> Heard:
    """`work` runs in the child and is given the descriptor to write to; raises OSError where none can be started.

    With `until_line` the first end of a line is the end of what it has to say.
    """
    deadline_s = time.monotonic() + timeout_s
    reader, writer = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if child == 0:
        try:
            work(writer)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        written, ended = _hear(child, reader, deadline_s, most_bytes, until_line)
    finally:
        status = _end(child)
        os.close(reader)
    return Heard(written, ended, status)


def _hear(
    child: int, reader: int, deadline_s: float, most_bytes: int, until_line: bool
) -> tuple[bytes, Literal["itself", "time", "size"]]:
    """The pipe may stay open after the child's end: whatever it left behind holds it, too."""
    written = bytearray()
    while True:
        was_dead = _is_dead(child)
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            return bytes(written), "time"
        if select.select([reader], [], [], 0 if was_dead else min(left_s, LOOK_S))[0]:
            chunk = os.read(reader, _CHUNK_BYTES)
            written += chunk
            if len(written) > most_bytes:
                return bytes(written[:most_bytes]), "size"
            line, end, _ = bytes(written).partition(b"\n") if until_line else (b"", b"", b"")
            if end:
                return line + end, "itself"
            if not chunk:
                _wait_until_dead(child, deadline_s)
                return bytes(written), "itself" if _is_dead(child) else "time"
        elif was_dead:
            return bytes(written), "itself"


def _wait_until_dead(child: int, deadline_s: float) -> None:
    """It closed its end: what is left to know is how it ends."""
    while not _is_dead(child) and time.monotonic() < deadline_s:
        time.sleep(0.001)


def _is_dead(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(child: int) -> int:
    """Kill the child, its session and its orphans, so that nothing of one test case is there in the next."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except OSError:
            continue
    status = os.waitpid(child, 0)[1]
    for _ in range(MOST_SWEEPS):
        orphans = _children()
        if not orphans:
            break
        for orphan in orphans:
            _kill_and_reap(orphan)
    return status


def _kill_and_reap(orphan: int) -> None:
    try:
        os.kill(orphan, signal.SIGKILL)
        os.waitpid(orphan, 0)
    except OSError:
        return


def _children() -> list[int]:
    """Only Linux tells, and only there do orphans become children of the runner."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as listed:  # noqa: PTH123 - slow to import
            return [int(pid) for pid in listed.read().split()]
    except OSError:
        return []
