"""container: an agent in a container of its own for each trial, with the trial's workspace mounted in it.

The container starts from a clean image every time, and has no network unless the target says so. Its program gets the
question as a `command` target does, and what it prints is read in the same ways.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from evalharness.contracts.containers import AGENT_LIMITS, BindMount, ContainerRequest
from evalharness.contracts.sandbox import Limits, ProcessResult
from evalharness.contracts.services import Services
from evalharness.contracts.target import Target, Task
from evalharness.documents.session_image import image_named_by
from evalharness.domain.case import Case, CaseFile
from evalharness.domain.finding import finding
from evalharness.domain.options import Options, Whole
from evalharness.domain.record import Record
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import EndStateUnreadable, TargetFailed, TargetUnavailable, UnknownName, UsageError
from evalharness.targets.answers import EventsOption, ResultForm, read_result, refuse_both_forms, user_messages
from evalharness.targets.command import (
    KEPT_EVENT_BYTES,
    beside_the_input,
    port_of,
    through_gateway,
    transcript_of_events,
    why_cut,
    why_failed,
)
from evalharness.targets.container_end_state import ContainerEndState
from evalharness.targets.dockerfile_images import images_of
from evalharness.values.digest import digest, digest_file
from evalharness.values.text import tail
from evalharness.workspaces import hand_over

SETUP_FAILED = 97
SHOWN_STDERR = 1000
SETUP_DONE = b"[evalharness: the setup is done]\n"
"""The first line of the output, before the program starts: so its own failure cannot look like that of the setup."""
# $1 is the setup; what it prints is no answer. The rest is the command.
WITH_SETUP = f"""/bin/sh -c "$1" >&2 || exit {SETUP_FAILED}; echo '{SETUP_DONE.decode().strip()}'; shift; exec "$@\""""


class ContainerLimits(Record):
    """Together for everything in the container; `file_bytes` is for each single file."""

    memory_bytes: Annotated[Whole, Field(ge=16_777_216)] = AGENT_LIMITS.memory_bytes
    processes: Annotated[Whole, Field(ge=1)] = AGENT_LIMITS.processes
    file_bytes: Annotated[Whole, Field(ge=0)] = AGENT_LIMITS.file_bytes

    def as_limits(self) -> Limits:
        return Limits(**self.model_dump(), disk_bytes=AGENT_LIMITS.disk_bytes)


class MachineOptions(Options):
    """What the targets that have a machine of their own can say about it.

    `env` are values; `pass_env` are names whose values come from the environment of the run.
    """

    workspace: Annotated[str, Field(pattern=r"^/[^:]+$")] = "/working_dir"
    network: Literal["none", "open"] = "none"
    privileged: bool = False
    env: dict[str, str] = Field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    limits: ContainerLimits = ContainerLimits()
    max_output_bytes: Annotated[Whole, Field(ge=1024)] = KEPT_EVENT_BYTES


class ContainerOptions(MachineOptions):
    """`image` or `dockerfile`, which may copy from its folder. `command` are the words after the image."""

    main: ClassVar[str] = "image"

    image: str = ""
    dockerfile: str = ""
    command: tuple[str, ...] = ()
    input: Literal["stdin", "argument", "arguments", "none"] = "stdin"
    result: ResultForm = "text"
    events: EventsOption = None

    @model_validator(mode="after")
    def _one_of_each(self) -> ContainerOptions:
        refuse_both_forms(self)
        if bool(self.image) == bool(self.dockerfile):
            raise ValueError("give either image or dockerfile")
        return self


class WantedImage(NamedTuple):
    """An image that cases need: the one they name, and a digest of the files that belong in it."""

    name: str = ""
    files: str = ""


class ProgramRun(NamedTuple):
    """What a program in a container did. `problem` says why what it left cannot be read; empty if it can."""

    process: ProcessResult
    problem: str = ""


