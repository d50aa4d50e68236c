"""docker and podman through their command lines: containers are run, ended, looked at and removed.

The command-line program is an ordinary process (`none.py`); the container is not, so ending the one never ends the
other. Each container is removed by its name; what a killed harness leaves is removed by `container_watcher.py`, and
what a machine that died leaves by `container_reaper.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from evalharness.contracts.containers import BindMount, ContainerRequest, ContainerResult, Containers, VolumeMount
from evalharness.contracts.sandbox import NO_OWNER, Ended, Owner, ProcessRequest, ProcessResult
from evalharness.domain.finding import Finding, finding
from evalharness.domain.run import ContainerOptions
from evalharness.errors import SandboxUnavailable, TargetUnavailable
from evalharness.sandboxes import container_command, container_files, container_watcher, foreign_files
from evalharness.sandboxes.bubblewrap_command import memory_file
from evalharness.sandboxes.container_command import KEPT_LABEL, PROCESS_LABEL, Kind
from evalharness.sandboxes.container_gate import NOT_THERE, SHELL, ContainerGate, words_behind_the_gate
from evalharness.sandboxes.container_images import ContainerImages
from evalharness.sandboxes.container_profile import profile
from evalharness.sandboxes.container_program import ANSWER_S, PULL_S, ContainerProgram, found_program, said
from evalharness.sandboxes.container_reaper import reap
from evalharness.sandboxes.container_watcher import ContainerWatcher
from evalharness.sandboxes.memory_budget import SHARE, MemoryBudget
from evalharness.sandboxes.none import NoSandbox, Watch
from evalharness.sandboxes.system_image import system_image
from evalharness.settings import Settings
from evalharness.workspaces import OF_NO_RUN, LockedFolder

END_S = 10.0
"""How long a command line may take to end after its container has."""
_TRIES = 3
_KILLED = 137
_NOT_EXECUTED = {126, 127}
_INIT_FAILED = (b"[FATAL tini", b"ERROR (catatonit", b"ERROR (tini", NOT_THERE.encode())
_NEVER = "0001-01-01"


class ContainerRuntime(Containers):
    """Runs any number of containers at once, in one event loop."""

    def __init__(self, options: ContainerOptions | None = None) -> None:
        self._options = options or ContainerOptions()
        self._processes = NoSandbox(is_guarded=False)  # that is the watcher's part
        self._profile = profile()
        self._process_id = secrets.token_hex(8)
        self._opening = asyncio.Lock()
        self._program: ContainerProgram | None = None
        self._looked_up: ContainerImages | None = None
        self._memory: MemoryBudget | None = None
        self._narrowed: Finding | None = None
        self._watcher: ContainerWatcher | None = None
        self._left: set[str] = set()  # containers that were not removed yet
        self._gates: dict[str, ContainerGate] = {}  # by container
        self._removing: set[asyncio.Task[None]] = set()
        self._volumes: dict[str, tuple[str, ...]] = {}  # by container
        self._shells: dict[str, asyncio.Task[bool]] = {}  # whether an image has one
        self._may_appear = False  # a command line was ended before it said what became of its request

    @property
    def kind(self) -> Kind:
        return self._found.kind

    @property
    def _found(self) -> ContainerProgram:
        assert self._program is not None, "open() finds it"
        return self._program

    @property
    def _images(self) -> ContainerImages:
        assert self._looked_up is not None, "open() makes it"
        return self._looked_up

    async def open(self) -> None:
        async with self._opening:
            if self._program is None:
                environment = Settings.read().environment
                self._program = await found_program(self._options.runtime, environment, self._processes)
                self._looked_up = ContainerImages(self._program, self._options)
                self._memory = MemoryBudget(self._program.memory_bytes)
            if self._watcher is None:
                self._watcher = self._started_watcher()

    def _started_watcher(self) -> ContainerWatcher:
        program, label = self._found, f"{PROCESS_LABEL}={self._process_id}"
        try:
            return ContainerWatcher(program.path, program.environment, label, KEPT_LABEL, self._processes.marks)
        except OSError as error:
            raise SandboxUnavailable(f"cannot start the process that watches over containers: {error}") from error

    def expect(self, memory_bytes: int, at_once: int) -> tuple[Finding, ...]:
        assert self._memory is not None, "open() finds it"
        notes, fit = self._limit_notes(), self._memory.at_once(memory_bytes)
        if fit >= at_once:
            return notes
        narrowed = _at_once(fit, memory_bytes, asked=at_once)
        if self._narrowed is None or fit < self._narrowed.params["at_once"]:
            self._narrowed = narrowed
        return (*notes, narrowed)

    def _limit_notes(self) -> tuple[Finding, ...]:
        if self._program is None or self._program.keeps_limits:
            return ()
        return (finding("run.container_limits_not_kept", runtime=self.kind),)

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
        waits_at: Path | None = None
        async with AsyncExitStack() as held:
            if request.reaches is not None:
                if request.entrypoint is None:
                    words = await self.command_line(request.image, request.argv)
                else:
                    words = (request.entrypoint, *request.argv)
                if has_shell is None:
                    has_shell = words[0] == SHELL or await self._has_shell(request.image)
                is_outside = self.kind == "podman" and not (has_shell or request.is_isolated)
                gate = ContainerGate(request.reaches, owner.run_id, has_shell=has_shell, is_outside=is_outside)
                self._gates[name] = gate
                held.push_async_callback(gate.close)
                if is_outside:
                    waits_at = gate.pipe
                else:
                    request = await gate.before(request, words)
                watch = gate.watch(partial(self._pid_of, name), self._processes, watch)
            await held.enter_async_context(self._memory.reserved(request.limits.memory_bytes))
            try:
                return await self._run(name, request, owner, watch, waits_at)
            finally:
                await self._take_files_back(request, owner)

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
        return int(await self._found.say("inspect", "--type", "container", "--format", "{{.State.Pid}}", name))

    async def _run(
        self,
        name: str,
        request: ContainerRequest,
        owner: Owner,
        watch: Watch | None = None,
        waits_at: Path | None = None,
    ) -> ContainerResult:
        """`waits_at`: podman is to start its program only when something can be read from this pipe."""
        marks = container_command.labels(owner, self._process_id, is_kept=self._options.keep)
        self._left.add(name)
        try:
            volumes = await self._make_volumes(name, request, marks)
            request = replace(request, mounts=(*volumes, *request.mounts))
            program = await self._program_of(request)
            with ExitStack() as held:
                env = container_command.runtime_environment(self._found.environment, request)
                profile = memory_file(held, self._profile) if request.is_isolated and self._profile else None
                variables = memory_file(held, lines) if (lines := container_command.env_file(request)) else None
                read = [descriptor for descriptor in (profile, variables) if descriptor is not None]
                words = container_command.container_words(request, name, marks, self.kind, profile, variables)
                if waits_at is None:
                    argv = [self._found.path, *container_command.RUN_WORDS, *words]
                else:
                    await self._found.say("create", *words, env=env, pass_fds=read)
                    line = container_command.START_AFTER_READING
                    argv = [SHELL, "-c", line, self._found.path, name, str(waits_at)]
                process = ProcessRequest(
                    argv=tuple(argv),
                    cwd="/",
                    env=env,
                    stdin=request.stdin,
                    timeout_s=None if request.timeout_s is None else request.timeout_s + END_S,
                    keep_bytes=request.keep_bytes,
                    flood_bytes=request.flood_bytes,
                )
                result = await self._attached(name, process, request.timeout_s, watch, read)
            if result.ended == "exited":
                result = await self._checked(name, request, result, marks, program)
            elif result.ended == "flood":
                await self._end(name)
        except BaseException:
            self._may_appear = True
            await self._discard(name)
            raise
        return ContainerResult(name, result)

    async def _take_files_back(self, request: ContainerRequest, owner: Owner) -> None:
        """What the container left in folders of this machine can be read and removed by the harness."""
        if request.is_isolated or os.geteuid() == 0:  # an isolated program runs as the harness's own user
            return
        for mount in request.mounts:
            folder = Path(mount.source) if isinstance(mount, BindMount) and mount.is_writable else None
            if folder is not None and await asyncio.to_thread(foreign_files.are_in, folder):
                mine = LockedFolder(owner.run_id or OF_NO_RUN)
                try:
                    given = foreign_files.chown_request(mine.path, folder, await self.system_image())
                    done = await self._run(container_command.container_name(owner), given, owner)
                    await self._discard(done.name)
                finally:
                    mine.remove()
                if done.process.exit_code != 0:
                    raise SandboxUnavailable(f"files that a container left are another user's: {said(done.process)}")

    async def _make_volumes(self, name: str, request: ContainerRequest, marks: Mapping[str, str]) -> list[VolumeMount]:
        """Those that the image declares. The runtime would make them without labels, and nobody would find them.

        Those of a container that is to be kept are left to the runtime: whoever removes it can remove both at once.
        """
        if self._options.keep:
            return []
        covered = {PurePosixPath(mount.place) for mount in request.mounts}
        declared = await self._images.volumes(request.image)
        places = [place for place in declared if PurePosixPath(place) not in covered]
        made = [VolumeMount(f"{name}-{number}", place) for number, place in enumerate(places, 1)]
        self._volumes[name] = tuple(volume.name for volume in made)
        for volume in made:
            await self._found.say("volume", "create", *container_command.label_flags(marks), volume.name)
        return made

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
        with _blaming_this_machine():
            return await container_files.export(self._found, name, folder)

    async def copy_back(self, name: str, place: str, folder: Path) -> frozenset[str]:
        with _blaming_this_machine():
            return await container_files.copy_back(self._found, name, place, folder)

    async def commit(self, name: str) -> str:
        self._may_appear = True  # `close` removes it if nobody else does
        labels = (f"{PROCESS_LABEL}={self._process_id}", f"{container_command.TEMPORARY_LABEL}=true")
        change = [word for label in labels for word in ("--change", f"LABEL {label}")]
        # podman would die of its own progress, and leave its files, if its reader were killed
        quiet = ("--quiet",) if self.kind == "podman" else ()
        beside = LockedFolder(OF_NO_RUN)  # where it writes temporary files: if it is killed, the next run removes them
        try:
            env = {**self._found.environment, "TMPDIR": str(beside.path)}
            return (await self._found.say("commit", *quiet, *change, name, timeout_s=PULL_S, env=env)).strip()
        finally:
            await asyncio.to_thread(beside.remove)

    async def remove_image(self, image: str) -> None:
        # Not by force where containers are kept: podman would remove those that were started from it.
        words = ("rmi", "--no-prune") if self._options.keep else container_watcher.REMOVE_IMAGES
        await self._found.call(*words, image)

    async def image_id(self, image: str) -> str:
        await self.open()
        return await self._images.image_id(image)

    async def local_id(self, image: str) -> str:
        await self.open()
        return await self._images.local_id(image)

    async def command_line(self, image: str, argv: tuple[str, ...]) -> tuple[str, ...]:
        return await self._images.command_line(image, argv)

    async def user(self, image: str) -> str:
        return await self._images.user(image)

    async def has_program(self, image: str, program: str) -> bool:
        await self.open()
        labels = container_command.label_flags({PROCESS_LABEL: self._process_id})
        return await self._images.has_program(ContainerRequest(image), program, labels)

    async def build(self, folder: Path | None, dockerfile: str, name: str = "") -> str:
        await self.open()
        return await self._images.build(folder, dockerfile, name)

    async def check_limits(self) -> None:
        """Raises SandboxUnavailable where containers could use all memory and processes of the machine."""
        await self.open()
        if not self._found.keeps_limits:
            raise SandboxUnavailable(
                f"{self.kind} cannot limit the memory and processes of this user's containers",
                hint="run as root, delegate version 2 control groups to this user, or choose another sandbox",
            )

    async def system_image(self) -> str:
        await self.open()
        return await system_image(self._images)

    async def reap(self, store_id: str, is_abandoned: Callable[[str], bool]) -> None:
        if self._program is not None and store_id:
            await reap(self._program, store_id, is_abandoned, self._discard)

    def notes(self) -> tuple[Finding, ...]:
        """Limits that cannot be kept, and how many containers fit into the machine's memory, if fewer than were wanted
        or if any had to wait."""
        if self._narrowed is not None:
            return (*self._limit_notes(), self._narrowed)
        memory = self._memory
        if memory is None or not memory.has_waited:
            return self._limit_notes()
        return (*self._limit_notes(), _at_once(memory.total_bytes // memory.largest_bytes, memory.largest_bytes))

    async def close(self) -> None:
        try:
            if self._program is not None:
                await asyncio.gather(*self._removing, return_exceptions=True)
                for name in () if self._options.keep else tuple(self._left):
                    await self._discard(name)
                if self._may_appear and not self._options.keep:
                    await self._sweep()
        finally:
            for gate in self._gates.values():
                gate.remove_folder()
            await self._processes.close()
            if self._watcher is not None:
                self._watcher.close()
                self._watcher = None

    async def _sweep(self) -> None:
        label = f"{PROCESS_LABEL}={self._process_id}"
        call = partial(container_watcher.call, self._found.path, environment=self._found.environment)
        await asyncio.to_thread(container_watcher.sweep, call, label, KEPT_LABEL)

    async def _checked(
        self, name: str, request: ContainerRequest, result: ProcessResult, marks: Mapping[str, str], program: str
    ) -> ProcessResult:
        """The result of the program, not that of the command line; raises where there is none.

        `program` is what `_program_of` returned before the start.
        """
        asked = await self._found.call("inspect", "--type", "container", "--format", "{{json .State}}", name)
        if asked.exit_code != 0:
            self._may_appear = True
            raise SandboxUnavailable(f"{self.kind} failed: {said(result) or said(asked)}")
        state: dict[str, Any] = json.loads(asked.stdout)
        if str(state.get("StartedAt", _NEVER)).startswith(_NEVER):
            raise TargetUnavailable(f"cannot start '{_first_word(request)}' in a container: {said(result)}")
        if state.get("Running") or state.get("ExitCode") != result.exit_code:
            raise SandboxUnavailable(f"{self.kind} lost its container: {said(result)}")
        if program and _seems_unstarted(result):
            labels = container_command.label_flags({name: value for name, value in marks.items() if name != KEPT_LABEL})
            if not await self._images.has_program(request, program, labels):  # the program could say so itself
                needed = ", which `setup` and a command on one line need" if program == SHELL else ""
                raise TargetUnavailable(f"cannot start '{program}' in a container: its image has no {program}{needed}")
        # podman does not report it where control groups have version 1
        is_out = state.get("OOMKilled") or (self.kind == "podman" and result.exit_code == _KILLED)
        return _passed(result, "memory") if is_out else result

    async def _program_of(self, request: ContainerRequest) -> str:
        """The program that an init starts from the image; empty if it is a file of this machine, which may change."""
        if not request.has_init:
            return ""
        waiting = words_behind_the_gate(request)
        words = waiting or (request.entrypoint and (request.entrypoint,))
        program = (words or await self.command_line(request.image, request.argv))[0]
        return "" if await self._images.is_mounted(request, program) else program

    async def _end(self, name: str) -> None:
        """The command line was ended at a limit; now its container is, too."""
        if (await self._found.call("kill", name)).exit_code != 0:
            self._may_appear = True

    async def _discard(self, name: str) -> None:
        for _ in range(_TRIES):  # the first may fail where something else is still cleaning up
            removed = await self._found.call("rm", "--force", "--volumes", name)
            if removed.exit_code == 0 or b"o such container" in removed.stderr or b"in progress" in removed.stderr:
                self._left.discard(name)
                volumes = self._volumes.pop(name, ())
                if volumes and (await self._found.call("volume", "rm", *volumes)).exit_code != 0:
                    self._may_appear = True  # where the container is still being removed, it has them
                break
        if gate := self._gates.pop(name, None):
            await asyncio.to_thread(gate.remove_folder)


def _at_once(at_once: int, each_bytes: int, asked: int = 0) -> Finding:
    return finding("run.containers_at_once", at_once=at_once, each_bytes=each_bytes, share=SHARE, asked=asked)


@contextmanager
def _blaming_this_machine() -> Iterator[None]:
    """What is left of errors when those of the program's making are EndStateUnreadable."""
    try:
        yield
    except OSError as error:
        raise SandboxUnavailable(f"what the program left cannot be copied: {error.strerror or error}") from error


def _passed(result: ProcessResult, ended: Ended) -> ProcessResult:
    return replace(result, ended=ended, exit_code=None)


def _seems_unstarted(result: ProcessResult) -> bool:
    """The init of a container speaks for a program that it could not execute."""
    is_code = result.exit_code in {1, *_NOT_EXECUTED}
    *_, last = result.stderr.strip().splitlines() or [b""]  # warnings of the runtime may come before
    return is_code and not result.stdout and last.startswith(_INIT_FAILED)


def _first_word(request: ContainerRequest) -> str:
    return request.entrypoint or (request.argv[0] if request.argv else request.image)
