"""A fake of the containers: nothing is started, results are scripted, and requests are recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evalharness.contracts.containers import (
    BindMount,
    ContainerRequest,
    ContainerResult,
    Containers,
    EndState,
    ExportedState,
)
from evalharness.contracts.sandbox import NO_OWNER, Owner, ProcessResult
from evalharness.domain.finding import Finding
from evalharness.testing.model import ReplyQueue
from evalharness.testing.sandbox import finished


class FakeEndState(EndState):
    """Of a container without files; `folder` is an empty one."""

    def __init__(self, folder: Path, image: str = "image-1") -> None:
        self.image = image
        self.owner = NO_OWNER
        self.is_closed = False
        self._folder = folder

    async def exported(self) -> ExportedState:
        return ExportedState(self._folder, "0" * 64, ("/workspace",))

    async def again(self) -> tuple[str, tuple[BindMount, ...]]:
        return f"{self.image}-changed", (BindMount(str(self._folder), "/workspace", is_writable=True),)

    async def close(self) -> None:
        self.is_closed = True


class FakeContainers(Containers):
    """Gives one result after the other, and the last one again and again. It may be asked for as `Services` does."""

    def __init__(self, *results: ProcessResult) -> None:
        self.built: Containers | None = self
        self.at_once = 1
        self.hear: Callable[..., None] = lambda _found, *, is_passing=False: None  # noqa: ARG005 - nobody watches
        self.requests: list[ContainerRequest] = []
        self.dockerfiles: list[str] = []
        self.left: set[str] = set()
        """Containers and images that were not removed."""
        self.named: set[str] = set()
        """Names of images that were built."""
        self._script = ReplyQueue(*(results or (finished(),)))

    def __call__(self) -> Containers:
        return self

    async def open(self) -> None:
        """There is nothing to find."""

    def expect(self, memory_bytes: int, at_once: int) -> tuple[Finding, ...]:
        """Any number fits."""
        del memory_bytes, at_once
        return ()

    async def run(self, request: ContainerRequest, owner: Owner = NO_OWNER) -> ContainerResult:
        self.requests.append(request)
        name = f"{owner.run_id or 'container'}-{len(self.requests)}"
        self.left.add(name)
        return ContainerResult(name, self._script.next())

    async def remove(self, name: str) -> None:
        self.left.discard(name)

    async def export(self, name: str, folder: Path) -> tuple[str, ...]:
        """A fake container has no files and no volumes."""
        del name, folder
        return ()

    async def copy_back(self, name: str, place: str, folder: Path) -> frozenset[str]:
        """A fake container touches nothing."""
        del name, place, folder
        return frozenset()

    async def commit(self, name: str) -> str:
        self.left.add(f"image-of-{name}")
        return f"image-of-{name}"

    async def remove_image(self, image: str) -> None:
        self.left.discard(image)

    async def image_id(self, image: str) -> str:
        return image

    async def local_id(self, image: str) -> str:
        return image if image in self.named else ""

    async def command_line(self, image: str, argv: tuple[str, ...]) -> tuple[str, ...]:
        del image
        return argv

    async def user(self, image: str) -> str:
        del image
        return ""

    async def has_program(self, image: str, program: str) -> bool:
        del image, program
        return True

    async def build(self, folder: Path | None, dockerfile: str, name: str = "") -> str:
        del folder
        self.dockerfiles.append(dockerfile)
        self.named.add(name)
        return f"image-{len(self.dockerfiles)}"

    async def reap(self, store_id: str, is_abandoned: Callable[[str], bool]) -> None:
        """No machine died."""

    async def close(self) -> None:
        self.left.clear()
