"""The sandbox: where processes are started, and a session in it.

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
        """`request.cwd` is the session's workspace or a folder in it. Several may run at once.

        Nothing that the process started lives on when this returns or is cancelled.
        """


class Sandbox(ABC):
    Options: ClassVar[type[Options]] = NoOptions

    def __init__(self, options: Any = None) -> None:
        """`options` is an instance of the class's own `Options`; None means the defaults."""
        self.options = self.Options() if options is None else options

    async def open(self) -> None:  # noqa: B027 - a sandbox that is always there has nothing to try
        """Raises SandboxUnavailable where no session can work. `session` opens what is not open yet."""

    @abstractmethod
    def session(self, workspace: str) -> AbstractAsyncContextManager[SandboxSession]:
        """Whatever has to be started for calls in this folder, such as a container, is started once per session.

        Of all that was started in it nothing is left when it ends; the folder itself is the caller's.
        """

    async def close(self) -> None:  # noqa: B027 - as for open
        """Called once or more, also for a sandbox that was never opened."""
