"""What every handler of the server needs: `server: Server` in its signature gives it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from evalharness.harness import Harness
from evalharness.server.job_runner import JobRunner
from evalharness.server.kept_results import KeptResults
from evalharness.server.tickets import Tickets

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765
MOST_JOBS = 2
WILDCARDS = ("0.0.0.0", "::")
"""Every address of this machine."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How the server was started; the page of its settings shows these."""

    store: str
    """As `--store` takes it."""
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    suites: Path = Path()
    """The folder whose suites can be run."""
    targets: Mapping[str, str] = field(default_factory=dict)
    """What a suite that was posted may be run on: name → what `--target` takes."""
    jobs: int = MOST_JOBS
    """How many runs are executed at the same time."""
    root_path: str = ""
    trusted_hosts: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Where it is reached from this machine, without a slash at the end."""
        host = self.host if self.host not in WILDCARDS else DEFAULT_HOST
        return f"http://{written_host(host, self.port)}{self.root_path}"


def written_host(host: str, port: int) -> str:
    """As in an address and in a Host header."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True, slots=True)
class ServerContext:
    harness: Harness
    options: ServerOptions
    token: str = field(repr=False)
    jobs: JobRunner
    tickets: Tickets = field(default_factory=Tickets)
    kept: KeptResults = field(default_factory=KeptResults)
    stopping: threading.Event = field(default_factory=threading.Event)
    """Set when the server is about to stop: whoever streams events ends the stream."""


def _context_of(request: Request) -> ServerContext:
    context: ServerContext = request.app.state.context
    return context


Server = Annotated[ServerContext, Depends(_context_of)]
