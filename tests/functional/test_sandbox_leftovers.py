"""After a sandbox has ended, in whatever way, nothing of it is left: no process, no control group, no descriptor."""

from __future__ import annotations

import asyncio
import os
import pickle
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import wait_until
from isolating import GROUPS, MODES, NO_GROUPS, USER, Isolated, isolated, start_harness
from sandboxed import children, open_files

from evalharness.contracts.sandbox import Limits
from evalharness.sandboxes import nobody
from evalharness.sandboxes.bubblewrap import Bubblewrap, BubblewrapOptions
from evalharness.sandboxes.cgroups import Cgroups

RUNAWAYS = "setsid sleep 600 & (setsid sleep 600 &) ; touch started; while :; do sleep 600; done"


IN_THIS_PROCESS = [mode for mode in MODES if mode != USER or os.geteuid() != 0]


@pytest.fixture(params=MODES)
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Isolated]:
    with isolated(request.param, tmp_path) as made:
        yield made


def groups_of(pid: int | str = "*") -> set[str]:
    found = Cgroups.find()
    if found is None:
        return set()
    return {path.name for parent in (found.processes, found.memory) for path in parent.glob(f"evalharness-{pid}-*")}


def processes_with(word: str) -> set[str]:
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes():
                found.add(path.parent.name)
        except OSError:
            continue
    return found


def test_runaways_end_with_the_first_process(box: Isolated) -> None:
    word = secrets.token_hex(16)
    assert box.run("/bin/sh", "-c", RUNAWAYS.replace("while", "exit; while"), word).exit_code == 0
    assert processes_with(word) == set()


@pytest.mark.parametrize("box", IN_THIS_PROCESS, indirect=True)
def test_many_runs_leave_nothing(box: Isolated) -> None:
    async def many() -> None:
        sandbox = Bubblewrap(BubblewrapOptions(control_groups=box.mode != NO_GROUPS))
        lines = {"true": 60.0, "sleep 600": 0.3, "setsid sleep 600 & exit 0": 60.0, "kill -9 $$": 60.0}
        requests = [box.request("/bin/sh", "-c", line, timeout_s=timeout_s) for line, timeout_s in lines.items()]
        requests.append(box.request("cat", "/dev/zero", flood_bytes=1_000_000))
        requests.append(box.request("python3", "-c", "import os\nwhile 1: os.fork()", limits=Limits(processes=10)))
        try:
            await asyncio.gather(*map(sandbox.run, requests))
            files, processes = open_files(), children()
            for _ in range(4):
                await asyncio.gather(*map(sandbox.run, requests))
            assert open_files() <= files
            assert children() <= processes
            assert groups_of(os.getpid()) == set()
        finally:
            await sandbox.close()

    asyncio.run(many())


@pytest.mark.parametrize("box", IN_THIS_PROCESS, indirect=True)
def test_a_cancelled_run_leaves_nothing(box: Isolated) -> None:
    word = secrets.token_hex(16)

    async def cancelled() -> None:
        sandbox = Bubblewrap(BubblewrapOptions(control_groups=box.mode != NO_GROUPS))
        try:
            running = asyncio.create_task(sandbox.run(box.request("/bin/sh", "-c", RUNAWAYS, word)))
            while not (box.workspace / "started").exists():
                await asyncio.sleep(0.01)
            running.cancel()
            await asyncio.wait([running])
            assert running.cancelled()
        finally:
            await sandbox.close()

    asyncio.run(cancelled())
    assert processes_with(word) == set()
    assert groups_of(os.getpid()) == set()


def test_a_harness_killed_with_9_leaves_nothing_that_the_next_one_does_not_remove(box: Isolated) -> None:
    word = secrets.token_hex(16)
    if box.mode == USER and os.geteuid() == 0:
        nobody.give_away(box.workspace)
    harness = start_harness(box.mode)
    assert harness.stdin is not None and harness.stderr is not None
    with harness:
        pid = int(harness.stderr.readline())
        harness.stdin.write(pickle.dumps([box.request("/bin/sh", "-c", RUNAWAYS, word)]))
        harness.stdin.flush()
        wait_until((box.workspace / "started").exists)
        left_over = groups_of(pid)
        assert processes_with(word)
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not processes_with(word))
    if box.mode == GROUPS:
        assert left_over, "otherwise there would be nothing to remove"
    box.shell("true")
    assert groups_of(pid) == set()


@pytest.mark.parametrize("box", IN_THIS_PROCESS, indirect=True)
def test_no_folder_is_left(box: Isolated, temporary: Path) -> None:
    box.shell("true")
    assert list(temporary.iterdir()) == []
