"""docker-agent: an agent described in a file, run by docker-agent in a container of its own for each trial.

The user's messages are its arguments, one turn after the other; it prints JSON events. The agent's folder is mounted
read-only. Its image is the base with the program put into it, and with the files of the case in its working directory.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import field_validator

from evalharness.contracts.containers import BindMount
from evalharness.contracts.target import Task
from evalharness.domain.case import CaseFile
from evalharness.domain.options import Options
from evalharness.domain.server_address import STORE_FOLDER
from evalharness.domain.specification import TargetSpec
from evalharness.domain.transcript import Transcript
from evalharness.errors import Hint, TargetFailed, TargetUnavailable, UsageError
from evalharness.targets.answers import user_messages
from evalharness.targets.container import MachineOptions, MachineTarget, not_a_file, transcript_of_run
from evalharness.targets.container_end_state import digest_of_files
from evalharness.values.digest import digest, digest_file
from evalharness.values.text import tail
from evalharness.workspaces import OF_NO_RUN, LockedFolder, put_files

NO_AGENT = "none"
"""In place of an image: the base has the program, and starts it."""
DEFAULT_AGENT_IMAGE = "docker/docker-agent:edge"
PROGRAM = "/docker-agent"
COMMAND = (PROGRAM, "run", "--exec", "--yolo", "--json")
CONFIGS = "/configs"
MADE = "evalharness-docker-agent"
"""What the images are called that are made here."""
_FILES = "files"
"""The only folder of the build context; empty for a case without files."""
KEYS = tuple(f"{vendor}_API_KEY" for vendor in ("OPENAI", "ANTHROPIC", "GOOGLE", "MISTRAL", "XAI", "NEBIUS"))
"""Passed on where the agent has a network: without one they would be of no use to it."""
_VERSION = re.compile(r"v?\d+\.\d+\.\d+")
_SHOWN_STDERR = 1000


class DockerAgentOptions(MachineOptions):
    """`agent` is the file of the agent. `agent_image` has the program that is put into `base_image`.

    A version stands for that tag of docker-agent's own image, and `none` for a base that has the program already.
    """

    main: ClassVar[str] = "agent"

    agent: str
    base_image: str = ""
    agent_image: str = DEFAULT_AGENT_IMAGE

    @field_validator("agent_image")
    @classmethod
    def _named(cls, image: str) -> str:
        named = image.strip() or DEFAULT_AGENT_IMAGE
        return f"{DEFAULT_AGENT_IMAGE.partition(':')[0]}:{named.lstrip('v')}" if _VERSION.fullmatch(named) else named

    @field_validator("base_image")
    @classmethod
    def _on_one_line(cls, image: str) -> str:
        if any(character.isspace() for character in image):
            raise ValueError("must be the name of an image")
        return image


class DockerAgentTarget(MachineTarget):
    Options: ClassVar[type[Options]] = DockerAgentOptions
    mounts_workspace = False
    options: DockerAgentOptions
    _empty: LockedFolder | None = None

    @property
    def _agent(self) -> Path:
        return (self.services.root / self.options.agent).resolve()

    @classmethod
    def wants_gateway(cls, spec: TargetSpec) -> bool:
        """An agent is nothing without its model."""
        return not isinstance(spec.options, Mapping) or spec.options.get("network", "none") == "none"

    def digest(self) -> str:
        return digest([super().digest(), digest_file(self._agent) if self._agent.is_file() else ""])

    async def open(self) -> None:
        if not self._agent.is_file():
            raise not_a_file("agent file", self._agent)
        await super().open()

    @property
    def usual_image(self) -> str:
        return self.options.base_image or self.options.agent_image

    async def make_image(self, name: str, files: Mapping[str, CaseFile]) -> str:
        """The program in the image that the case, else the target, names; without either, in docker-agent's own."""
        program = "" if self.options.agent_image == NO_AGENT else self.options.agent_image
        base = name or self.options.base_image or program
        if not base:
            raise UsageError("there is no image for the agent to work in", hint=Hint("hint.base_image"))
        made_of = [await self.image_id(base)]
        lines = [f"FROM {base}"]
        if program and program != base:
            made_of.append(await self.image_id(program))
            lines.append(f"COPY --from={program} {PROGRAM} {PROGRAM}")
        if program:
            words = ", ".join(f'"{word}"' for word in COMMAND)
            lines += ["ENV TELEMETRY_ENABLED=false", f"ENTRYPOINT [{words}]"]
        # Also without files, and before WORKDIR, so that a folder which the base lacks belongs to the image's user.
        user = await self.services.container_runtime().user(base)
        owner = f"--chown={user} " if user else ""
        lines.append(f"COPY {owner}{json.dumps([f'{_FILES}/', f'{self.options.workspace}/'])}")
        lines.append(f"WORKDIR {self.options.workspace}")
        return await self._built("\n".join(lines) + "\n", made_of, program, files)

    async def _built(self, dockerfile: str, made_of: list[str], program: str, files: Mapping[str, CaseFile]) -> str:
        """Named after all that is in it: what was built once, in whatever run, is not built again."""
        containers = self.services.container_runtime()
        context = LockedFolder(OF_NO_RUN)
        try:
            copied = context.path / _FILES
            copied.mkdir()
            await asyncio.to_thread(put_files, files, self.services.cases_root or self.services.root, copied)
            content = await asyncio.to_thread(digest_of_files, copied)
            name = f"{MADE}:{digest([dockerfile, made_of, content])[:16]}"
            if found := await containers.local_id(name):
                return found
            if program and not await containers.has_program(program, PROGRAM):
                raise TargetUnavailable(f"the image {program} has no {PROGRAM}", hint=Hint("hint.agent_image"))
            return await containers.build(context.path, dockerfile, name)
        finally:
            await asyncio.to_thread(context.remove)

    def mounts(self, task: Task) -> tuple[BindMount, ...]:  # noqa: ARG002 - its workspace is in the image
        """The agent's folder, without what is expected of the agent and how it did before."""
        folder, here = self._agent.parent, self.services.root.resolve()
        stores = (each / STORE_FOLDER for each in (here, *here.parents, folder))
        cases = (self.services.cases_root or self.services.root).resolve()
        hidden = dict.fromkeys(place for place in (cases, *stores) if place.is_dir() and folder in place.parents)
        outermost = [place for place in hidden if not any(other in place.parents for other in hidden)]
        places = (f"{CONFIGS}/{place.relative_to(folder)}" for place in outermost)
        return (BindMount(str(folder), CONFIGS), *(BindMount(self._empty_folder(), place) for place in places))

    def _empty_folder(self) -> str:
        if self._empty is None:
            self._empty = LockedFolder(OF_NO_RUN)
            (self._empty.path / "empty").mkdir()
        return str(self._empty.path / "empty")

    async def close(self) -> None:
        await super().close()
        if self._empty is not None:
            self._empty.remove()

    def _environment(self, task: Task) -> dict[str, str]:
        known = self.services.environment
        keys = KEYS if self.options.network == "open" else ()
        return {**{name: known[name] for name in keys if known.get(name)}, **super()._environment(task)}

    async def answer(self, task: Task) -> Transcript:
        words = (f"{CONFIGS}/{self._agent.name}", *user_messages(task.case.content))
        ended = await self.run_in(task, words)
        result = ended.process
        try:
            return transcript_of_run(ended, task, self.options, "text", events="docker-agent")
        except TargetFailed as failure:
            if result.ended != "exited" or _has_spoken(failure):
                raise
            said = tail(result.stderr.decode(errors="replace").strip(), _SHOWN_STDERR)
            what = f"container failed: exit code {result.exit_code}" if result.exit_code else "no events received"
            error = TargetUnavailable(f"{what}{f' (stderr: {said})' if said else ''}")
            error.evidence = failure.evidence
            raise error from None


def _has_spoken(failure: TargetFailed) -> bool:
    """Whether the agent said anything before it failed."""
    return isinstance(failure.evidence, Transcript) and bool(failure.evidence.events)
