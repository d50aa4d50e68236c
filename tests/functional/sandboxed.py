"""How tests run a process in the sandbox that does not isolate, and find out which of its family still exist."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from evalharness.contracts.sandbox import ProcessRequest, ProcessResult
from evalharness.sandboxes.none import NoSandbox

T = TypeVar("T")

ENV = {"PATH": "/usr/bin:/bin"}

# Six ways to survive: a child, its child, a child in its own session, the same without its environment, a daemon by
# double fork, and one that also clears its environment. Each writes its pid to a file named after it.
FAMILY = """
import os, time
def leave_pid(name):
    with open(name + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(name + ".new", name + ".pid")
def live(name, env):
    leave_pid(name)
    os.execve("/bin/sleep", ["sleep", "600"], env)
def start(name, *, session=False, daemon=False, env=os.environ):
    first = os.fork()
    if first == 0:
        if session or daemon:
            os.setsid()
        if not daemon or os.fork() == 0:
            live(name, env)
        os._exit(0)
    if daemon:
        os.waitpid(first, 0)
time.sleep(0.1)
start("child")
if os.fork() == 0:
    start("grandchild")
    live("parent", os.environ)
start("session", session=True)
start("bare_session", session=True, env={})
start("daemon", daemon=True)
start("bare_daemon", daemon=True, env={})
leave_pid("main")
"""
FAMILY_SIZE = 8


def shell(line: str, cwd: Path, **options: Any) -> ProcessRequest:
    return ProcessRequest(argv=("/bin/sh", "-c", line), cwd=str(cwd), env=ENV, **options)


def python(code: str, cwd: Path, **options: Any) -> ProcessRequest:
    return ProcessRequest(argv=(sys.executable, "-c", code), cwd=str(cwd), env=ENV, **options)


def in_sandbox(work: Callable[[NoSandbox], Coroutine[Any, Any, T]]) -> T:
    async def go() -> T:
        sandbox = NoSandbox()
        try:
            return await work(sandbox)
        finally:
            await sandbox.close()

    return asyncio.run(go())


def run(request: ProcessRequest) -> ProcessResult:
    return in_sandbox(lambda sandbox: sandbox.run(request))


def pids(folder: Path) -> dict[str, int]:
    return {file.stem: int(file.read_text()) for file in folder.glob("*.pid")}


def survivors(folder: Path) -> dict[str, int]:
    """Which of the processes that wrote a pid still exist, as a process or as a zombie, after at most 30 s."""
    deadline = time.monotonic() + 30
    while True:
        left = {name: pid for name, pid in pids(folder).items() if Path(f"/proc/{pid}").exists()}
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.01)


def children() -> set[int]:
    """Every child of this process, dead or alive."""
    tasks = Path("/proc/self/task")
    return {int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()}


def open_files() -> set[str]:
    """What this process's descriptors point at; the kernel numbers pipes and sockets, so each is unique."""
    links = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            links.add(str(descriptor.readlink()))
        except FileNotFoundError:  # the listing's own
            continue
    return links
