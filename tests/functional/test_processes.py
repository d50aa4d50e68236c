"""Real processes under the sandbox that does not isolate: limits, output, and that nothing outlives its trial."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from evalharness.domain.process import ProcessRequest, ProcessResult
from evalharness.errors import TargetUnavailable
from evalharness.sandboxes.none import NoSandbox

T = TypeVar("T")

ENV = {"PATH": "/usr/bin:/bin"}
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux and its /proc")

# Six ways to live on: a child, its child, a child in its own session, the same without its environment, a daemon by
# double fork, and one that also wipes its environment. Each leaves its pid in a file named after it.
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


async def family_is_complete(folder: Path) -> None:
    while len(pids(folder)) < FAMILY_SIZE:
        await asyncio.sleep(0.01)


def survivors(folder: Path) -> dict[str, int]:
    """Who of those who left a pid is still there, as a process or as a zombie, after at most 2 s."""
    deadline = time.monotonic() + 2
    while True:
        left = {name: pid for name, pid in pids(folder).items() if Path(f"/proc/{pid}").exists()}
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.01)


def children() -> set[int]:
    """Every child of this process, dead or alive."""
    tasks = Path("/proc/self/task")
    return {int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()}


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def peak_memory_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


# What a process says and how it ends


def test_exit_code_and_both_streams(tmp_path: Path) -> None:
    result = run(shell("echo out; echo err >&2; exit 7", tmp_path))
    assert (result.exit_code, result.ended, result.truncated) == (7, "exited", False)
    assert (result.stdout, result.stderr) == (b"out\n", b"err\n")
    assert (result.stdout_total, result.stderr_total) == (4, 4)
    assert result.duration_s > 0


def test_death_by_a_signal_is_a_negative_exit_code(tmp_path: Path) -> None:
    result = run(shell("kill -TERM $$", tmp_path))
    assert (result.exit_code, result.ended) == (-signal.SIGTERM, "exited")


def test_stdin_of_many_pipe_sizes_comes_back(tmp_path: Path) -> None:
    text = bytes(range(256)) * 2_000
    assert run(ProcessRequest(("cat",), str(tmp_path), ENV, stdin=text)).stdout == text


def test_without_stdin_the_process_reads_the_end_at_once(tmp_path: Path) -> None:
    assert run(shell("cat; echo end", tmp_path, timeout_s=60)).stdout == b"end\n"


@pytest.mark.parametrize("line", ["exec <&-; sleep 0.2; echo done", "head -c 1 >/dev/null; echo done", "echo done"])
def test_a_process_need_not_read_its_stdin(line: str, tmp_path: Path) -> None:
    result = run(shell(line, tmp_path, stdin=b"x" * 1_000_000))
    assert (result.exit_code, result.stdout) == (0, b"done\n")


def test_the_environment_and_the_folder_are_those_asked_for(tmp_path: Path) -> None:
    request = ProcessRequest(
        ("/bin/sh", "-c", "pwd; echo $COLOUR; echo ${HOME-none}"), str(tmp_path), {"COLOUR": "red"}
    )
    assert run(request).stdout.decode().splitlines() == [str(tmp_path.resolve()), "red", "none"]


def test_output_that_is_not_utf_8_stays_as_it_is(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)))"
    assert run(python(code, tmp_path)).stdout == bytes(range(256))


def test_output_of_a_process_that_closes_its_streams_and_lives_on(tmp_path: Path) -> None:
    result = run(shell("echo early; exec >&- 2>&-; sleep 0.3; exit 3", tmp_path))
    assert (result.exit_code, result.stdout) == (3, b"early\n")


def test_the_sandbox_works_in_a_thread(tmp_path: Path) -> None:
    results: list[ProcessResult] = []
    thread = threading.Thread(target=lambda: results.append(run(shell("echo hello", tmp_path))))
    thread.start()
    thread.join()
    assert results[0].stdout == b"hello\n"


def test_fifty_at_once_do_not_mix(tmp_path: Path) -> None:
    async def fifty(sandbox: NoSandbox) -> list[ProcessResult]:
        lines = [f"cat; echo {i} >&2; sleep 0.2; exit {i}" for i in range(50)]
        requests = [shell(line, tmp_path, stdin=str(i).encode()) for i, line in enumerate(lines)]
        return await asyncio.gather(*(sandbox.run(request) for request in requests))

    results = in_sandbox(fifty)
    assert [(r.exit_code, r.stdout, r.stderr) for r in results] == [
        (i, str(i).encode(), f"{i}\n".encode()) for i in range(50)
    ]


# What cannot be started


def test_a_missing_program_says_what_and_where(tmp_path: Path) -> None:
    with pytest.raises(TargetUnavailable, match=r"no-such-program.*no such program") as caught:
        run(ProcessRequest(("no-such-program",), str(tmp_path), ENV))
    assert str(tmp_path) in caught.value.message
    assert "PATH" in caught.value.hint


def test_a_file_that_is_not_executable(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(TargetUnavailable, match=r"notes\.txt.*not executable") as caught:
        run(ProcessRequest(("./notes.txt",), str(tmp_path), ENV))
    assert "chmod" in caught.value.hint


def test_a_missing_working_folder(tmp_path: Path) -> None:
    with pytest.raises(TargetUnavailable, match=r"working folder .*nowhere"):
        run(shell("true", tmp_path / "nowhere"))


@pytest.mark.parametrize("argv", [(), ("",), ("nul\0byte",)])
def test_a_command_that_is_none(argv: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(TargetUnavailable, match="cannot start"):
        run(ProcessRequest(argv, str(tmp_path), ENV))


@linux_only
def test_a_lost_exit_code_is_an_error_and_never_a_zero(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(TargetUnavailable, match="exit code of '/bin/sh' was lost"):
            run(shell("exit 1", tmp_path))
    finally:
        signal.signal(signal.SIGCHLD, before)


# Bounded output


@pytest.mark.parametrize("shift", range(4))
def test_long_output_keeps_head_and_tail_and_splits_no_character(shift: int, tmp_path: Path) -> None:
    text = "a" * shift + "🙂é" * 50_000
    code = f"import sys; sys.stdout.buffer.write(('a' * {shift} + (chr(0x1F642) + chr(0xE9)) * 50_000).encode())"
    result = run(python(code, tmp_path, keep_bytes=1_000))
    head, cut, tail = result.stdout.decode().split("\n")
    assert text.startswith(head) and text.endswith(tail)
    missing = int(cut.split()[1])
    assert len(head.encode()) + len(tail.encode()) + missing == result.stdout_total == len(text.encode())
    assert 994 <= len(head.encode()) <= 1_000 and 994 <= len(tail.encode()) <= 1_000
    assert (result.truncated, result.ended, result.exit_code) == (True, "exited", 0)


def test_output_that_just_fits_is_whole(tmp_path: Path) -> None:
    result = run(shell("head -c 2000 /dev/zero; head -c 2000 /dev/zero >&2", tmp_path, keep_bytes=1_000))
    assert (result.stdout, result.stderr, result.truncated) == (bytes(2_000), bytes(2_000), False)


def test_output_may_be_exactly_as_long_as_the_flood_limit(tmp_path: Path) -> None:
    line = "echo start; head -c 19999990 /dev/zero; echo end"
    result = run(shell(line, tmp_path, keep_bytes=100, flood_bytes=20_000_000))
    assert (result.ended, result.exit_code, result.truncated, result.stdout_total) == ("exited", 0, True, 20_000_000)
    assert result.stdout.startswith(b"start\n") and result.stdout.endswith(b"end\n")
    assert "[… 19999800 bytes cut …]" in result.stdout.decode()


def test_one_byte_more_is_a_flood_even_from_a_process_that_has_exited(tmp_path: Path) -> None:
    result = run(shell("printf 12345", tmp_path, flood_bytes=4))
    assert (result.ended, result.exit_code, result.truncated) == ("flood", None, True)


@linux_only
def test_a_flood_is_stopped_in_little_memory(tmp_path: Path) -> None:
    Path("/proc/self/clear_refs").write_text("5")  # start the peak anew
    before_mb = peak_memory_mb()
    line = "echo $$ >main.pid; echo start; head -c 600000000 /dev/zero; touch finished"
    result = run(shell(line, tmp_path, keep_bytes=1_000, flood_bytes=300_000_000))
    assert (result.ended, result.exit_code, result.truncated) == ("flood", None, True)
    assert 300_000_000 < result.stdout_total < 301_000_000
    assert result.stdout.startswith(b"start\n") and len(result.stdout) < 2_100
    assert peak_memory_mb() - before_mb < 100
    assert not (tmp_path / "finished").exists()
    assert survivors(tmp_path) == {}


# Nothing outlives its trial


@linux_only
def test_at_the_time_limit_the_whole_family_dies(tmp_path: Path) -> None:
    result = run(python(FAMILY + "print('partial', flush=True)\ntime.sleep(600)", tmp_path, timeout_s=3))
    assert len(pids(tmp_path)) == FAMILY_SIZE
    assert (result.ended, result.exit_code, result.stdout) == ("timeout", None, b"partial\n")
    assert result.duration_s >= 3
    assert survivors(tmp_path) == {}


@linux_only
def test_what_a_finished_process_left_behind_dies_before_the_result(tmp_path: Path) -> None:
    async def family(sandbox: NoSandbox) -> tuple[ProcessResult, dict[str, int]]:
        result = await sandbox.run(python(FAMILY + "print('finished')", tmp_path))
        return result, {name: pid for name, pid in pids(tmp_path).items() if Path(f"/proc/{pid}").exists()}

    result, left = in_sandbox(family)
    assert len(pids(tmp_path)) == FAMILY_SIZE
    assert (result.ended, result.exit_code, result.stdout) == ("exited", 0, b"finished\n")
    assert left == {}


@linux_only
def test_cancelling_kills_the_whole_family(tmp_path: Path) -> None:
    async def cancelled(sandbox: NoSandbox) -> None:
        task = asyncio.create_task(sandbox.run(python(FAMILY + "time.sleep(600)", tmp_path)))
        await family_is_complete(tmp_path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert survivors(tmp_path) == {}

    in_sandbox(cancelled)


@linux_only
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


@linux_only
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


@linux_only
def test_a_harness_inside_a_trial_passes_the_outer_mark_on(tmp_path: Path) -> None:
    request = ProcessRequest(
        ("/bin/sh", "-c", "echo $EVALHARNESS_TRIAL"), str(tmp_path), ENV | {"EVALHARNESS_TRIAL": "1"}
    )
    outer, inner = run(request).stdout.split()
    assert outer == b"1" and int(inner) > 2**59


@linux_only
def test_a_grandchild_that_holds_the_pipe_does_not_delay_the_result(tmp_path: Path) -> None:
    result = run(shell("echo answer; sleep 600 & echo $! >sleeper.pid", tmp_path))
    assert (result.ended, result.exit_code, result.stdout) == ("exited", 0, b"answer\n")
    assert survivors(tmp_path) == {}


@linux_only
def test_a_grandchild_may_finish_its_last_words(tmp_path: Path) -> None:
    assert run(shell("(sleep 0.05; echo last words) & exit 0", tmp_path)).stdout == b"last words\n"


# Nothing leaks


@linux_only
def test_five_hundred_runs_leave_no_file_no_thread_and_no_zombie(tmp_path: Path) -> None:
    async def many(sandbox: NoSandbox) -> tuple[int, int, set[int]]:
        await sandbox.run(shell("true", tmp_path))
        before = open_files(), threading.active_count(), children()
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
        assert (open_files(), threading.active_count(), children()) == before
        return before

    in_sandbox(many)


@linux_only
def test_a_process_that_detached_and_ended_long_ago_is_no_zombie(tmp_path: Path) -> None:
    before = children()
    run(shell("sleep 0.1; (setsid true &) ; (env -i setsid true &) ; sleep 0.3", tmp_path))
    assert children() <= before


@linux_only
def test_failed_starts_leave_no_file_open(tmp_path: Path) -> None:
    async def many(sandbox: NoSandbox) -> None:
        with pytest.raises(TargetUnavailable):  # the first one also starts the sandbox's watcher
            await sandbox.run(ProcessRequest(("no-such-program",), str(tmp_path), ENV))
        before = open_files()
        for _ in range(20):
            with pytest.raises(TargetUnavailable):
                await sandbox.run(ProcessRequest(("no-such-program",), str(tmp_path), ENV))
        assert open_files() == before

    in_sandbox(many)
