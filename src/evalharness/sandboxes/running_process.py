"""One process while it runs: its input, its limited output, its limits and its exit.

It never kills: it reports when the process has exited or exceeded a limit, and the result. `none.py` starts the
process, and kills it with everything it started.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import IO

from evalharness.contracts.sandbox import Ended, ProcessRequest, ProcessResult
from evalharness.errors import TargetUnavailable
from evalharness.sandboxes.process_tree import open_pidfd

_CHUNK_BYTES = 65_536
_LEFT_IN_PIPE_CHUNKS = 16  # an ordinary user's largest pipe has 1 MiB
_DRAIN_S = 0.3
_EXIT_POLL_S = 0.02


class RunningProcess:
    """Driven by callbacks of the event loop it was created in; `popen` has three unbuffered pipes."""

    def __init__(self, popen: subprocess.Popen[bytes], request: ProcessRequest) -> None:
        self.pid = popen.pid
        self._popen = popen
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._stdin_pipe, self._stdout_pipe, self._stderr_pipe = _pipes(popen)
        self._unsent = memoryview(request.stdin)
        self._stdout = BoundedOutput(request.keep_bytes)
        self._stderr = BoundedOutput(request.keep_bytes)
        self._drained = asyncio.Event()
        self._flooded = False
        self._passed: Ended | None = None
        self._ends = asyncio.Event()
        self._exit_code: int | None = None
        self._started_s = self._loop.time()
        self._ended_s = self._started_s
        self._serve_pipes()
        self._pidfd = open_pidfd(self.pid)
        self._exit_poll: asyncio.TimerHandle | None = None
        self._watch_exit()

    async def wait(self) -> Ended:
        """Wait until the process exits or exceeds a limit; nothing is killed yet."""
        try:
            async with asyncio.timeout(self._request.timeout_s):
                await self._ends.wait()
        except TimeoutError:
            pass
        self._ended_s = self._loop.time()
        if self._flooded:
            return "flood"
        return self._passed or ("exited" if self._ends.is_set() else "timeout")

    def end(self, passed: Ended) -> None:
        """An observer has seen the process exceed a limit."""
        self._passed = passed
        self.stop_waiting()

    def stop_waiting(self) -> None:
        """End the wait because the observer has stopped for any reason; the process must be killed."""
        self._ends.set()

    async def drain(self) -> None:
        """Let the last output arrive, but do not wait long for a grandchild that keeps a pipe open."""
        try:
            async with asyncio.timeout(_DRAIN_S):
                await self._drained.wait()
        except TimeoutError:
            pass

    def is_dead(self) -> bool:
        """Whether the first process has ended, checked without reaping it if the platform allows."""
        if self._popen.returncode is not None:
            return True
        if not hasattr(os, "waitid"):
            self._exit_code = self._popen.poll()
            return self._exit_code is not None
        try:
            status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            self.reap()  # other code has reaped it, and its exit code is lost
            return True
        if status is None:
            return False
        self._exit_code = status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
        return True

    def unreaped_pid(self) -> int | None:
        """The pid; None once it may have been reused. Without `waitid` it is used a moment longer."""
        return self.pid if self._popen.returncode is None or not hasattr(os, "waitid") else None

    def reap(self) -> None:
        self._popen.poll()

    def close_pipes(self) -> None:
        """Read what is still in the pipes and release everything."""
        for pipe, output in ((self._stdout_pipe, self._stdout), (self._stderr_pipe, self._stderr)):
            for _ in range(_LEFT_IN_PIPE_CHUNKS):
                self._read(pipe, output)
            self._close(pipe)
        self._close(self._stdin_pipe)
        self._stop_watching()

    def result(self, ended: Ended) -> ProcessResult:
        # Output that arrived after the exit can still exceed the limit: the verdict must not depend on timing.
        if self._flooded and ended == "exited":
            ended = "flood"
        if ended == "exited" and self._exit_code is None:
            raise TargetUnavailable(
                f"the exit code of '{self._request.argv[0]}' was lost: something else in this process reaped it",
                hint="do not ignore SIGCHLD, and do not wait for child processes you did not start",
            )
        return ProcessResult(
            exit_code=self._exit_code if ended == "exited" else None,
            stdout=self._stdout.value(),
            stderr=self._stderr.value(),
            stdout_total=self._stdout.total,
            stderr_total=self._stderr.total,
            truncated=ended == "flood" or self._stdout.is_cut or self._stderr.is_cut,
            lost_bytes=self._stdout.missing + self._stderr.missing,
            ended=ended,
            duration_s=self._ended_s - self._started_s,
        )

    def _serve_pipes(self) -> None:
        for pipe in (self._stdin_pipe, self._stdout_pipe, self._stderr_pipe):
            os.set_blocking(pipe.fileno(), False)
        self._loop.add_writer(self._stdin_pipe.fileno(), self._write)
        self._loop.add_reader(self._stdout_pipe.fileno(), self._read, self._stdout_pipe, self._stdout)
        self._loop.add_reader(self._stderr_pipe.fileno(), self._read, self._stderr_pipe, self._stderr)

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin_pipe.fileno(), self._unsent[:_CHUNK_BYTES]) if self._unsent else 0
        except BlockingIOError:
            return
        except BrokenPipeError:
            sent = len(self._unsent)  # a process need not read its input
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._close(self._stdin_pipe)

    def _read(self, pipe: IO[bytes], output: BoundedOutput) -> None:
        if pipe.closed or self._flooded:
            return
        try:
            chunk = os.read(pipe.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return
        output.add(chunk)
        if not chunk:
            self._close(pipe)
        if output.total > self._request.flood_bytes:
            self._on_flood()
        if self._stdout_pipe.closed and self._stderr_pipe.closed:
            self._drained.set()

    def _on_flood(self) -> None:
        """Stop reading, but leave the pipes open: a broken pipe would let the writer continue until it is killed."""
        self._flooded = True
        for pipe in (self._stdout_pipe, self._stderr_pipe):
            if not pipe.closed:
                self._loop.remove_reader(pipe.fileno())
        self._drained.set()
        self._ends.set()

    def _close(self, pipe: IO[bytes]) -> None:
        if not pipe.closed:
            self._loop.remove_reader(pipe.fileno())
            self._loop.remove_writer(pipe.fileno())
            pipe.close()

    def _watch_exit(self) -> None:
        if self._pidfd is not None:
            self._loop.add_reader(self._pidfd, self._on_exit)
        elif self.is_dead():
            self._ends.set()
        else:
            self._exit_poll = self._loop.call_later(_EXIT_POLL_S, self._watch_exit)

    def _on_exit(self) -> None:
        self._stop_watching()
        self._ends.set()

    def _stop_watching(self) -> None:
        if self._exit_poll is not None:
            self._exit_poll.cancel()
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None


def _pipes(popen: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert popen.stdin is not None and popen.stdout is not None and popen.stderr is not None
    return popen.stdin, popen.stdout, popen.stderr


# The head and the tail of a stream of any length, in bounded memory.

_LONGEST_CHARACTER = 4


class BoundedOutput:
    """Keeps the first and the last `keep_bytes` of what is added, and counts all of it."""

    def __init__(self, keep_bytes: int) -> None:
        self.total = 0
        self._keep_bytes = keep_bytes
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._keep_bytes - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        del self._tail[: max(0, len(self._tail) - self._keep_bytes)]

    @property
    def is_cut(self) -> bool:
        return self.total > 2 * self._keep_bytes

    @property
    def missing(self) -> int:
        """How many bytes are not kept."""
        return max(0, self.total - 2 * self._keep_bytes)

    def value(self) -> bytes:
        """Everything, or head and tail with a line between them that counts the missing bytes."""
        if not self.is_cut:
            return bytes(self._head + self._tail)
        head, tail = _without_split_end(self._head), _without_split_start(self._tail)
        missing = self.total - len(head) - len(tail)
        # The … mark the exact place of the cut, where the redaction looks for parts of secrets.
        return bytes(head) + f"…\n[{missing} bytes cut]\n…".encode() + bytes(tail)


def _without_split_end(data: bytearray) -> bytearray:
    """`data` without the beginning of a UTF-8 character whose rest is missing."""
    for length in range(1, min(_LONGEST_CHARACTER, len(data) + 1)):
        first = data[-length]
        if first < 0x80:
            return data
        if first >= 0xC0:
            needed = 2 + (first >= 0xE0) + (first >= 0xF0)
            return data[:-length] if needed > length else data
    return data


def _without_split_start(data: bytearray) -> bytearray:
    """`data` without the rest of a UTF-8 character whose beginning is missing."""
    start = 0
    while start < min(_LONGEST_CHARACTER - 1, len(data)) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]
