"""The sandbox: starts processes, in sessions; and what it is asked and what it answers.

A sandbox inherits from `Sandbox` and adds `session`; everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from evalharness.domain.finding import Finding
from evalharness.domain.options import NoOptions, Options

Ended = Literal["exited", "timeout", "flood", "memory", "processes", "disk"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What an isolated process and everything it starts may use together; `file_bytes` bounds each single file."""

    memory_bytes: int = 536_870_912
    processes: int = 128
    file_bytes: int = 67_108_864
    disk_bytes: int = 268_435_456


@dataclass(frozen=True, slots=True)
class ProcessRequest:
    """`argv` is an argument list (a shell line is `("/bin/sh", "-c", line)`), `env` the child's complete environment.

    Of each stream the first and the last `keep_bytes` are kept; more than `flood_bytes` on one ends the process.
    `readable`, `network`, `reaches`, `limits` and `is_first` matter to sandboxes that isolate: `readable` are folders
    and files that may be read beside the system's own; only `cwd` may be written. `reaches` is a port of this machine's
    loopback that can be reached even without a network. A program that `is_first` is the sandbox's process number 1: no
    other process of the sandbox holds its pipes, and none inside can kill it.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    stdin: bytes = b""
    timeout_s: float | None = None
    keep_bytes: int = 1_048_576
    flood_bytes: int = 268_435_456
    readable: tuple[str, ...] = ()
    network: bool = False
    reaches: int | None = None
    limits: Limits = Limits()
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """`exit_code` is None when the harness ended the process, and minus the signal's number when a signal did
    (128 + the number in sandboxes that isolate, as a shell would say).

    Where a stream was cut, a line between its head and its tail says how many bytes are missing; the totals count
    everything that was read. `duration_s` lasts from the start until the process ended or hit a limit.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    stdout_total: int
    stderr_total: int
    truncated: bool
    lost_bytes: int
    ended: Ended
    duration_s: float


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose session it is: what may outlive this process, such as a container, is named and labelled so.

    Empty where a session belongs to no run of a store.
    """

    store_id: str = ""
    run_id: str = ""
    trial: str = ""


NO_OWNER = Owner()


class SandboxSession(ABC):
    """One workspace and all that runs in it: the setup, the target and the tools of one trial share a session."""

    @abstractmethod
    async def run(self, request: ProcessRequest) -> ProcessResult:
        """Run a process; `request.cwd` is the workspace or a folder in it. Several may run at once.

        Nothing that the process started survives the return or cancellation of this call.
        """


class Sandbox(ABC):
    Options: ClassVar[type[Options]] = NoOptions

    def __init__(self, options: Any = None) -> None:
        """`options` is an instance of the class's own `Options`; None means the defaults."""
        self.options = self.Options() if options is None else options

    async def open(self) -> None:  # noqa: B027 - some sandboxes are always available
        """Raises SandboxUnavailable if no session can work. `session` calls this if needed."""

    @abstractmethod
    def session(self, workspace: str, owner: Owner = NO_OWNER) -> AbstractAsyncContextManager[SandboxSession]:
        """A session in this folder.

        When it ends, nothing that was started in it is left; the folder belongs to the caller.
        """

    async def reap(self, store_id: str, is_abandoned: Callable[[str], bool]) -> None:  # noqa: B027 - most leave nothing
        """Remove what machines that died left behind of this store's runs; `is_abandoned` is asked by a run's id."""

    def notes(self) -> tuple[Finding, ...]:
        """Findings for the report of the run."""
        return ()

    async def close(self) -> None:  # noqa: B027 - as for open
        """Called at least once, even for a sandbox that was never opened."""
