"""What every handler of the server needs: `server: Server` in its signature gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from evalharness.harness import Harness
from evalharness.server.job_runner import JobRunner

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765
MOST_JOBS = 2


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How the server was started; the page of its settings shows these."""

    store: str
    """As `--store` takes it."""
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    suites: Path | None = None
    """The folder whose suites may be run; None for the current one."""
    targets: Mapping[str, str] = field(default_factory=dict)
    """What a suite that was posted may be run on: name → what `--target` takes."""
    jobs: int = MOST_JOBS
    """How many runs are executed at the same time."""
    root_path: str = ""
    trusted_hosts: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return self.suites or Path.cwd()


@dataclass(frozen=True, slots=True)
class ServerContext:
    harness: Harness
    options: ServerOptions
    token: str = field(repr=False)
    jobs: JobRunner


def _context_of(request: Request) -> ServerContext:
    context: ServerContext = request.app.state.context
    return context


Server = Annotated[ServerContext, Depends(_context_of)]
