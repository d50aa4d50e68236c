"""Real processes in the sandbox that does not isolate: nothing survives its trial, and nothing leaks."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from sandboxed import ENV, FAMILY, FAMILY_SIZE, children, in_sandbox, open_files, pids, python, run, shell, survivors

from evalharness.contracts.sandbox import ProcessRequest, ProcessResult
from evalharness.errors import TargetUnavailable
from evalharness.sandboxes.none import NoSandbox

pytestmark = pytest.mark.usefixtures("proc", "adopting")


async def family_is_complete(folder: Path) -> None:
    while len(pids(folder)) < FAMILY_SIZE:
        await asyncio.sleep(0.01)


# Nothing survives its trial


def test_at_the_time_limit_the_whole_family_dies(tmp_path: Path) -> None:
    result = run(python(FAMILY + "print('partial', flush=True)\ntime.sleep(600)", tmp_path, timeout_s=5))
    assert len(pids(tmp_path)) == FAMILY_SIZE
    assert (result.ended, result.exit_code, result.stdout) == ("timeout", None, b"partial\n")
    assert result.duration_s >= 5
    assert survivors(tmp_path) == {}


def test_what_a_finished_process_left_behind_dies_before_the_result(tmp_path: Path) -> None:
    async def family(sandbox: NoSandbox) -> tuple[ProcessResult, dict[str, int]]:
        result = await sandbox.run(python(FAMILY + "print('finished')", tmp_path))
        return result, {name: pid for name, pid in pids(tmp_path).items() if Path(f"/proc/{pid}").exists()}

    result, left = in_sandbox(family)
    assert len(pids(tmp_path)) == FAMILY_SIZE
    assert (result.ended, result.exit_code, result.stdout) == ("exited", 0, b"finished\n")
    assert left == {}


def test_cancelling_kills_the_whole_family(tmp_path: Path) -> None:
    async def cancelled(sandbox: NoSandbox) -> None:
        task = asyncio.create_task(sandbox.run(python(FAMILY + "time.sleep(600)", tmp_path)))
        await family_is_complete(tmp_path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert survivors(tmp_path) == {}

    in_sandbox(cancelled)


def test_close_kills_what_a_second_interrupt_left_and_what_still_runs(tmp_path: Path) -> None:
    async def interrupted_twice(sandbox: NoSandbox) -> asyncio.Task[ProcessResult]:
        task = asyncio.create_task(sandbox.run(python(FAMILY + "time.sleep(600)", tmp_path)))
        running = asyncio.create_task(sandbox.run(shell("sleep 600", tmp_path)))
        await family_is_complete(tmp_path)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await sandbox.close()
        assert survivors(tmp_path) == {}
        return running

    async def ended_by_close(sandbox: NoSandbox) -> ProcessResult:
        return await (await interrupted_twice(sandbox))

    assert in_sandbox(ended_by_close).exit_code == -signal.SIGKILL


def test_a_trial_that_ends_leaves_its_neighbours_and_foreign_processes_alone(tmp_path: Path) -> None:
    foreign = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:

        async def neighbours(sandbox: NoSandbox) -> ProcessResult:
            line = "setsid sh -c 'sleep 1; echo alive >daemon' & touch started; sleep 1.5; cat daemon"
            neighbour = asyncio.create_task(sandbox.run(shell(line, tmp_path)))
            while not (tmp_path / "started").exists():
                await asyncio.sleep(0.01)
            await asyncio.gather(*(sandbox.run(shell("sleep 600 & exit 0", tmp_path)) for _ in range(5)))
            await NoSandbox().close()
            return await neighbour

        assert in_sandbox(neighbours).stdout == b"alive\n"
        assert foreign.poll() is None
    finally:
        foreign.kill()
        foreign.wait()


def test_a_harness_inside_a_trial_passes_the_outer_mark_on(tmp_path: Path) -> None:
    request = ProcessRequest(
        ("/bin/sh", "-c", "echo $EVALHARNESS_TRIAL"), str(tmp_path), ENV | {"EVALHARNESS_TRIAL": "1"}
    )
    outer, inner = run(request).stdout.split()
    assert outer == b"1" and int(inner) >= 2**50


def test_a_grandchild_that_keeps_the_pipe_open_does_not_delay_the_result(tmp_path: Path) -> None:
    result = run(shell("echo answer; sleep 600 & echo $! >sleeper.pid", tmp_path))
    assert (result.ended, result.exit_code, result.stdout) == ("exited", 0, b"answer\n")
    assert survivors(tmp_path) == {}


def test_a_grandchild_may_finish_its_last_words(tmp_path: Path) -> None:
    assert run(shell("(sleep 0.05; echo last words) & exit 0", tmp_path)).stdout == b"last words\n"


# Nothing leaks


def test_five_hundred_runs_leave_no_file_no_thread_and_no_zombie(tmp_path: Path) -> None:
    async def many(sandbox: NoSandbox) -> None:
        await sandbox.run(shell("true", tmp_path))
        files, threads, processes = open_files(), set(threading.enumerate()), children()
        for _ in range(10):
            lines = [
                "true",
                "sleep 600",
                "sleep 600 & exit 0",
                "setsid true & exit 0",
                "setsid sleep 600 >/dev/null 2>&1 & exit 0",
            ]
            requests = [shell(line, tmp_path, timeout_s=0.2, stdin=b"x") for line in lines * 10]
            await asyncio.gather(*(sandbox.run(request) for request in requests))
        assert open_files() <= files
        assert set(threading.enumerate()) <= threads
        assert children() <= processes

    in_sandbox(many)


def test_a_process_that_detached_and_ended_long_ago_is_not_a_zombie(tmp_path: Path) -> None:
    before = children()
    run(shell("sleep 0.1; (setsid true &) ; (env -i setsid true &) ; sleep 0.3", tmp_path))
    assert children() <= before


def test_failed_starts_leave_no_file_open(tmp_path: Path) -> None:
    async def many(sandbox: NoSandbox) -> None:
        with pytest.raises(TargetUnavailable):  # the first one also starts the sandbox's watcher
            await sandbox.run(ProcessRequest(("no-such-program",), str(tmp_path), ENV))
        before = open_files()
        for _ in range(20):
            with pytest.raises(TargetUnavailable):
                await sandbox.run(ProcessRequest(("no-such-program",), str(tmp_path), ENV))
        assert open_files() <= before

    in_sandbox(many)