class MachineTarget(Target):
    """What `container` and `docker-agent` share: images that are made once, and one container for each trial."""

    mounts_workspace: ClassVar[bool] = True
    """Whether the workspace is mounted. If not, a case's files are in its image, and are copied back at the end."""
    keeps_time_limit = True
    may_use_gateway = True
    has_own_machine = True
    options: MachineOptions

    def __init__(self, options: MachineOptions, spec: TargetSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self._wanted: dict[WantedImage, Mapping[str, CaseFile]] = {}
        self._images: dict[WantedImage, asyncio.Task[str]] = {}
        self._digests: dict[str, str] = {}

    def images(self) -> Mapping[str, str]:
        return self._digests

    def expect(self, case: Case) -> None:
        self._wanted.setdefault(self._wanted_by(case), self._files_in_image(case))

    def _files_in_image(self, case: Case) -> Mapping[str, CaseFile]:
        return {} if self.mounts_workspace else case.files

    def _wanted_by(self, case: Case) -> WantedImage:
        files = self._files_in_image(case)
        declared = digest({name: file.model_dump(mode="json") for name, file in files.items()}) if files else ""
        return WantedImage(image_named_by(case.metadata), declared)

    async def open(self) -> None:
        """Every image that a case will need is there before the first trial."""
        containers, on_demand = self.services.container_runtime(), self.services.containers
        assert on_demand is not None, "it built them"
        await containers.open()
        for found in containers.expect(self.options.limits.memory_bytes, on_demand.at_once):
            on_demand.hear(found)
        wanted = self._wanted or {WantedImage(): {}}
        on_demand.hear(finding("run.preparing_images", images=len(wanted)))
        for number, (each, files) in enumerate(wanted.items(), 1):
            shown = {"image": each.name or self.usual_image, "files": len(files)}
            on_demand.hear(finding("run.preparing_image", number=number, images=len(wanted), **shown), is_passing=True)
            await self._image(each, files)

    async def close(self) -> None:
        for task in self._images.values():
            task.cancel()

    @property
    @abstractmethod
    def usual_image(self) -> str:
        """What the image of cases that name none is called."""

    @abstractmethod
    async def make_image(self, name: str, files: Mapping[str, CaseFile]) -> str:
        """The digest of the image for the cases that name this one, which may be none, and have these files."""

    async def _image(self, wanted: WantedImage, files: Mapping[str, CaseFile]) -> str:
        if wanted not in self._images:
            self._images[wanted] = asyncio.create_task(self.make_image(wanted.name, files))
        return await asyncio.shield(self._images[wanted])

    async def image_id(self, name: str) -> str:
        self._digests[name] = await self.services.container_runtime().image_id(name)
        return self._digests[name]

    async def run_in(self, task: Task, command: tuple[str, ...], stdin: bytes = b"") -> ProgramRun:
        """Run the command in a new container, after the case's setup."""
        containers = self.services.container_runtime()
        image = await self._image(self._wanted_by(task.case), self._files_in_image(task.case))
        setup, entrypoint = task.case.setup, None
        if setup:
            words = await containers.command_line(image, command)
            entrypoint, command = "/bin/sh", ("-c", WITH_SETUP, "sh", setup, *words)
        user = await containers.user(image) if self.mounts_workspace else ""
        if user:
            await asyncio.to_thread(hand_over, task.workspace, user)
        request = ContainerRequest(
            image=image,
            argv=command,
            entrypoint=entrypoint,
            cwd=self.options.workspace,
            env={**self._environment(task), **through_gateway(task)},
            mounts=self.mounts(task),
            stdin=stdin,
            timeout_s=task.timeout_s,
            keep_bytes=self.options.max_output_bytes,
            limits=self.options.limits.as_limits(),
            network=self.options.network == "open",
            reaches=port_of(task.gateway),
            is_privileged=self.options.privileged,
        )
        ended = await containers.run(request, task.owner)
        left = (ended.name, image, task.workspace, self.options.workspace, task.owner)
        task.leave(ContainerEndState(containers, *left))
        result, problem = ended.process, ""
        if not self.mounts_workspace:
            try:
                changed = await containers.copy_back(ended.name, self.options.workspace, task.workspace)
                await task.workspace_replaced(changed)
            except EndStateUnreadable as error:
                problem = str(error)
        is_set_up = result.stdout.startswith(SETUP_DONE)
        if setup and not is_set_up and result.exit_code == SETUP_FAILED:
            said = tail(result.stderr.decode(errors="replace").strip(), SHOWN_STDERR)
            raise TargetUnavailable(f"the setup failed: {said or f'exit code {SETUP_FAILED}'}")
        if setup and is_set_up:
            output = result.stdout.removeprefix(SETUP_DONE)
            result = replace(result, stdout=output, stdout_total=result.stdout_total - len(SETUP_DONE))
        return ProgramRun(result, problem)

    def mounts(self, task: Task) -> tuple[BindMount, ...]:
        return (BindMount(str(task.workspace), self.options.workspace, is_writable=True),)

    def _environment(self, task: Task) -> dict[str, str]:
        known = self.services.environment
        passed = {name: known[name] for name in (*self.options.pass_env, *self.services.given) if name in known}
        return {**passed, **self.options.env, **beside_the_input(task)}


class ContainerTarget(MachineTarget):
    Options: ClassVar[type[Options]] = ContainerOptions
    options: ContainerOptions

    def digest(self) -> str:
        file = self._dockerfile
        return digest([super().digest(), digest_file(file) if file and file.is_file() else ""])

    def unpinned(self) -> tuple[str, ...]:
        """Images whose names are made of variables of the Dockerfile; the digests of all others are in the lock."""
        file = self._dockerfile
        if file is None or not file.is_file():
            return ()
        bases = images_of(file.read_text(encoding="utf-8", errors="replace")).variable
        return tuple(f"image {base} of {self.options.dockerfile}" for base in bases)

    @property
    def _dockerfile(self) -> Path | None:
        return self.services.root / self.options.dockerfile if self.options.dockerfile else None

    @property
    def usual_image(self) -> str:
        return self.options.image or self.options.dockerfile

    async def open(self) -> None:
        if self._dockerfile and not self._dockerfile.is_file():
            raise not_a_file("Dockerfile", self._dockerfile)
        await super().open()

    async def make_image(self, name: str, files: Mapping[str, CaseFile]) -> str:  # noqa: ARG002 - they are mounted
        file = self._dockerfile
        if name or file is None:
            return await self.image_id(name or self.options.image)
        try:
            written = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise TargetUnavailable(f"the Dockerfile {file} cannot be read: {error}") from error
        for base in images_of(written).named:
            await self.image_id(base)
        try:
            return await self.services.container_runtime().build(file.parent, written)
        except TargetUnavailable as error:
            raise TargetUnavailable(f"{self.options.dockerfile}: {error.message}", hint=error.hint) from error

    async def answer(self, task: Task) -> Transcript:
        question = task.case.content_text
        appended = {"argument": (question,), "arguments": user_messages(task.case.content)}
        words = (*self.options.command, *appended.get(self.options.input, ()))
        stdin = question.encode(errors="replace") if self.options.input == "stdin" else b""
        return transcript_of_run(await self.run_in(task, words, stdin), task, self.options, self.options.result)


def not_a_file(kind: str, path: Path) -> UsageError:
    """The error for a path that is a folder, or missing: then with the file beside it that was probably meant."""
    if path.is_dir():
        return UsageError(f"the {kind} {path} is a folder", hint="name a file in it")
    beside = sorted(each.name for each in path.parent.iterdir() if each.is_file()) if path.parent.is_dir() else []
    wrong = UnknownName(kind, path.name, beside, what=f"there is no {kind} {path}")
    wrong.hint = "" if wrong.guess else "create it, or correct its path"
    return wrong


def transcript_of_run(
    ended: ProgramRun, task: Task, options: MachineOptions, form: ResultForm, events: str | None = None
) -> Transcript:
    """What the program in a container printed, read; raises TargetFailed with it as evidence."""
    result = ended.process
    stdout = result.stdout.decode(errors="replace")
    parser = events or (options.events if isinstance(options, ContainerOptions) else None)
    evidence = Transcript(
        output=stdout,
        stdout="" if form == "text" and not parser else stdout,
        stderr=result.stderr.decode(errors="replace"),
        exit_code=result.exit_code,
        truncated=result.truncated,
        lost_bytes=result.lost_bytes,
    )
    problem = why_failed(result, evidence, task) or ended.problem
    if parser:
        cut = why_cut(result.stdout_total, options.max_output_bytes)
        return transcript_of_events(stdout, parser, evidence, problem or cut)
    if problem:
        raise TargetFailed(problem, evidence=evidence)
    return read_result(stdout, form, evidence)
