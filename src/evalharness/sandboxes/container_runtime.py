"""docker and podman through their command lines: containers are run, ended, looked at and removed.

The command-line program is an ordinary process (`none.py`); the container is not, so ending the one never ends the
other. Each container is removed by its name; what a killed harness leaves is removed by `container_watcher.py`, and
what a machine that died leaves by `reap`.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from evalharness.contracts.containers import ContainerRequest, ContainerResult, Containers
from evalharness.contracts.sandbox import NO_OWNER, Ended, Owner, ProcessRequest, ProcessResult
from evalharness.domain.finding import Finding, finding
from evalharness.domain.run import ContainerOptions
from evalharness.errors import Hint, SandboxUnavailable, TargetUnavailable
from evalharness.sandboxes import container_command
from evalharness.sandboxes.bubblewrap_command import memory_file
from evalharness.sandboxes.container_command import KEPT_LABEL, PROCESS_LABEL, RUN_LABEL, STORE_LABEL, Kind
from evalharness.sandboxes.container_gate import NOT_THERE, SHELL, ContainerGate
from evalharness.sandboxes.container_profile import profile
from evalharness.sandboxes.container_watcher import ContainerWatcher
from evalharness.sandboxes.memory_budget import SHARE, MemoryBudget
from evalharness.sandboxes.none import NoSandbox, Watch
from evalharness.sandboxes.unpacked_archive import made_folder, unpack
from evalharness.settings import Settings

PROGRAMS: tuple[Kind, ...] = ("docker", "podman")
ANSWER_S = 60.0
"""How long the runtime may take for what takes it moments."""
PULL_S = 3600.0
END_S = 10.0
"""How long a command line may take to end after its container has."""
_TRIES = 3
ENTRY_BYTES = 16_777_216
LARGEST_EXPORT = 16 * 1024**3
_KILLED = 137
_NOT_EXECUTED = {126, 127}
_INIT_FAILED = (b"[FATAL tini", b"ERROR (catatonit", b"ERROR (tini", NOT_THERE.encode())
_NEVER = "0001-01-01"


@dataclass(frozen=True, slots=True)
class _Runtime:
    program: str
    kind: Kind
    memory_bytes: int
    environment: Mapping[str, str]


class ContainerRuntime(Containers):
    """Runs any number of containers at once, in one event loop."""

    def __init__(self, options: ContainerOptions | None = None) -> None:
        self._options = options or ContainerOptions()
        self._processes = NoSandbox()
        self._profile = profile()
        self._process_id = secrets.token_hex(8)
        self._opening = asyncio.Lock()
        self._runtime: _Runtime | None = None
        self._memory: MemoryBudget | None = None
        self._narrowed: Finding | None = None
        self._watcher: ContainerWatcher | None = None
        self._left: set[str] = set()  # containers that were not removed yet
        self._gates: dict[str, ContainerGate] = {}  # by container
        self._removing: set[asyncio.Task[None]] = set()
        self._starts: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}  # entrypoint and command of an image
        self._ids: dict[str, asyncio.Task[str]] = {}  # digests of images by name
        self._shells: dict[str, asyncio.Task[bool]] = {}  # whether an image has one
        self._may_appear = False  # a command line was ended before it said what became of its request

    @property
    def kind(self) -> Kind:
        return self._found.kind

    @property
    def _found(self) -> _Runtime:
        assert self._runtime is not None, "open() finds it"
        return self._runtime

    async def open(self) -> None:
        async with self._opening:
            if self._runtime is None:
                self._runtime = await self._find()
                self._memory = MemoryBudget(self._runtime.memory_bytes)

    def expect(self, memory_bytes: int, at_once: int) -> Finding | None:
        assert self._memory is not None, "open() finds it"
        fit = self._memory.at_once(memory_bytes)
        if fit >= at_once:
            return None
        narrowed = _at_once(fit, memory_bytes, asked=at_once)
        if self._narrowed is None or fit < self._narrowed.params["at_once"]:
            self._narrowed = narrowed
        return narrowed

    async def run(
        self,
        request: ContainerRequest,
        owner: Owner = NO_OWNER,
        *,
        watch: Watch | None = None,
        has_shell: bool | None = None,
    ) -> ContainerResult:
        """`watch` returns when a limit is exceeded that the runtime does not keep. `has_shell`: whether there is one in
        the container; None where the image must be asked."""
        await self.open()
        assert self._memory is not None
        name = container_command.container_name(owner)
        async with AsyncExitStack() as held:
            if request.reaches is not None:
                if request.entrypoint is None:
                    words = await self.command_line(request.image, request.argv)
                else:
                    words = (request.entrypoint, *request.argv)
                if has_shell is None:
                    has_shell = words[0] == SHELL or await self._has_shell(request.image)
                gate = self._gates[name] = ContainerGate(request.reaches, owner.run_id, has_shell=has_shell)
                held.push_async_callback(gate.close)
                request = await gate.before(request, words)
                watch = gate.watch(partial(self._pid_of, name), self._processes, watch)
            await held.enter_async_context(self._memory.reserved(request.limits.memory_bytes))
            return await self._run(name, request, owner, watch)

    async def _has_shell(self, image: str) -> bool:
        """Asked once of each image: a container of it is tried."""
        if image not in self._shells:
            tried = ContainerRequest(image, ("-c", ":"), entrypoint=SHELL, timeout_s=ANSWER_S, has_init=False)
            self._shells[image] = asyncio.create_task(self._can_run(tried))
        return await asyncio.shield(self._shells[image])

    async def _can_run(self, request: ContainerRequest) -> bool:
        try:
            result = await self.run(request)
        except SandboxUnavailable:
            raise
        except TargetUnavailable:
            return False
        await self._discard(result.name)  # nobody wants to look at it
        return result.process.exit_code == 0

    async def _pid_of(self, name: str) -> int:
        return int(await self._say("inspect", "--type", "container", "--format", "{{.State.Pid}}", name))

    async def _run(self, name: str, request: ContainerRequest, owner: Owner, watch: Watch | None) -> ContainerResult:
        self._start_watcher()
        marks = container_command.labels(owner, self._process_id, is_kept=self._options.keep)
        self._left.add(name)
        try:
            with ExitStack() as held:
                filtered = memory_file(held, self._profile) if request.is_isolated and self._profile else None
                process = ProcessRequest(
                    argv=(self._found.program, *container_command.run_words(request, name, marks, self.kind, filtered)),
                    cwd="/",
                    env=container_command.runtime_environment(self._found.environment, request),
                    stdin=request.stdin,
                    timeout_s=None if request.timeout_s is None else request.timeout_s + END_S,
                    keep_bytes=request.keep_bytes,
                    flood_bytes=request.flood_bytes,
                )
                result = await self._attached(name, process, request.timeout_s, watch, [filtered] if filtered else [])
            if result.ended == "exited":
                result = await self._checked(name, request, result)
            elif result.ended == "flood":
                await self._end(name)
        except BaseException:
            self._may_appear = True
            await self._discard(name)
            raise
        return ContainerResult(name, result)

    async def _attached(
        self, name: str, process: ProcessRequest, timeout_s: float | None, watch: Watch | None, pass_fds: list[int]
    ) -> ProcessResult:
        """At a limit the container is ended first, and then the command line ends by itself.

        podman would otherwise lose its own process that looks after the container, and what that knows.
        """
        passed: list[Ended] = []

        async def end_at_limit(pid: int) -> Ended:
            assert watch is not None
            passed.append(await watch(pid))
            await self._end(name)
            await asyncio.sleep(END_S)
            return passed[0]

        running = asyncio.create_task(
            self._processes.run(process, watch=end_at_limit if watch else None, pass_fds=pass_fds)
        )
        try:
            done, _ = await asyncio.wait([running], timeout=timeout_s)
            if not done:
                passed.append("timeout")
                await self._end(name)
            result = await running
        except asyncio.CancelledError:
            if not running.done():
                await self._end(name)
                await asyncio.wait([running], timeout=END_S)
                running.cancel()
                await asyncio.wait([running])
            raise
        return _passed(result, passed[0]) if passed else result

    async def remove(self, name: str) -> None:
        """It has ended, so nobody needs to wait until it is gone; `close` does."""
        if self._options.keep:
            self._left.discard(name)
        else:
            removing = asyncio.create_task(self._discard(name))
            self._removing.add(removing)
            removing.add_done_callback(self._removing.discard)

    async def export(self, name: str, folder: Path) -> tuple[str, ...]:
        """The files of the container first, then those of its volumes, which are no part of them."""
        mounts = json.loads(await self._say("inspect", "--type", "container", "--format", "{{json .Mounts}}", name))
        volumes = tuple(str(mount["Destination"]) for mount in mounts if mount["Type"] == "volume")
        with tempfile.TemporaryDirectory(prefix="unpacked-", dir=folder.parent) as beside:
            archive = Path(beside) / "files.tar"
            await self._save(archive, "export", name)
            await asyncio.to_thread(unpack, archive, folder)
            for place in volumes:
                await self._save(archive, "cp", f"{name}:{place}/.", "-")
                await asyncio.to_thread(unpack, archive, made_folder(folder, place))
        return volumes

    async def _save(self, archive: Path, *words: str) -> None:
        """What it writes to its output, which is no text and may be large, in a file."""
        line = f'ulimit -f {LARGEST_EXPORT // 512}; out=$1; shift; exec "$@" >"$out"'
        argv = ("/bin/sh", "-c", line, "sh", str(archive), self._found.program, *words)
        saved = await self._processes.run(ProcessRequest(argv, "/", self._found.environment, timeout_s=PULL_S))
        if saved.exit_code != 0:
            raise SandboxUnavailable(f"{self.kind} {words[0]} failed: {_said(saved)}")

    async def commit(self, name: str) -> str:
        self._may_appear = True  # `close` removes it if nobody else does
        change = ("--change", f"LABEL {PROCESS_LABEL}={self._process_id}")
        return (await self._say("commit", *change, name, timeout_s=PULL_S)).strip()

    async def remove_image(self, image: str) -> None:
        await self._call("rmi", "--force", image)

    async def image_id(self, image: str) -> str:
        """Looked up once: a run means one image by a name."""
        if image not in self._ids:
            self._ids[image] = asyncio.create_task(self._pulled(image))
        return await asyncio.shield(self._ids[image])

    async def _pulled(self, image: str) -> str:
        await self.open()
        inspect = ("image", "inspect", "--format", "{{.Id}}", image)
        found = None if self._options.pull == "always" else await self._call(*inspect)
        if found is None or found.exit_code != 0:
            if self._options.pull == "never":
                hint = Hint("hint.pull_image", image=image, runtime=self.kind)
                raise TargetUnavailable(f"there is no image {image} here", hint=hint)
            pulled = await self._call("pull", "--quiet", image, timeout_s=PULL_S)
            if pulled.exit_code != 0:
                hint = Hint("hint.no_image", image=image, runtime=self.kind)
                raise TargetUnavailable(f"the image {image} cannot be pulled: {_said(pulled)}", hint=hint)
            return (await self._say(*inspect)).strip().removeprefix("sha256:")
        return found.stdout.decode().strip().removeprefix("sha256:")

    async def command_line(self, image: str, argv: tuple[str, ...]) -> tuple[str, ...]:
        if image not in self._starts:
            written = await self._say("image", "inspect", "--format", "{{json .Config}}", image)
            self._starts[image] = (_words(written, "Entrypoint"), _words(written, "Cmd"))
        entrypoint, command = self._starts[image]
        words = (*entrypoint, *(argv or command))
        if not words:
            raise TargetUnavailable(f"the image {image} says no command to run", hint="give one")
        return words

    async def build(self, folder: Path | None, dockerfile: str) -> str:
        """The context is the folder, or nothing but the Dockerfile."""
        await self.open()
        env = {**self._found.environment, "DOCKER_BUILDKIT": "0"} if self.kind == "docker" else None
        words = ("build", "--quiet", "--force-rm", f"--pull={'true' if self._options.pull == 'always' else 'false'}")
        context = ("--file", "-", str(folder)) if folder is not None else ("-",)
        built = await self._call(*words, *context, stdin=dockerfile.encode(), env=env, timeout_s=PULL_S)
        if built.exit_code != 0:
            raise TargetUnavailable(f"the image cannot be built: {_said(built)}")
        return built.stdout.decode().split()[-1].removeprefix("sha256:")

    async def load(self, name: str, archive: bytes) -> None:
        """An image with this name, made of one archive of its files, unless there is one."""
        await self.open()
        if (await self._call("image", "inspect", "--format", "{{.Id}}", name)).exit_code != 0:
            await self._say("import", "-", name, stdin=archive)

    async def reap(self, store_id: str, is_abandoned: Callable[[str], bool]) -> None:
        if self._runtime is None or not store_id:
            return
        ids = (await self._say("ps", "-aq", "--no-trunc", "--filter", f"label={STORE_LABEL}={store_id}")).split()
        if not ids:
            return
        labels = f'{{{{.Id}}}}|{{{{index .Config.Labels "{RUN_LABEL}"}}}}|{{{{index .Config.Labels "{KEPT_LABEL}"}}}}'
        described = await self._call("inspect", "--type", "container", "--format", labels, *ids)  # some may be gone
        found = [line.split("|") for line in described.stdout.decode().splitlines()]
        run_of = {words[0]: words[1] for words in found if words[2] != "true"}
        abandoned = {run for run in set(run_of.values()) if is_abandoned(run)}
        for container in (container for container, run in run_of.items() if run in abandoned):
            await self._discard(container)

    def notes(self) -> tuple[Finding, ...]:
        """How many containers fit into the machine's memory, if fewer than were wanted or if any had to wait."""
        if self._narrowed is not None:
            return (self._narrowed,)
        memory = self._memory
        if memory is None or not memory.has_waited:
            return ()
        return (_at_once(memory.total_bytes // memory.largest_bytes, memory.largest_bytes),)

    async def close(self) -> None:
        try:
            if self._runtime is not None:
                await asyncio.gather(*self._removing, return_exceptions=True)
                for name in () if self._options.keep else tuple(self._left):
                    await self._discard(name)
                if self._may_appear and not self._options.keep:
                    await self._sweep()
        finally:
            for gate in self._gates.values():
                gate.remove_folder()
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None
            await self._processes.close()

    async def _sweep(self) -> None:
        flags = ("--filter", f"label={PROCESS_LABEL}={self._process_id}")
        for listing, removing in (
            (("ps", "-aq", "--no-trunc"), ("rm", "--force", "--volumes")),
            (("images", "-q", "--no-trunc"), ("rmi", "--force")),
        ):
            found = (await self._call(*listing, *flags)).stdout.decode().split()
            if found:
                await self._call(*removing, *found)

    def _start_watcher(self) -> None:
        if self._watcher is None:
            filters = [f"label={PROCESS_LABEL}={self._process_id}"]
            self._watcher = ContainerWatcher(self._found.program, self._found.environment, filters, KEPT_LABEL)

    async def _checked(self, name: str, request: ContainerRequest, result: ProcessResult) -> ProcessResult:
        """The result of the program, not that of the command line; raises where there is none."""
        asked = await self._call("inspect", "--type", "container", "--format", "{{json .State}}", name)
        if asked.exit_code != 0:
            self._may_appear = True
            raise SandboxUnavailable(f"{self.kind} failed: {_said(result) or _said(asked)}")
        state: dict[str, Any] = json.loads(asked.stdout)
        if str(state.get("StartedAt", _NEVER)).startswith(_NEVER):
            raise TargetUnavailable(f"cannot start '{_first_word(request)}' in a container: {_said(result)}")
        if state.get("Running") or state.get("ExitCode") != result.exit_code:
            raise SandboxUnavailable(f"{self.kind} lost its container: {_said(result)}")
        if request.has_init and result.stderr.startswith(_INIT_FAILED) and result.exit_code in {1, *_NOT_EXECUTED}:
            raise TargetUnavailable(f"cannot start '{_first_word(request)}' in a container: {_said(result)}")
        # podman does not report it where control groups have version 1
        is_out = state.get("OOMKilled") or (self.kind == "podman" and result.exit_code == _KILLED)
        return _passed(result, "memory") if is_out else result

    async def _end(self, name: str) -> None:
        """The command line was ended at a limit; now its container is, too."""
        if (await self._call("kill", name)).exit_code != 0:
            self._may_appear = True

    async def _discard(self, name: str) -> None:
        for _ in range(_TRIES):  # the first may fail where something else is still cleaning up
            removed = await self._call("rm", "--force", "--volumes", name)
            if removed.exit_code == 0 or b"o such container" in removed.stderr or b"in progress" in removed.stderr:
                self._left.discard(name)
                break
        if gate := self._gates.pop(name, None):
            await asyncio.to_thread(gate.remove_folder)

    async def _find(self) -> _Runtime:
        """The first runtime that answers, of those that are installed."""
        environment = Settings.read().environment
        asked = (self._options.runtime,) if self._options.runtime else PROGRAMS
        wrong: list[str] = []
        hints: list[Hint | str] = []
        for name in asked:
            program = shutil.which(name, path=environment.get("PATH", ""))
            if program is None:
                wrong.append(f"{name} is not installed")
                continue
            try:
                return await self._described(program, container_command.own_environment(environment))
            except SandboxUnavailable as error:
                wrong.append(error.message)
                hints += [error.hint] if error.hint else []
        raise SandboxUnavailable(
            f"containers need a container runtime: {'; '.join(wrong)}",
            hint=hints[0] if hints else Hint("hint.install_containers"),
        )

    async def _described(self, program: str, environment: Mapping[str, str]) -> _Runtime:
        async def ask(*words: str) -> str:
            request = ProcessRequest((program, *words), "/", environment, timeout_s=ANSWER_S)
            answered = await self._processes.run(request)
            if answered.exit_code != 0:
                raise SandboxUnavailable(f"{program} does not answer: {_said(answered)}")
            return answered.stdout.decode(errors="replace").strip()

        kind: Kind = "podman" if "podman" in (await ask("--version")).lower() else "docker"
        if kind == "podman":
            memory, is_remote = (await ask("info", "--format", "{{.Host.MemTotal}} {{.Host.ServiceIsRemote}}")).split()
            _refuse_elsewhere(program, "another machine" if is_remote == "true" else "")
        else:
            place = await ask("context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
            _refuse_elsewhere(program, "" if place.startswith("unix://") else place)
            memory = await ask("info", "--format", "{{.MemTotal}}")
        if not memory.isdigit() or not int(memory):
            raise SandboxUnavailable(f"{program} does not answer: it says nothing about its memory")
        return _Runtime(program, kind, int(memory), environment)

    async def _say(self, *words: str, stdin: bytes = b"", timeout_s: float = ANSWER_S) -> str:
        """What it answered; raises SandboxUnavailable if it refused."""
        answered = await self._call(*words, stdin=stdin, timeout_s=timeout_s)
        if answered.exit_code != 0:
            raise SandboxUnavailable(f"{self.kind} {words[0]} failed: {_said(answered)}")
        return answered.stdout.decode(errors="replace")

    async def _call(
        self, *words: str, stdin: bytes = b"", timeout_s: float = ANSWER_S, env: Mapping[str, str] | None = None
    ) -> ProcessResult:
        own = self._found.environment if env is None else env
        argv = (self._found.program, *words)
        request = ProcessRequest(argv, "/", own, stdin=stdin, timeout_s=timeout_s, keep_bytes=ENTRY_BYTES)
        return await self._processes.run(request)


def _at_once(at_once: int, each_bytes: int, asked: int = 0) -> Finding:
    return finding("run.containers_at_once", at_once=at_once, each_bytes=each_bytes, share=SHARE, asked=asked)


def _passed(result: ProcessResult, ended: Ended) -> ProcessResult:
    return replace(result, ended=ended, exit_code=None)


def _refuse_elsewhere(program: str, place: str) -> None:
    if place:
        raise SandboxUnavailable(
            f"the containers of {program} run elsewhere ({place}), where the files of a trial are not",
            hint="use a container runtime of this machine: unset DOCKER_HOST, or choose another docker context",
        )


def _words(config: str, name: str) -> tuple[str, ...]:
    """podman writes down an entrypoint of one word as a text."""
    written = json.loads(config).get(name)
    return tuple(written.split() if isinstance(written, str) else written or ())


def _first_word(request: ContainerRequest) -> str:
    return request.entrypoint or (request.argv[0] if request.argv else request.image)


def _said(result: ProcessResult) -> str:
    lines = result.stderr.decode(errors="replace").strip().splitlines()
    said = [line for line in lines if line.strip() and not line.startswith("Run 'docker ")]
    if said:
        return said[-1].removeprefix("docker: ").removeprefix("Error: ").strip()[:500]
    return f"exit code {result.exit_code}" if result.ended == "exited" else f"its {result.ended} ran out"
