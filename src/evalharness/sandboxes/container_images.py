"""The images of docker and podman: looked up, pulled, built, and asked what they declare."""

from __future__ import annotations

import asyncio
import io
import json
import posixpath
import re
import secrets
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from evalharness.contracts.containers import BindMount, ContainerRequest
from evalharness.contracts.sandbox import ProcessResult
from evalharness.domain.run import ContainerOptions
from evalharness.errors import Hint, TargetUnavailable
from evalharness.sandboxes.container_program import PULL_S, ContainerProgram, said
from evalharness.values.text import head
from evalharness.workspaces import OF_NO_RUN, LockedFolder

BUILT = "evalharness-container"
"""The name of images that are built from people's own Dockerfiles."""
MOST_LINKS = 8
SHOWN_LINES = 3
SHOWN_OUTPUT = 300
_STEP = re.compile(r"(?:\[\d+/\d+\] )?STEP \d+/\d+ ?:", re.IGNORECASE)
_BY_BUILDER = (" --->", "--> ", "Removing intermediate container", "time=")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ContainerImages:
    """What was looked up once is known for the whole run."""

    def __init__(self, program: ContainerProgram, options: ContainerOptions) -> None:
        self._program = program
        self._pull = options.pull
        self._ids: dict[str, asyncio.Task[str]] = {}  # digests of images by name
        self._configs: dict[str, Mapping[str, Any]] = {}

    async def image_id(self, image: str) -> str:
        """Looked up once, so that a name means the same image throughout a run."""
        if image not in self._ids:
            self._ids[image] = asyncio.create_task(self._pulled(image))
        return await asyncio.shield(self._ids[image])

    async def _pulled(self, image: str) -> str:
        found = "" if self._pull == "always" else await self.local_id(image)
        if found:
            return found
        kind = self._program.kind
        if self._pull == "never":
            hint = Hint("hint.pull_image", image=image, runtime=kind)
            raise TargetUnavailable(f"there is no image {image} here", hint=hint)
        pulled = await self._program.call("pull", "--quiet", image, timeout_s=PULL_S)
        if pulled.exit_code != 0:
            hint = Hint("hint.no_image", image=image, runtime=kind)
            raise TargetUnavailable(f"the image {image} cannot be pulled: {said(pulled)}", hint=hint)
        return _digest(await self._program.say("image", "inspect", "--format", "{{.Id}}", image))

    async def local_id(self, image: str) -> str:
        """Without pulling: empty where there is none here."""
        found = await self._program.call("image", "inspect", "--format", "{{.Id}}", image)
        return _digest(found.stdout.decode()) if found.exit_code == 0 else ""

    async def command_line(self, image: str, argv: tuple[str, ...]) -> tuple[str, ...]:
        config = await self._config(image)
        words = (*_words(config.get("Entrypoint")), *(argv or _words(config.get("Cmd"))))
        if not words:
            raise TargetUnavailable(f"the image {image} says no command to run", hint="give one")
        return words

    async def volumes(self, image: str) -> tuple[str, ...]:
        """The places that it declares to be volumes."""
        return tuple((await self._config(image)).get("Volumes") or ())

    async def user(self, image: str) -> str:
        """The user that it declares for its programs; empty for root."""
        user = str((await self._config(image)).get("User") or "")
        return "" if user.partition(":")[0] in ("0", "root") else user

    async def has_program(self, request: ContainerRequest, word: str, labels: Sequence[str]) -> bool:
        """Whether the image has a file of this name, on its PATH if the name has no slash.

        A container is made for that, but not started.
        """
        flags = (*labels, "--network", "none", *(("--",) if self._program.kind == "docker" else ()))
        made = (await self._program.say("create", *flags, request.image, "/")).strip()
        try:
            for place in await self._places(request, word):
                if await self._is_there(made, place):
                    return True
            return False
        finally:
            await self._program.call("rm", "--force", "--volumes", made)

    async def is_mounted(self, request: ContainerRequest, word: str) -> bool:
        """Whether the program is a mounted file of this machine. Ask before the start: it can be removed later."""
        return any(_is_mounted(request, place) for place in await self._places(request, word))

    async def _places(self, request: ContainerRequest, word: str) -> list[str]:
        declared = [entry.partition("=") for entry in (await self._config(request.image)).get("Env") or ()]
        of_image = next((value for name, _, value in declared if name == "PATH"), DEFAULT_PATH)
        folders = [""] if "/" in word else request.env.get("PATH", of_image).split(":")
        return [posixpath.normpath(posixpath.join(request.cwd or "/", folder, word)) for folder in folders]

    async def _is_there(self, container: str, place: str) -> bool:
        for _ in range(MOST_LINKS):
            copied = await self._program.call("cp", f"{container}:{place}", "-")
            if copied.ended == "exited" and copied.exit_code != 0:  # a large program is only read in part
                return False
            with tarfile.open(fileobj=io.BytesIO(copied.stdout), mode="r:", errors="surrogateescape") as archive:
                entry = archive.next()
            if entry is None or not entry.issym():
                return entry is not None and entry.isfile()
            place = posixpath.join(posixpath.dirname(place), entry.linkname)
        return False

    async def _config(self, image: str) -> Mapping[str, Any]:
        if image not in self._configs:
            written = await self._program.say("image", "inspect", "--format", "{{json .Config}}", image)
            self._configs[image] = json.loads(written)
        return self._configs[image]

    async def build(self, folder: Path | None, dockerfile: str, name: str = "") -> str:
        program = self._program
        env = {**program.environment, "DOCKER_BUILDKIT": "0"} if program.kind == "docker" else None
        # Named from the start: if the harness is killed, nobody would find an image without a name.
        first_name = name or f"{BUILT}:building-{secrets.token_hex(8)}"
        words = ["build", "--force-rm", f"--pull={'true' if self._pull == 'always' else 'false'}", "--tag", first_name]
        context = ("--file", "-", str(folder)) if folder is not None else ("-",)
        beside = LockedFolder(OF_NO_RUN)
        try:
            log, written = beside.path / "log", beside.path / "id"
            words += ["--iidfile", str(written), *context]
            built = await program.log(log, *words, stdin=dockerfile.encode(), env=env, timeout_s=PULL_S)
            if built.exit_code != 0:
                raise TargetUnavailable(f"the image cannot be built: {await asyncio.to_thread(_why, built, log)}")
            made = _digest(written.read_text(encoding="utf-8"))
        finally:
            await asyncio.to_thread(beside.remove)
        if not name:
            await program.say("tag", made, f"{BUILT}:{made[:16]}")
            await program.say("rmi", first_name)
        return made

    async def load(self, name: str, archive: bytes) -> None:
        """An image with this name, made of one archive of its files, unless there is one."""
        if not await self.local_id(name):
            await self._program.say("import", "-", name, stdin=archive)


