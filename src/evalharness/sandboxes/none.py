"""Runs a process with limits but without isolation: the one place where the harness starts processes.

The process may access everything that the harness may. Its time and output are limited, and when its run ends for any
reason, nothing that it started survives. Other sandboxes provide isolation; they wrap their commands and run them here.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from evalharness.contracts.sandbox import NO_OWNER, Ended, Owner, ProcessRequest, ProcessResult, Sandbox, SandboxSession
from evalharness.errors import TargetUnavailable
from evalharness.sandboxes import process_tree
from evalharness.sandboxes.process_guard import ProcessGuard
from evalharness.sandboxes.running_process import RunningProcess

Watch = Callable[[int], Awaitable[Ended]]

_KILL_S = 2.0
_PAUSE_S = 0.005
_FIRST_PAUSE_S = 0.0005


class NoSandbox(Sandbox, SandboxSession):
    """Runs any number of processes at once, in one event loop. Calls of one session share only their folder.

    Without a guard, somebody else ends its processes if the harness is killed with -9: all have one of `marks`.
    """

    def __init__(self, options: Any = None, *, is_guarded: bool = True) -> None:
        super().__init__(options)
        self._is_guarded = is_guarded
        self._marks = process_tree.new_marks()
        self._unused_marks = iter(self._marks)
        self._running: dict[RunningProcess, int] = {}  # and the mark of each
        self._guard: ProcessGuard | None = None
        self._looks_around = False
        self._has_started_any = False

    @property
    def marks(self) -> range:
        return self._marks

    @asynccontextmanager
    async def session(self, workspace: str, owner: Owner = NO_OWNER) -> AsyncIterator[SandboxSession]:  # noqa: ARG002
        yield self

    async def run(
        self, request: ProcessRequest, *, watch: Watch | None = None, pass_fds: Collection[int] = ()
    ) -> ProcessResult:
        """Run one process. `watch` is called with its pid, and returns when a limit is exceeded."""
        if not self._has_started_any and process_tree.has_proc():
            self._looks_around = not process_tree.adopts_orphans()
        if self._is_guarded and self._guard is None and process_tree.has_proc():
            self._guard = _guard(self._marks)
        self._has_started_any = True
        mark = next(self._unused_marks)
        popen = _start(request, mark, pass_fds)
        process_tree.set_mark(popen.pid, mark)
        running = RunningProcess(popen, request)
        self._running[running] = mark
        try:
            async with _watched(running, watch):
                ended = await running.wait()
            if ended == "exited":
                await running.drain()
        finally:
            try:
                await self._kill(running, mark)
            finally:
                running.close_pipes()
        return running.result(ended)

    async def close(self) -> None:
        """Kill and reap what is still running, what a second interrupt left behind, and orphans found late."""
        if not self._has_started_any:
            return
        await asyncio.gather(*(self._kill(running, mark) for running, mark in self._running.items()))
        deadline_s = time.monotonic() + _KILL_S
        while not self._sweep(self._marks, others=self._pids(), unmarked_too=True):
            if time.monotonic() > deadline_s:
                break
            await asyncio.sleep(_PAUSE_S)
        if self._guard is not None:
            self._guard.close()
            self._guard = None

    async def _kill(self, running: RunningProcess, mark: int) -> None:
        """Sweep until nothing of the trial is left.

        The first sweep comes before any await, so no cancellation can prevent it. The first process is reaped last,
        because until then its pid identifies its session and group.
        """
        deadline_s = time.monotonic() + _KILL_S
        pause_s = _FIRST_PAUSE_S
        while True:
            was_dead = running.is_dead()
            others = self._pids() - {running.pid}
            nothing_left = self._sweep(range(mark, mark + 1), root=running.unreaped_pid(), others=others)
            if (was_dead and nothing_left) or time.monotonic() > deadline_s:
                break
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _PAUSE_S)
        if running.is_dead():
            running.reap()
            self._running.pop(running, None)

    def _sweep(self, marks: range, **options: Any) -> bool:
        return process_tree.sweep(marks, looks_around=self._looks_around, **options)

    def _pids(self) -> set[int]:
        return {running.pid for running in self._running}


@asynccontextmanager
async def _watched(running: RunningProcess, watch: Watch | None) -> AsyncIterator[None]:
    if watch is None:
        yield
        return

    async def tell() -> None:
        try:
            running.end(await watch(running.pid))
        finally:
            running.stop_waiting()

    watching = asyncio.create_task(tell())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait([watching])
    if not watching.cancelled():
        watching.result()  # raises its exception


def _guard(marks: range) -> ProcessGuard:
    try:
        return ProcessGuard(marks)
    except OSError as error:
        raise TargetUnavailable(f"cannot start a process: {error}") from error


def _start(request: ProcessRequest, mark: int, pass_fds: Collection[int]) -> subprocess.Popen[bytes]:
    outer_mark = request.env.get(process_tree.MARK_VARIABLE, "")
    try:
        with process_tree.signal_blocked_for_children():
            return subprocess.Popen(
                request.argv,
                cwd=request.cwd,
                env={**request.env, process_tree.MARK_VARIABLE: f"{outer_mark} {mark}".strip()},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                pass_fds=tuple(pass_fds),
            )
    except (OSError, ValueError, IndexError) as error:
        raise _cannot_start(request, error) from error


def _cannot_start(request: ProcessRequest, error: Exception) -> TargetUnavailable:
    program = request.argv[0] if request.argv else ""
    if not program:
        return TargetUnavailable("cannot start a process: the command is empty", hint="set the program to run")
    if not Path(request.cwd).is_dir():
        return TargetUnavailable(
            f"cannot start '{program}': its working folder '{request.cwd}' is not a folder",
            hint="create the folder, or correct the path",
        )
    where = f"cannot start '{program}' in '{request.cwd}'"
    if isinstance(error, FileNotFoundError):
        return TargetUnavailable(
            f"{where}: no such program, or the interpreter in its first line is missing",
            hint="install it, correct the spelling, give its full path, or set PATH in its environment",
        )
    if isinstance(error, PermissionError):
        return TargetUnavailable(
            f"{where}: it is not executable, or the folder is not accessible",
            hint=f"chmod +x '{program}', or use a program instead of a folder or a data file",
        )
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return TargetUnavailable(f"{where}: {reason}", hint="try the same command by hand in that folder")
