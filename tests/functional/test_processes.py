"""Real processes in the sandbox that does not isolate: their output, how they end, and how much of it is kept."""

from __future__ import annotations

import asyncio
import signal
import threading
from pathlib import Path

import pytest
from sandboxed import ENV, in_sandbox, python, run, shell, survivors

from evalharness.contracts.sandbox import ProcessRequest, ProcessResult
from evalharness.errors import TargetUnavailable
from evalharness.sandboxes.none import NoSandbox


def peak_memory_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


# What a process prints and how it ends


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


@pytest.mark.usefixtures("proc")
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
    head, tail = head.removesuffix("…"), tail.removeprefix("…")
    assert text.startswith(head) and text.endswith(tail)
    missing = int(cut.split()[0].strip("["))
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
    assert "…\n[19999800 bytes cut]\n…" in result.stdout.decode()


def test_one_byte_more_is_a_flood_even_from_a_process_that_has_exited(tmp_path: Path) -> None:
    result = run(shell("printf 12345", tmp_path, flood_bytes=4))
    assert (result.ended, result.exit_code, result.truncated) == ("flood", None, True)


@pytest.mark.usefixtures("proc")
def test_a_flood_is_stopped_in_little_memory(tmp_path: Path) -> None:
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before_mb = peak_memory_mb()
    line = "echo $$ >main.pid; echo start; head -c 600000000 /dev/zero; touch finished"
    result = run(shell(line, tmp_path, keep_bytes=1_000, flood_bytes=300_000_000))
    assert (result.ended, result.exit_code, result.truncated) == ("flood", None, True)
    assert 300_000_000 < result.stdout_total < 301_000_000
    assert result.stdout.startswith(b"start\n") and len(result.stdout) < 2_100
    assert peak_memory_mb() - before_mb < 100
    assert not (tmp_path / "finished").exists()
    assert survivors(tmp_path) == {}
