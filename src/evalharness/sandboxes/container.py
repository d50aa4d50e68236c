"""container: runs generated code and untrusted programs in containers of docker or podman.

Inside there are what `bubblewrap.py` shows, too: the system's /usr, the readable paths of the request, a private /tmp
and the workspace, the only place that can be written. The image is nothing but the places where they are mounted, so
no registry is needed. Each process has a container of its own, since its limits and readable paths are its own.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from evalharness.contracts.containers import BindMount, ContainerRequest
from evalharness.contracts.sandbox import (
    NO_OWNER,
    Ended,
    Owner,
    ProcessRequest,
    ProcessResult,
    Sandbox,
    SandboxSession,
)
from evalharness.domain.finding import Finding
from evalharness.domain.options import Options
from evalharness.domain.run import ContainerOptions
from evalharness.sandboxes import bubblewrap_command, nobody
from evalharness.sandboxes.bubblewrap_command import Mount, folders_for
from evalharness.sandboxes.container_runtime import ContainerRuntime
from evalharness.sandboxes.resource_use import is_larger_than
from evalharness.sandboxes.system_image import system_mounts

LOOK_S = 0.05
_AS_FIRST = ("/bin/sh", "-c", '"$@"; exit $?', "sh")
"""A first process for programs that are not to be that: signals mean to them what they mean everywhere."""


class ContainerSandboxOptions(Options):
    main: ClassVar[str] = ""

    containers: ContainerOptions = ContainerOptions()


class ContainerSandbox(Sandbox):
    Options: ClassVar[type[Options]] = ContainerSandboxOptions
    options: ContainerSandboxOptions

    def __init__(self, options: ContainerSandboxOptions | None = None) -> None:
        super().__init__(options)
        self._runtime = ContainerRuntime(self.options.containers)
        self._image = ""
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        async with self._opening:
            if not self._image:
                await self._runtime.check_limits()
                self._image = await self._runtime.system_image()

    @asynccontextmanager
    async def session(self, workspace: str, owner: Owner = NO_OWNER) -> AsyncIterator[SandboxSession]:  # noqa: ARG002
        await self.open()
        yield _Session(self._runtime, self._image, owner)

    async def reap(self, store_id: str, is_abandoned: Callable[[str], bool]) -> None:
        await self._runtime.reap(store_id, is_abandoned)

    def notes(self) -> tuple[Finding, ...]:
        return self._runtime.notes()

    async def close(self) -> None:
        await self._runtime.close()


class _Session(SandboxSession):
    def __init__(self, runtime: ContainerRuntime, image: str, owner: Owner) -> None:
        self._runtime = runtime
        self._image = image
        self._owner = owner

    async def run(self, request: ProcessRequest) -> ProcessResult:
        bubblewrap_command.check(request)
        mounts = bubblewrap_command.mounts_of(request, folders_for(request.argv[0], request.env))
        bubblewrap_command.check_program(request, mounts)
        user = await asyncio.to_thread(_user_for, mounts)
        watch = partial(_watch, Path(request.cwd), request.limits.disk_bytes)
        result = await self._runtime.run(
            ContainerRequest(
                image=self._image,
                argv=request.argv if request.is_first else (*_AS_FIRST, *request.argv),
                cwd=os.path.normpath(request.cwd),
                user=user,
                env=request.env,
                mounts=(*system_mounts(network=request.network), *(_bind(mount) for mount in mounts)),
                stdin=request.stdin,
                timeout_s=request.timeout_s,
                keep_bytes=request.keep_bytes,
                flood_bytes=request.flood_bytes,
                limits=request.limits,
                network=request.network,
                reaches=request.reaches,
                is_isolated=True,
                has_init=False,
            ),
            self._owner,
            watch=watch,
            has_shell=True,
        )
        await self._runtime.remove(result.name)
        ended = result.process
        too_large = await asyncio.to_thread(is_larger_than, Path(request.cwd), request.limits.disk_bytes)
        if ended.ended == "exited" and too_large:
            return _ended_by("disk", ended)
        return ended


def _ended_by(limit: Ended, result: ProcessResult) -> ProcessResult:
    return replace(result, ended=limit, exit_code=None)


async def _watch(workspace: Path, disk_bytes: int, _pid: int) -> Ended:
    """Returns when the workspace has become too large."""
    pause_s = LOOK_S
    while True:
        await asyncio.sleep(pause_s)
        started_s = time.monotonic()
        if await asyncio.to_thread(is_larger_than, workspace, disk_bytes):
            return "disk"
        pause_s = max(LOOK_S, 9 * (time.monotonic() - started_s))


def _user_for(mounts: list[Mount]) -> str:
    """Who the program is: a user without rights where this is root, else whoever this is."""
    if os.geteuid() != 0:
        return f"{os.getuid()}:{os.getgid()}"
    for mount in mounts:
        if mount.writable:
            nobody.give_away(mount.source)
        else:
            nobody.check_readable(mount.source)
    return f"{nobody.NOBODY}:{nobody.NOBODY}"


def _bind(mount: Mount) -> BindMount:
    return BindMount(str(mount.source), mount.place, mount.writable)
