"""How tests isolate a process, once in each way the machine allows: as root with and without control groups, as a user.

For the user's mode, root drops to `nobody`; if the tests already run as an ordinary user, that user is used.
Run as a program, this file is that user's harness: pickled requests come on stdin, results go to stdout.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evalharness.contracts.sandbox import ProcessRequest, ProcessResult, Sandbox
from evalharness.errors import TargetUnavailable
from evalharness.registry import build_sandbox
from evalharness.sandboxes import nobody
from evalharness.sandboxes.bubblewrap import Bubblewrap, BubblewrapOptions
from evalharness.sandboxes.cgroups import Cgroups

GROUPS, NO_GROUPS, USER = "root with control groups", "root without control groups", "user"
MODES = [GROUPS, NO_GROUPS, USER] if os.geteuid() == 0 else [USER]
CONTAINERS = ["docker", "podman"]
"""The other sandbox, on each runtime; whoever uses one must have set its environment."""
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
SOURCE = Path(__file__).parents[2] / "src"
Outcome = ProcessResult | TargetUnavailable


@dataclass
class Isolated:
    """Processes isolated in one mode, in a workspace that their user may use."""

    mode: str
    workspace: Path
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def beside(self) -> Path:
        return self.workspace.parent

    def run(self, *argv: str, **options: Any) -> ProcessResult:
        outcome = self.outcome(self.request(*argv, **options))
        assert isinstance(outcome, ProcessResult), outcome
        return outcome

    def shell(self, line: str, **options: Any) -> ProcessResult:
        return self.run("/bin/sh", "-c", line, **options)

    def python(self, code: str, *arguments: str, **options: Any) -> ProcessResult:
        return self.run("/usr/bin/python3", "-c", code, *arguments, **options)

    def request(self, *argv: str, **options: Any) -> ProcessRequest:
        settings = {"cwd": str(self.workspace), "env": ENV, "timeout_s": 60.0, **options}
        return ProcessRequest(argv, **settings)

    def outcome(self, *requests: ProcessRequest) -> Outcome:
        """The result of the last of them; all run at once."""
        if self.mode == USER and os.geteuid() == 0:
            nobody.give_away(self.workspace)
            self.outcomes = as_user(requests)
        else:
            self.outcomes = asyncio.run(run_all(requests, self.mode))
        return self.outcomes[-1]

    def all_of(self, *requests: ProcessRequest) -> list[Outcome]:
        self.outcome(*requests)
        return self.outcomes


@contextmanager
def isolated(mode: str, folder: Path) -> Iterator[Isolated]:
    """Root's workspace is where no other user may go; the user's workspace is his own."""
    # Imported here, because the harness of the user, see below, neither needs nor reaches it.
    from missing_parts import missing

    from evalharness.workspaces import remove_folder

    if mode not in CONTAINERS and shutil.which("bwrap") is None:
        missing("bubblewrap", "apt-get install bubblewrap")
    if mode == GROUPS and Cgroups.find() is None:
        missing("control groups that can be written", "run the tests on a machine, not in a container")
    is_dropped = mode == USER and os.geteuid() == 0
    beside = Path(tempfile.mkdtemp(prefix="evalharness-test-")) if is_dropped else folder / "closed"
    workspace = beside / "workspace"
    workspace.mkdir(parents=True)
    beside.chmod(0o755 if is_dropped else 0o700)
    try:
        yield Isolated(mode, workspace)
    finally:
        remove_folder(beside)


def sandbox_of(mode: str) -> Sandbox:
    if mode in CONTAINERS:
        return build_sandbox("container", {"containers": {"runtime": mode}})
    return Bubblewrap(BubblewrapOptions(control_groups=mode != NO_GROUPS))


async def run_all(requests: Iterable[ProcessRequest], mode: str) -> list[Outcome]:
    sandbox = sandbox_of(mode)

    async def run(request: ProcessRequest) -> Outcome:
        try:
            async with sandbox.session(request.cwd) as session:
                return await session.run(request)
        except TargetUnavailable as error:
            return error

    try:
        return await asyncio.gather(*map(run, requests))
    finally:
        await sandbox.close()


def user_command(*paths: Path) -> list[str]:
    """The start of a command line that runs the rest as an ordinary user with access to the harness and to `paths`."""
    if os.geteuid() != 0:
        return []
    needed = {path.resolve() for path in (SOURCE, Path(__file__), Path(sys.prefix), Path(sys.base_prefix), *paths)}
    return [*nobody.way_to(needed), *nobody.DROP]


def start_harness(mode: str, environment: Mapping[str, str] = MappingProxyType({})) -> subprocess.Popen[bytes]:
    """A harness in its own process, ready for requests; the first line on stderr is its process id."""
    own = {"PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [*(user_command() if mode == USER else ()), sys.executable, __file__, mode],
        env={**ENV, "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", **environment, **own},
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@functools.cache
def harness_of_the_user() -> subprocess.Popen[bytes]:
    harness = start_harness(USER)
    atexit.register(harness.communicate)
    return harness


def as_user(requests: Iterable[ProcessRequest]) -> list[Outcome]:
    harness = harness_of_the_user()
    assert harness.stdin is not None and harness.stdout is not None and harness.stderr is not None
    harness.stdin.write(pickle.dumps(list(requests)))
    harness.stdin.flush()
    try:
        outcomes: list[Outcome] = pickle.load(harness.stdout)
    except EOFError:
        raise AssertionError(harness.stderr.read().decode(errors="replace")) from None
    return outcomes


if __name__ == "__main__":
    print(os.getpid(), file=sys.stderr, flush=True)
    with open(0, "rb") as asking:
        while asking.peek():
            outcomes = asyncio.run(run_all(pickle.load(asking), sys.argv[1]))
            sys.stdout.buffer.write(pickle.dumps(outcomes))
            sys.stdout.buffer.flush()
