"""A fake of the sandbox: no process is started, results are scripted, and requests are recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evalharness.contracts.sandbox import NO_OWNER, Ended, Owner, ProcessRequest, ProcessResult, Sandbox, SandboxSession
from evalharness.testing.model import ReplyQueue


def finished(stdout: bytes = b"", stderr: bytes = b"", exit_code: int = 0, *, ended: Ended = "exited") -> ProcessResult:
    """The result of a process that wrote these streams, whole."""
    return ProcessResult(
        exit_code=exit_code if ended == "exited" else None,
        stdout=stdout,
        stderr=stderr,
        stdout_total=len(stdout),
        stderr_total=len(stderr),
        truncated=False,
        lost_bytes=0,
        ended=ended,
        duration_s=0.0,
    )


class FakeSandbox(Sandbox):
    """Gives one result after the other, and the last one again and again. An exception is raised in its turn."""

    def __init__(self, *results: ProcessResult | Exception) -> None:
        super().__init__()
        self.workspaces: list[str] = []
        """Of every session, in the order in which they began."""
        self.owners: list[Owner] = []
        self.requests: list[ProcessRequest] = []
        self.open_sessions = 0
        self._script = ReplyQueue(*(results or (finished(),)))

    @asynccontextmanager
    async def session(self, workspace: str, owner: Owner = NO_OWNER) -> AsyncIterator[SandboxSession]:
        self.workspaces.append(workspace)
        self.owners.append(owner)
        self.open_sessions += 1
        try:
            yield _Session(self.requests, self._script)
        finally:
            self.open_sessions -= 1


class _Session(SandboxSession):
    def __init__(self, requests: list[ProcessRequest], script: ReplyQueue[ProcessResult]) -> None:
        self._requests = requests
        self._script = script

    async def run(self, request: ProcessRequest) -> ProcessResult:
        self._requests.append(request)
        return self._script.next()
