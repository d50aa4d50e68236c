"""An answer that attacks the process that judges it, in each mode of the sandbox: it finds no way in.

The answer really tries, with every process it can see, and refuses to do so outside a sandbox.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from isolating import MODES, USER, Isolated, isolated
from missing_parts import missing

from evalharness import registry
from evalharness.contracts.grader import GradeContext
from evalharness.contracts.sandbox import NO_OWNER, Owner, ProcessRequest, ProcessResult, Sandbox, SandboxSession
from evalharness.contracts.services import Services
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.worker_threads import Offloader
from evalharness.sandboxes import nobody
from evalharness.sandboxes.none import NoSandbox

TESTS = {"type": "code_tests", "test": "assert holes() == []\nassert add(2, 3) == 5\n", "timeout_seconds": 30}
SEARCH = r"""
import ctypes, os
if os.uname().nodename != "sandbox" or os.getuid() != 1000:
    raise SystemExit("refused: this is not the inside of a sandbox")
library = ctypes.CDLL(None, use_errno=True)
number = 1 if os.uname().machine == "aarch64" else 0
PIDFD_OPEN, PIDFD_GETFD, PTRACE, VM_READ = 434, 438, (101, 117)[number], (310, 270)[number]
SEIZE = 0x4206

def call(*words):
    result = library.syscall(*map(ctypes.c_long, words))
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result

def opened(path, flags):
    return os.open(path, flags)

def memory_of(pid):
    buffer = ctypes.create_string_buffer(8)
    here = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 8)
    return call(VM_READ, pid, ctypes.addressof(here), 1, ctypes.addressof(here), 1, 0)

def ways_into(pid):
    for name in ("mem", "environ", "maps"):
        yield name, lambda: os.read(opened(f"/proc/{pid}/{name}", os.O_RDONLY), 1)
    yield "write memory", lambda: opened(f"/proc/{pid}/mem", os.O_RDWR)
    for fd in range(8):
        yield f"fd {fd}", lambda: opened(f"/proc/{pid}/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
        yield f"read fd {fd}", lambda: opened(f"/proc/{pid}/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK)
        yield f"get fd {fd}", lambda: call(PIDFD_GETFD, call(PIDFD_OPEN, pid, 0), fd, 0)
    yield "list fds", lambda: os.listdir(f"/proc/{pid}/fd")
    yield "trace", lambda: call(PTRACE, SEIZE, pid, 0, 0)
    yield "copy memory", lambda: memory_of(pid)

def others():
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]

def holes():
    found = []
    for pid in others():
        for name, way in ways_into(pid):
            try:
                way()
            except OSError:
                continue
            found.append(f"{name} of {pid}")
    return found if others() else ["nobody was there to be looked into"]
"""
FORGE = r"""
for pid in others():
    for verdict in (b'{"passed": true}\n', b'{"case": 0, "reply": "{\\"value\\": 5}\\n"}\n'):
        for name, way in ways_into(pid):
            try:
                os.write(way(), verdict)
            except (OSError, TypeError):
                pass
    for number in range(1, 32):
        if number != 14 and pid == 1:  # SIGALRM is the clock of the tests
            os.kill(pid, number)
"""


class InBox(Sandbox, SandboxSession):
    """The sandbox of one mode."""

    def __init__(self, box: Isolated) -> None:
        super().__init__()
        self._box = box

    @asynccontextmanager
    async def session(self, workspace: str, owner: Owner = NO_OWNER) -> AsyncIterator[SandboxSession]:
        yield self

    async def run(self, request: ProcessRequest) -> ProcessResult:
        if self._box.mode == USER and os.geteuid() == 0:
            nobody.give_away(Path(request.cwd))
        outcome = await asyncio.to_thread(self._box.outcome, request)
        assert isinstance(outcome, ProcessResult), outcome
        return outcome


@pytest.fixture(params=MODES)
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Isolated]:
    with isolated(request.param, tmp_path) as made:
        yield made


def graded(box: Isolated, written: dict[str, Any], answer: str) -> Grade:
    async def ask() -> Grade:
        offloader = Offloader(1)
        services = Services(box.beside, NoSandbox(), offloader, environment={}, isolation=InBox(box))
        try:
            grader = registry.build_grader(GraderSpec.model_validate(written), services)
            return await grader.grade(GradeContext(Case(id="a", input="?"), Transcript(output=answer), 0, 0))
        finally:
            offloader.close()

    return asyncio.run(ask())


def test_code_finds_no_way_into_the_process_of_its_tests(box: Isolated) -> None:
    verdict = graded(box, TESTS, SEARCH + "def add(a, b): return a + b\n")
    assert verdict.passed, verdict.reason


@pytest.mark.parametrize("executor", ["python", "node", "bash"])
def test_code_finds_no_way_into_the_runner_of_its_cases(executor: str, box: Isolated) -> None:
    if executor != "python" and shutil.which(executor) is None:
        missing(executor, "apt-get install nodejs")
    written = {"type": "function_output", "executor": executor, "function_name": "holes", "timeout_per_case": 30}
    looks = 'for way in fd fd/0 fd/1 mem environ maps; do (: <"/proc/1/$way") 2>/dev/null && echo "$way"; done'
    answers = {
        "python": SEARCH,
        "node": """
            const fs = require("fs");
            function holes() {
              const ways = ["fd/0", "fd/1", "fd/2", "mem", "environ", "maps"];
              return ways.filter((way) => {
                try { fs.openSync(`/proc/1/${way}`, "r"); return true; } catch { return false; }
              });
            }""",
        "bash": f"holes() {{ {looks}; cat /proc/1/comm; }}",
    }
    case: dict[str, Any] = (
        {"expected": "^python\\d[.\\d]*$", "comparator": "regex"} if executor == "bash" else {"expected": []}
    )
    verdict = graded(box, {**written, "test_cases": [{"args": [], **case}]}, answers[executor])
    assert verdict.passed, verdict.reason


@pytest.mark.parametrize("kind", ["code_tests", "function_output"])
def test_a_verdict_cannot_be_forged_nor_turned_into_an_error(kind: str, box: Isolated) -> None:
    all_written: dict[str, dict[str, Any]] = {
        "code_tests": {**TESTS, "test": "assert add(2, 3) == 5"},
        "function_output": {
            "type": "function_output",
            "function_name": "add",
            "test_cases": [{"args": [2, 3], "expected": 5}],
        },
    }
    verdict = graded(box, all_written[kind], SEARCH + FORGE + "def add(a, b): return 0\n")
    assert verdict.state == "fail"
    assert "AssertionError" in verdict.reason or "gave 0, expected 5" in verdict.reason, verdict.reason
