"""The runner of `function_output`: each test case runs in its own child process, with its own time limit.

The expected values are not known here. The runner itself runs none of the code: it starts, watches and ends children,
and passes on what they wrote without reading it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import IO, Any, Literal, NamedTuple

from evalharness.runners import call_python
from evalharness.runners.channel import become_child, make_importable, read_frame, shut_out_children, take_stdout, tell

MOST_REPLY_BYTES = 1_048_576
MOST_BYTES = 8_388_608
"""The limit for all replies together. The harness keeps several times as much, so no reply is ever cut."""
SHOWN_BYTES = 300
ENDED_EARLY = "the code ended its process (exit code {}) before the function returned"


def main() -> None:
    channel = take_stdout()
    shut_out_children()
    request = read_frame()
    make_importable(request["path"])
    tell(channel, ready=True)
    left_bytes = MOST_BYTES
    deadline_s = time.monotonic() + request["total_s"]
    for number, case in enumerate(request["cases"]):
        limited = _limited(request, deadline_s - time.monotonic())
        replied = run_case(limited, case, min(left_bytes, MOST_REPLY_BYTES))
        left_bytes -= len(replied.get("reply", ""))
        tell(channel, case=number, **replied)
    os._exit(0)


def _limited(request: dict[str, Any], left_s: float) -> dict[str, Any]:
    """The request with the time left for one case, and the message for when it is over."""
    if left_s < request["timeout_s"]:
        too_late = f"time limit: everything together took more than {request['total_s']:g} s"
        return {**request, "timeout_s": max(0.0, left_s), "too_late": too_late}
    return {**request, "too_late": f"time limit: no result within {request['timeout_s']:g} s"}


def run_case(request: dict[str, Any], case: dict[str, Any], most_bytes: int) -> dict[str, Any]:
    try:
        if request["program"]:
            return _run_program(request, case, most_bytes)
        return _run_python(request, case, most_bytes)
    except OSError as error:
        return {"error": f"cannot start a process: {error.strerror}"}


def _run_python(request: dict[str, Any], case: dict[str, Any], most_bytes: int) -> dict[str, Any]:
    def work(writer: int) -> None:
        become_child(writer)
        call_python.reply(request, case)

    return _reply(run_child(work, request["timeout_s"], most_bytes, until_line=True), request, most_bytes)


def _run_program(request: dict[str, Any], case: dict[str, Any], most_bytes: int) -> dict[str, Any]:
    """Run another language's interpreter, with a small program that calls the function."""
    import tempfile  # lazy: slow to import, and not needed for Python

    asked = json.dumps({**case, "code": request["code"]}) if request["asks_json"] else request["code"]
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as errors:
        question.write(asked.encode(errors="replace"))
        question.seek(0)

        def work(writer: int) -> None:
            become_child(writer, question.fileno(), errors.fileno())
            os.execv(request["program"][0], [*request["program"], request["function_name"], *case["words"]])

        heard = run_child(work, request["timeout_s"], most_bytes, until_line=request["asks_json"])
        if request["asks_json"] or heard.ended != "itself":
            return _reply(heard, request, most_bytes)
        return _text(heard, errors)


def _reply(heard: Heard, request: dict[str, Any], most_bytes: int) -> dict[str, Any]:
    if heard.ended == "time":
        return {"error": request["too_late"]}
    if heard.ended == "size":
        return {"error": f"the result is larger than {most_bytes:,} bytes"}
    if heard.written.endswith(b"\n"):
        return {"reply": heard.written.decode(errors="replace")}
    if heard.signal:
        return {"error": f"its process was killed by {signal.Signals(heard.signal).name}", "signal": heard.signal}
    return {"error": ENDED_EARLY.format(heard.exit_code)}


def _text(heard: Heard, errors: IO[bytes]) -> dict[str, Any]:
    """The output of a shell function is its result, unless its exit code is not 0."""
    if heard.status == 0 and heard.written.endswith(b"\0"):
        return {"reply": heard.written[:-1].decode(errors="replace")}
    if heard.status == 0:
        return {"error": ENDED_EARLY.format(0)}
    how = f"was killed by {signal.Signals(heard.signal).name}" if heard.signal else f"exit code {heard.exit_code}"
    said = os.pread(errors.fileno(), SHOWN_BYTES, 0).decode(errors="replace").strip()
    return {"error": f"{how}: {said}" if said else how, "signal": heard.signal}


# One child of a runner: forked, read up to a limit of bytes and time, and ended with everything it started.

LOOK_S = 0.05
MOST_SWEEPS = 100
_CHUNK_BYTES = 65_536


class Heard(NamedTuple):
    """`status` comes from `waitpid`; it is meaningless if the child was killed."""

    written: bytes
    ended: Literal["itself", "time", "size"]
    status: int

    @property
    def signal(self) -> int:
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0

    @property
    def exit_code(self) -> int:
        return os.waitstatus_to_exitcode(self.status)


def run_child(work: Callable[[int], None], timeout_s: float, most_bytes: int, *, until_line: bool) -> Heard:
    """Run `work` in a child, with a descriptor to write to; raises OSError if no child can be started.

    With `until_line`, the first line is the whole reply.
    """
    deadline_s = time.monotonic() + timeout_s
    reader, writer = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if child == 0:
        try:
            work(writer)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        written, ended = _hear(child, reader, deadline_s, most_bytes, until_line)
    finally:
        status = _end(child)
        os.close(reader)
    return Heard(written, ended, status)


def _hear(
    child: int, reader: int, deadline_s: float, most_bytes: int, until_line: bool
) -> tuple[bytes, Literal["itself", "time", "size"]]:
    """Read the child's reply. The pipe may stay open after its end, if processes that it left behind have it."""
    written = bytearray()
    while True:
        was_dead = _is_dead(child)
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            return bytes(written), "time"
        if select.select([reader], [], [], 0 if was_dead else min(left_s, LOOK_S))[0]:
            chunk = os.read(reader, _CHUNK_BYTES)
            written += chunk
            if len(written) > most_bytes:
                return bytes(written[:most_bytes]), "size"
            line, end, _ = bytes(written).partition(b"\n") if until_line else (b"", b"", b"")
            if end:
                return line + end, "itself"
            if not chunk:
                _wait_until_dead(child, deadline_s)
                return bytes(written), "itself" if _is_dead(child) else "time"
        elif was_dead:
            return bytes(written), "itself"


def _wait_until_dead(child: int, deadline_s: float) -> None:
    """Wait for the end of a child that has closed its pipe, to get its status."""
    while not _is_dead(child) and time.monotonic() < deadline_s:
        time.sleep(0.001)


def _is_dead(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(child: int) -> int:
    """Kill the child, its session and its orphans, so that nothing of one test case is left in the next."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child, signal.SIGKILL)
        except OSError:
            continue
    status = os.waitpid(child, 0)[1]
    for _ in range(MOST_SWEEPS):
        orphans = _children()
        if not orphans:
            break
        for orphan in orphans:
            _kill_and_reap(orphan)
    return status


def _kill_and_reap(orphan: int) -> None:
    try:
        os.kill(orphan, signal.SIGKILL)
        os.waitpid(orphan, 0)
    except OSError:
        return


def _children() -> list[int]:
    """The children of the runner; empty except on Linux, where alone it adopts orphans."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as listed:  # noqa: PTH123 - slow to import
            return [int(pid) for pid in listed.read().split()]
    except OSError:
        return []
