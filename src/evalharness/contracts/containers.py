"""Containers: images are found or built, containers run in them, and what is left of a container can be looked at.

A container outlives the process that asked for it, so each has an owner, and none is left: see `reap` and `close`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from evalharness.contracts.sandbox import NO_OWNER, Limits, Owner, ProcessResult
from evalharness.domain.finding import Finding

GIB = 1_073_741_824
AGENT_LIMITS = Limits(memory_bytes=2 * GIB, processes=512, file_bytes=4 * GIB, disk_bytes=4 * GIB)


class BindMount(NamedTuple):
    """A file or folder of this machine inside a container."""

    source: str
    place: str
    is_writable: bool = False


class VolumeMount(NamedTuple):
    """A volume of the runtime. On first use it contains what the image has at that place."""

    name: str
    place: str


@dataclass(frozen=True, slots=True)
class ContainerRequest:
    """`argv` are the words after the image; an `entrypoint` of None, like an empty `cwd` or `user`, is the image's own.

    `env` is added to the image's. A container that `is_isolated` has no capabilities, gains no rights and has a
    read-only root; `network` gives it that of the runtime, otherwise it has none. `reaches` is a port of this machine's
    loopback that it can reach either way, at the same port of its own.
    """

    image: str
    argv: tuple[str, ...] = ()
    entrypoint: str | None = None
    cwd: str = ""
    user: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[BindMount | VolumeMount, ...] = ()
    stdin: bytes = b""
    timeout_s: float | None = None
    keep_bytes: int = 1_048_576
    flood_bytes: int = 268_435_456
    limits: Limits = AGENT_LIMITS
    network: bool = False
    reaches: int | None = None
    is_isolated: bool = False
    is_privileged: bool = False
    has_init: bool = True


@dataclass(frozen=True, slots=True)
class ContainerResult:
    """`name` is that of the container, which has ended and is there until it is removed."""

    name: str
    process: ProcessResult


class EndState(ABC):
    """What is left of a trial's container after it was ended. Nothing in it can change any more."""

    image: str
    """The digest of the image from which the container was started."""
    owner: Owner

    @abstractmethod
    async def exported(self) -> ExportedState:
        """All its files with its volumes and the workspace, copied once."""

    @abstractmethod
    async def again(self) -> tuple[str, tuple[BindMount, ...]]:
        """For another container that begins where this one ended: its image, and copies of volumes and workspace."""

    @abstractmethod
    async def close(self) -> None:
        """Remove the container and everything that was made of it."""


@dataclass(frozen=True, slots=True)
class ExportedState:
    """`digest` says what is in `folder`; `volumes` are the places of the volumes and the workspace in it."""

    folder: Path
    digest: str
    volumes: tuple[str, ...]


class ContainersOnDemand(Protocol):
    """Built when they are first asked for: most runs need none."""

    built: Containers | None

    at_once: int
    """How many trials are wanted at a time."""
    hear: Callable[..., None]
    """`Watcher.preparing` of the run."""

    def __call__(self) -> Containers: ...


class Containers(ABC):
    @abstractmethod
    async def open(self) -> None:
        """Raises SandboxUnavailable if there is no container runtime, or if it does not answer."""

    @abstractmethod
    def expect(self, memory_bytes: int, at_once: int) -> tuple[Finding, ...]:
        """Call once open, with how many containers are wanted at a time. Returns what a run says before it starts: that
        fewer fit, or that limits cannot be kept.

        Raises SandboxUnavailable if not even one container fits.
        """

    @abstractmethod
    async def run(self, request: ContainerRequest, owner: Owner = NO_OWNER) -> ContainerResult:
        """Run a container until it ends or passes a limit, then leave it, ended, for `remove`.

        Raises TargetUnavailable where its program never started, or where the runtime failed; then nothing is left.
        """

    @abstractmethod
    async def remove(self, name: str) -> None:
        """Remove a container that has ended, unless containers are to be kept."""

    @abstractmethod
    async def export(self, name: str, folder: Path) -> tuple[str, ...]:
        """Copy the files of a container that has ended into an empty folder of this machine, its volumes included.

        The places of the volumes are returned; bind mounts are no part of it.
        """

    @abstractmethod
    async def copy_back(self, name: str, place: str, folder: Path) -> frozenset[str]:
        """Replace the contents of a folder of this machine with what a container that has ended has at a place.

        Returns the paths below the place that its program made, changed or removed.
        """

    @abstractmethod
    async def commit(self, name: str) -> str:
        """The files of a container that has ended as a temporary image; remove it with `remove_image`."""

    @abstractmethod
    async def remove_image(self, image: str) -> None: ...

    @abstractmethod
    async def image_id(self, image: str) -> str:
        """The digest of an image, pulled according to the policy; raises TargetUnavailable if there is none."""

    @abstractmethod
    async def local_id(self, image: str) -> str:
        """The digest of an image that is here already, else empty; nothing is pulled."""

    @abstractmethod
    async def command_line(self, image: str, argv: tuple[str, ...]) -> tuple[str, ...]:
        """All the words of a container's program: those with which the image starts its command, and `argv`.

        Without `argv`, the image's own command.
        """

    @abstractmethod
    async def user(self, image: str) -> str:
        """The user that the image declares for its programs; empty for root."""

    @abstractmethod
    async def has_program(self, image: str, program: str) -> bool:
        """Whether the image has this file, or one of this name on its PATH if the name has no slash."""

    @abstractmethod
    async def build(self, folder: Path | None, dockerfile: str, name: str = "") -> str:
        """Build an image, named if a name is given, and return its digest; without a folder, its context is empty."""

    @abstractmethod
    async def reap(self, store_id: str, is_abandoned: Callable[[str], bool]) -> None:
        """Remove what machines that died left behind of this store's runs; `is_abandoned` is asked by a run's id."""

    def notes(self) -> tuple[Finding, ...]:
        """Findings for the report of the run."""
        return ()

    @abstractmethod
    async def close(self) -> None:
        """Remove everything that was not; called at least once, even if nothing was opened."""
