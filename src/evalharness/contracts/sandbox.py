"""The sandbox: starts processes, in sessions.

A sandbox inherits from `Sandbox` and adds `session`; everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from evalharness.domain.options import NoOptions, Options
from evalharness.domain.process import ProcessRequest, ProcessResult


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
    def session(self, workspace: str) -> AbstractAsyncContextManager[SandboxSession]:
        """A session in this folder. What it needs, such as a container, is started once per session.

        When it ends, nothing that was started in it is left; the folder belongs to the caller.
        """

    async def close(self) -> None:  # noqa: B027 - as for open
        """Called at least once, even for a sandbox that was never opened."""
