"""bubblewrap: runs generated code and untrusted programs isolated from the machine.

Inside there are the system's /usr, the readable paths of the request, a private /tmp, and the workspace, the only place
that can be written. There is no network unless requested, and there are no other processes, privileges or further
namespaces. Memory, processes, file sizes, disk, output and time are limited. `none.py` starts and ends the processes.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from evalharness.contracts.sandbox import (
    NO_OWNER,
    Ended,
    Limits,
    Owner,
    ProcessRequest,
    ProcessResult,
    Sandbox,
    SandboxSession,
)
from evalharness.domain.options import Options
from evalharness.errors import Hint, SandboxUnavailable, TargetUnavailable
from evalharness.sandboxes import bubblewrap_command, nobody
from evalharness.sandboxes.bubblewrap_command import folders_for
from evalharness.sandboxes.cgroups import Cgroup, Cgroups
from evalharness.sandboxes.none import NoSandbox
from evalharness.sandboxes.resource_use import FamilyUse, is_larger_than
from evalharness.sandboxes.system_calls import filter_program
from evalharness.sandboxes.way_out import WayOut

LOOK_S = 0.05
NEEDED = {"bwrap": "bubblewrap", "prlimit": "util-linux", "setpriv": "util-linux"}
ADMIT_S = 30.0
MOST_STARTS = 5
"""Where a file system of the machine is unmounted while bubblewrap looks at all of them, it fails before the program
starts."""
Look = partial[Ended | None]
"""Returns the limit that was exceeded, or None; it may be passed the first process."""
Admit = Callable[[], Awaitable[None]]
"""Lets a sandbox that is ready start its program."""
_CHILD = re.compile(rb'"child-pid": (\d+)\D')
_NO_EXEC = re.compile(r"^bwrap: execvp .*: (.+)$", re.MULTILINE)
_MOUNT_IS_GONE = re.compile(r"bwrap: .*Unable to apply mount flags: remount .*: Invalid argument")
_TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)


class BubblewrapOptions(Options):
    """Without control groups (`control_groups: false`), limits are enforced by polling the processes."""

    main: ClassVar[str] = ""

    control_groups: bool = True


class Bubblewrap(Sandbox, SandboxSession):
    """Runs any number of processes at once, in one event loop. Each is isolated, even within a session."""

    Options: ClassVar[type[Options]] = BubblewrapOptions
    options: BubblewrapOptions

    def __init__(self, options: BubblewrapOptions | None = None) -> None:
        super().__init__(options)
        self._processes = NoSandbox()
        self._groups: Cgroups | None = None
        self._system: list[str] = []
        self._filter: bytes | None = None
        self._programs: dict[tuple[str, str], tuple[str, ...]] = {}
        self._opening = asyncio.Lock()
        self._is_open = False

    async def open(self) -> None:
        """Run a test process once. Raises SandboxUnavailable if nothing can be isolated."""
        async with self._opening:
            if self._is_open:
                return
            for program, package in NEEDED.items():
                if not os.access(f"/usr/bin/{program}", os.X_OK):
                    raise SandboxUnavailable(
                        f"untrusted code runs in a sandbox, and {package} is not installed",
                        hint=Hint("hint.install_sandbox", package=package),
                    )
            self._groups = Cgroups.find() if self.options.control_groups else None
            self._filter = filter_program()
            self._system = bubblewrap_command.system_flags()
            folder = tempfile.mkdtemp(prefix="evalharness-")
            try:
                await self._run(ProcessRequest(("/usr/bin/true",), folder, {}))
            finally:
                Path(folder).rmdir()  # empty, and works even if root may not look inside
            self._is_open = True

    @asynccontextmanager
    async def session(self, workspace: str, owner: Owner = NO_OWNER) -> AsyncIterator[SandboxSession]:  # noqa: ARG002
        await self.open()
        yield self

    async def run(self, request: ProcessRequest) -> ProcessResult:
        """Run one process. The exit code of a program killed by a signal is 128 + the signal's number."""
        await self.open()
        return await self._run(request)

    async def close(self) -> None:
        await self._processes.close()

    async def _run(self, request: ProcessRequest) -> ProcessResult:
        """Run one process; errors of the machine raise SandboxUnavailable, because they are not the program's fault."""
        try:
            bubblewrap_command.check(request)
            for _ in range(MOST_STARTS - 1):
                try:
                    return await self._isolate(request)
                except SandboxUnavailable as error:
                    if not _MOUNT_IS_GONE.search(error.message):
                        raise
            return await self._isolate(request)
        except OSError as error:
            too_many = error.errno in _TOO_MANY_FILES
            raise SandboxUnavailable(
                f"cannot create a sandbox for '{request.argv[0]}': {error}",
                hint="run fewer trials at once, or raise the limit on open files" if too_many else "",
            ) from error

    async def _isolate(self, request: ProcessRequest) -> ProcessResult:
        group = self._new_group(request.limits)
        meter = group or FamilyUse(request.limits, bubblewrap_command.OWN_PROCESSES)
        look = partial(_passed, meter, Path(request.cwd), request.limits)
        try:
            with ExitStack() as held:
                status = _Status(held)
                way_out = WayOut(request.reaches) if request.reaches and not request.network else None
                gate = _Gate(held) if group is None or way_out else None
                argv, descriptors = await self._wrapped(request, group, held, status, gate)
                wrapped = replace(request, argv=argv, cwd="/", env=bubblewrap_command.OUTER_ENVIRONMENT)
                limits = request.limits if group is None else None
                admit = partial(self._admit, limits, status, gate, way_out) if gate else None
                watch = partial(_watch, look, admit)
                try:
                    result = await self._processes.run(wrapped, watch=watch, pass_fds=descriptors)
                finally:
                    if way_out is not None:
                        await way_out.close()
                if result.ended != "exited":  # a fork bomb may prevent detection until the timeout
                    return replace(result, ended=meter.passed(None) or result.ended)
                if passed := await asyncio.to_thread(look):
                    return replace(result, ended=passed, exit_code=None)
                _check_started(request, result, status.read())
                return result
        finally:
            if group is not None and not group.try_remove():
                await asyncio.to_thread(group.remove)

    async def _admit(self, limits: Limits | None, status: _Status, gate: _Gate, way_out: WayOut | None) -> None:
        """Limit the processes of the waiting sandbox where no control group does, open its way out, and let it start
        its program."""
        pid = await status.child()
        if limits is not None:
            await self._bound(limits, pid)
        if way_out is not None:
            await way_out.open(pid, self._processes)
        gate.open()

    async def _bound(self, limits: Limits, pid: int) -> None:
        bounding = bubblewrap_command.bounding_processes(limits, pid)
        words = (*(nobody.DROP if os.geteuid() == 0 else ()), *bounding)
        outer = ProcessRequest(words, "/", bubblewrap_command.OUTER_ENVIRONMENT, timeout_s=ADMIT_S)
        done = await self._processes.run(outer)
        if done.exit_code != 0:
            said = done.stderr.decode(errors="replace").strip() or done.ended
            raise SandboxUnavailable(f"the number of processes in the sandbox cannot be limited: {said}")

    def _new_group(self, limits: Limits) -> Cgroup | None:
        if self._groups is None:
            return None
        try:
            return self._groups.create(limits, bubblewrap_command.OWN_PROCESSES)
        except OSError as error:
            raise SandboxUnavailable(f"cannot create the sandbox's control group: {error}") from error

    async def _wrapped(
        self, request: ProcessRequest, group: Cgroup | None, held: ExitStack, status: _Status, gate: _Gate | None
    ) -> tuple[tuple[str, ...], list[int]]:
        """The command line, and the descriptors that it uses."""
        mounts = bubblewrap_command.mounts_of(request, self._folders_for(request))
        bubblewrap_command.check_program(request, mounts)
        flags = [*self._system, *bubblewrap_command.inner_flags(request, mounts)]
        flags += ["--json-status-fd", str(status.written)]
        descriptors = [status.written]
        if gate is not None:
            descriptors.append(gate.awaited)
            flags += ["--block-fd", str(gate.awaited)]
        for place, content in bubblewrap_command.USERS.items():
            descriptors.append(bubblewrap_command.memory_file(held, content.encode()))
            flags += ["--ro-bind-data", str(descriptors[-1]), place]
        if self._filter is not None:
            descriptors.append(bubblewrap_command.memory_file(held, self._filter))
            flags += ["--seccomp", str(descriptors[-1])]
        descriptors.append(
            bubblewrap_command.memory_file(
                held, bubblewrap_command.packed_arguments([*flags, *bubblewrap_command.LAST])
            )
        )
        enter = ("/bin/sh", "-c", bubblewrap_command.ENTER, "sh", *map(str, group.folders if group else ()), "--")
        drop = await asyncio.to_thread(_dropping, mounts) if os.geteuid() == 0 else ()
        isolate = ("/usr/bin/bwrap", "--args", str(descriptors[-1]), "--")
        bounded = bubblewrap_command.resource_limits(request.limits, counts_processes=group is None)
        return (*enter, *drop, *bounded, *isolate, *request.argv), descriptors

    def _folders_for(self, request: ProcessRequest) -> tuple[str, ...]:
        key = (request.argv[0], request.env.get("PATH", ""))
        if key not in self._programs:
            self._programs[key] = folders_for(key[0], request.env)
        return self._programs[key]