def _is_mounted(request: ContainerRequest, place: str) -> bool:
    """Whether a file of this machine is there."""
    for mount in request.mounts:
        if isinstance(mount, BindMount) and PurePosixPath(place).is_relative_to(mount.place):
            return Path(mount.source, PurePosixPath(place).relative_to(mount.place)).is_file()
    return False


def _why(built: ProcessResult, log: Path) -> str:
    """The builder's error, and the last lines that the failed step printed."""
    text = _COLOUR.sub("", log.read_text(encoding="utf-8", errors="replace")) if log.is_file() else ""
    why = said(replace(built, stderr=text.encode()))
    lines = text.splitlines()
    begun = max((number for number, line in enumerate(lines) if _STEP.match(line)), default=len(lines))
    spoken = [line.strip() for line in lines[begun + 1 :] if line.strip() and not line.startswith(_BY_BUILDER)]
    printed = [line for line in spoken if why not in line][-SHOWN_LINES:]
    return f"{why}; it printed: {head(' / '.join(printed), SHOWN_OUTPUT)}" if printed else why


def _digest(written: str) -> str:
    return written.strip().removeprefix("sha256:")


def _words(written: Any) -> tuple[str, ...]:
    """podman writes down an entrypoint of one word as a text."""
    return tuple(written.split() if isinstance(written, str) else written or ())
