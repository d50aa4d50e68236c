"""A gate: a container waits at it until its way out to the gateway of models is open.

A folder of the harness is mounted in the container. Where the image has a shell, what it runs first is to read from a
pipe in that folder, which blocks until the harness has entered its network. An image without one gets a socket there,
which its program has to know of; with podman a shell of this machine waits instead, as the network of a container can
be there before its program is started.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from evalharness.contracts.containers import BindMount, ContainerRequest
from evalharness.contracts.sandbox import Ended
from evalharness.sandboxes.none import NoSandbox, Watch
from evalharness.sandboxes.way_out import WayOut
from evalharness.workspaces import OF_NO_RUN, LockedFolder

PLACE = "/run/evalharness"
PIPE = "gate"
SOCKET = "gateway.sock"
SOCKET_VARIABLE = "EVALHARNESS_GATEWAY_SOCKET"
SHELL = "/bin/sh"
NOT_THERE = "[FATAL gate]"
"""Begins what is said in place of a program that is not in the image."""
_WAIT = f"""read _ <{PLACE}/{PIPE}
command -v "$1" >/dev/null || {{ echo "{NOT_THERE} $1: not found" >&2; exit 127; }}
exec "$@\""""
_LOOK_S = 0.005


class ContainerGate:
    """`is_outside`: a process of this machine waits at the gate, before the container's program starts."""

    def __init__(self, port: int, run_id: str, *, has_shell: bool, is_outside: bool) -> None:
        self._way_out = WayOut(port)
        self._has_shell = has_shell
        self._has_pipe = has_shell or is_outside
        self._folder = LockedFolder(run_id or OF_NO_RUN)
        self._folder.path.chmod(0o755)
        if self._has_pipe:
            os.mkfifo(self.pipe)
            self.pipe.chmod(0o644)

    @property
    def pipe(self) -> Path:
        """Reading from it ends when the way out is open."""
        return self._folder.path / PIPE

    async def before(self, request: ContainerRequest, words: tuple[str, ...]) -> ContainerRequest:
        """The request with the gate before its program, of which `words` are all the words."""
        env = dict(request.env)
        if self._has_shell:
            words = (SHELL, "-c", _WAIT, "sh", *words)
        else:
            await self._way_out.listen(self._folder.path / SOCKET)
            env[SOCKET_VARIABLE] = f"{PLACE}/{SOCKET}"
        mounts = (*request.mounts, BindMount(str(self._folder.path), PLACE))
        return replace(request, entrypoint=words[0], argv=words[1:], env=env, mounts=mounts)

    def watch(self, pid_of: Callable[[], Awaitable[int]], processes: NoSandbox, then: Watch | None) -> Watch:
        """Opens the gate, then watches as `then` does. `pid_of` gives the first process of a container that runs."""
        return partial(self._watch, pid_of, processes, then)

    async def _watch(
        self, pid_of: Callable[[], Awaitable[int]], processes: NoSandbox, then: Watch | None, pid: int
    ) -> Ended:
        if self._has_pipe:
            await self._open(pid_of, processes)
        if then is not None:
            return await then(pid)
        await asyncio.Event().wait()  # until the container has ended
        raise AssertionError("nobody sets it")

    async def _open(self, pid_of: Callable[[], Awaitable[int]], processes: NoSandbox) -> None:
        pipe = await self._waited_for()
        try:
            await self._way_out.open(await pid_of(), processes)
            os.write(pipe, b"\n")
        finally:
            os.close(pipe)

    async def _waited_for(self) -> int:
        """The writing end of the pipe: it can be opened once somebody reads at the other."""
        while True:
            try:
                return os.open(self.pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            await asyncio.sleep(_LOOK_S)

    async def close(self) -> None:
        await self._way_out.close()

    def remove_folder(self) -> None:
        """When the container is gone: nothing can be copied from one whose mounts are missing."""
        self._folder.remove()


def words_behind_the_gate(request: ContainerRequest) -> tuple[str, ...]:
    """The words of the program that a shell of the image starts when the gate opens; empty if there is no such gate."""
    return request.argv[3:] if request.entrypoint == SHELL and request.argv[1:2] == (_WAIT,) else ()