def _dropping(mounts: list[bubblewrap_command.Mount]) -> tuple[str, ...]:
    for mount in mounts:
        if mount.writable:
            nobody.give_away(mount.source)
        else:
            nobody.check_readable(mount.source)
    return (*nobody.way_to(mount.source for mount in mounts), *nobody.DROP)


def _passed(meter: Cgroup | FamilyUse, workspace: Path, limits: Limits, root: int | None = None) -> Ended | None:
    """The limit that was exceeded, or None; `root` is the first process while it runs."""
    return meter.passed(root) or ("disk" if is_larger_than(workspace, limits.disk_bytes, root) else None)


class _Status:
    """The status pipe of bubblewrap, the first process of a sandbox: first its pid, last its exit code."""

    def __init__(self, held: ExitStack) -> None:
        self._read, self.written = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        held.callback(os.close, self._read)
        held.callback(os.close, self.written)
        self._said = b""

    def read(self) -> bytes:
        """Everything received so far."""
        try:
            self._said += os.read(self._read, 65_536)
        except BlockingIOError:
            pass
        return self._said

    async def child(self) -> int:
        """The pid, outside the sandbox, of the first process inside."""
        loop = asyncio.get_running_loop()
        arrived = asyncio.Event()
        loop.add_reader(self._read, arrived.set)
        try:
            while (found := _CHILD.search(self.read())) is None:
                arrived.clear()
                await arrived.wait()
        finally:
            loop.remove_reader(self._read)
        return int(found[1])


