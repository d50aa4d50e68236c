"""The command-line program of docker or podman: found, asked what it is, and called.

What containers and images are is decided elsewhere; here a call is an ordinary process with an answer and a time limit.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from evalharness.contracts.sandbox import ProcessRequest, ProcessResult
from evalharness.errors import Hint, SandboxUnavailable
from evalharness.sandboxes import container_command
from evalharness.sandboxes.container_command import Kind
from evalharness.sandboxes.none import NoSandbox

PROGRAMS: tuple[Kind, ...] = ("docker", "podman")
ANSWER_S = 60.0
"""Time limit of calls that usually take moments."""
PULL_S = 3600.0
ENTRY_BYTES = 16_777_216


_BESIDE = ("Run 'docker ", "See 'docker ", "time=")
OLDEST_PODMAN = (4, 3)
_VERSION = re.compile(r"(\d+)\.(\d+)")
_BY_DAEMON = "Error response from daemon"


@dataclass(frozen=True, slots=True)
class ContainerProgram:
    path: str
    kind: Kind
    memory_bytes: int
    """Of the machine that its containers run on."""
    keeps_limits: bool
    """Whether it can limit memory and processes: without root only where this user may use control groups."""
    environment: Mapping[str, str]
    processes: NoSandbox

    async def call(
        self,
        *words: str,
        stdin: bytes = b"",
        timeout_s: float = ANSWER_S,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> ProcessResult:
        own = self.environment if env is None else env
        argv = (self.path, *words)
        request = ProcessRequest(argv, "/", own, stdin=stdin, timeout_s=timeout_s, keep_bytes=ENTRY_BYTES)
        return await self.processes.run(request, pass_fds=pass_fds)

    async def say(self, *words: str, **options: Any) -> str:
        """What it answered; raises SandboxUnavailable if it refused. The options are those of `call`."""
        answered = await self.call(*words, **options)
        if answered.exit_code != 0:
            raise SandboxUnavailable(f"{self.kind} {words[0]} failed: {said(answered)}")
        return answered.stdout.decode(errors="replace")

    async def stream(self, consume: Callable[[IO[bytes]], None], *words: str) -> ProcessResult:
        """What it writes to its output, which is no text and may be large, is read by `consume` in a thread.

        An error of `consume` is raised once the command line has ended.
        """
        read_end, write_end = os.pipe()
        argv = ("/bin/sh", "-c", f'exec "$@" >/dev/fd/{write_end}', "sh", self.path, *words)
        request = ProcessRequest(argv, "/", self.environment, timeout_s=PULL_S)
        running = asyncio.create_task(self.processes.run(request, pass_fds=[write_end]))
        running.add_done_callback(lambda _: os.close(write_end))

        output = os.fdopen(read_end, "rb")
        is_read = False

        def read() -> None:
            nonlocal is_read
            is_read = True
            with output:
                consume(output)

        try:
            await asyncio.to_thread(read)
        except BaseException:
            running.cancel()
            await asyncio.wait([running])
            if not is_read:  # cancelled before a thread was free
                output.close()
            raise
        return await running

    async def log(
        self, file: Path, *words: str, stdin: bytes, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> ProcessResult:
        """Run it with output and errors written to a file: podman would die of writing its progress, and leave files
        behind, if it wrote to a harness that was killed."""
        argv = ("/bin/sh", "-c", 'out=$1; shift; exec "$@" >"$out" 2>&1', "sh", str(file), self.path, *words)
        own = self.environment if env is None else env
        return await self.processes.run(ProcessRequest(argv, "/", own, stdin=stdin, timeout_s=timeout_s))


async def found_program(wanted: str, environment: Mapping[str, str], processes: NoSandbox) -> ContainerProgram:
    """The wanted runtime, or the first that answers of those that are installed."""
    wrong: list[str] = []
    hints: list[Hint | str] = []
    for name in (wanted,) if wanted else PROGRAMS:
        path = shutil.which(name, path=environment.get("PATH", ""))
        if path is None:
            wrong.append(f"{name} is not installed")
            continue
        try:
            return await _described(path, container_command.own_environment(environment), processes)
        except SandboxUnavailable as error:
            wrong.append(error.message)
            hints += [error.hint] if error.hint else []
    raise SandboxUnavailable(
        f"containers need a container runtime: {'; '.join(wrong)}",
        hint=hints[0] if hints else Hint("hint.install_containers"),
    )


async def _described(path: str, environment: Mapping[str, str], processes: NoSandbox) -> ContainerProgram:
    async def ask(*words: str) -> str:
        answered = await processes.run(ProcessRequest((path, *words), "/", environment, timeout_s=ANSWER_S))
        if answered.exit_code != 0:
            raise SandboxUnavailable(f"{path} does not answer: {said(answered)}")
        return answered.stdout.decode(errors="replace").strip()

    version = await ask("--version")
    kind: Kind = "podman" if "podman" in version.lower() else "docker"
    if kind == "podman" and (found := _VERSION.search(version)) and (int(found[1]), int(found[2])) < OLDEST_PODMAN:
        raise SandboxUnavailable(f"{path} is podman {found[0]}, and {'.'.join(map(str, OLDEST_PODMAN))} is needed")
    if kind == "podman":
        asked = "{{.Host.MemTotal}} {{.Host.ServiceIsRemote}} {{json .Host.CgroupControllers}}"
        memory, is_remote, controllers = (await ask("info", "--format", asked)).split()
        _refuse_elsewhere(path, "another machine" if is_remote == "true" else "")
        keeps_limits = {"memory", "pids"} <= set(json.loads(controllers) or ())
    else:
        place = await ask("context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
        _refuse_elsewhere(path, "" if place.startswith("unix://") else place)
        await ask("version", "--format", "{{.Server.Version}}")  # says it plainly where there is no daemon
        memory, *limited = (await ask("info", "--format", "{{.MemTotal}} {{.MemoryLimit}} {{.PidsLimit}}")).split()
        keeps_limits = limited == ["true", "true"]
    if not memory.isdigit() or not int(memory):
        raise SandboxUnavailable(f"{path} does not answer: it says nothing about its memory")
    return ContainerProgram(path, kind, int(memory), keeps_limits, environment, processes)


def _refuse_elsewhere(path: str, place: str) -> None:
    if place:
        raise SandboxUnavailable(
            f"the containers of {path} run elsewhere ({place}), where the files of a trial are not",
            hint="use a container runtime of this machine: unset DOCKER_HOST, or choose another docker context",
        )


def said(result: ProcessResult) -> str:
    """What went wrong: what the daemon said, else the last line of stderr that is neither advice nor a log entry."""
    lines = result.stderr.decode(errors="replace").strip().splitlines()
    written = [line for line in lines if line.strip() and not line.startswith(_BESIDE)]
    by_daemon = [line for line in written if _BY_DAEMON in line]
    for line in by_daemon[-1:] or written[-1:] or lines[-1:]:
        return line.removeprefix("docker: ").removeprefix("Error: ").strip()[:500]
    return f"exit code {result.exit_code}" if result.ended == "exited" else f"its {result.ended} ran out"