class _Gate:
    """Blocks a sandbox until it may start its program."""

    def __init__(self, held: ExitStack) -> None:
        self.awaited, self._opened = os.pipe2(os.O_CLOEXEC)
        held.callback(os.close, self.awaited)
        held.callback(os.close, self._opened)

    def open(self) -> None:
        os.write(self._opened, b"x")


async def _watch(look: Look, admit: Admit | None, root: int) -> Ended:
    """Check the limits repeatedly; use at most a tenth of the time, because a workspace with many files takes long."""
    if admit is not None:
        await admit()
    pause_s = LOOK_S
    while True:
        await asyncio.sleep(pause_s)
        passed, busy_s = await asyncio.to_thread(_timed, look, root)
        if passed:
            return passed
        pause_s = max(LOOK_S, 9 * busy_s)


def _timed(look: Look, root: int) -> tuple[Ended | None, float]:
    started_s = time.thread_time()
    return look(root), time.thread_time() - started_s


def _check_started(request: ProcessRequest, result: ProcessResult, reported: bytes) -> None:
    """Raise if the program did not start: bubblewrap then reports no exit code.

    stderr then comes from bubblewrap itself or from the programs that start it.
    """
    if b'"exit-code"' in reported:
        return
    said = result.stderr.decode(errors="replace").strip() or f"exit code {result.exit_code}"
    if refused := _NO_EXEC.search(said):
        raise TargetUnavailable(
            f"cannot start '{request.argv[0]}' in the sandbox: {refused[1]}",
            hint="check that it is executable, and that the interpreter in its first line exists in the sandbox",
        )
    raise SandboxUnavailable(
        f"bubblewrap cannot isolate '{request.argv[0]}': {said}",
        hint=Hint("hint.unprotected"),
    )
