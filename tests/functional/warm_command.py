"""`python -m evalharness` without its start-up: one process imports everything, and forks a child for each command.

A child is a process like any other: folder, environment, streams and shutdown are its own. It is not a fresh
interpreter: what only such a one can show is shown by the tests that start COMMAND (see driving.py).
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

LONGEST_ANSWER_S = 120.0
LARGEST_MESSAGE = 1 << 20


class WarmCommand:
    """The side of the tests. One command at a time."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._line, far_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far_end:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(far_end.fileno())],
                env=env,
                pass_fds=[far_end.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def run(self, words: Sequence[str], folder: Path, env: Mapping[str, str], timeout_s: float) -> tuple[int, str, str]:
        """Exit code, what it said to stdout and what to stderr. At the time limit it is killed."""
        with TemporaryDirectory() as streams:
            out, err = Path(streams, "out"), Path(streams, "err")
            asked = {"words": words, "folder": str(folder), "env": dict(env), "streams": [str(out), str(err)]}
            self._line.sendall(json.dumps(asked).encode())
            pid = self._answer(LONGEST_ANSWER_S)
            try:
                code = self._answer(timeout_s)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._answer(LONGEST_ANSWER_S)
                raise
            return code, out.read_bytes().decode(), err.read_bytes().decode(errors="replace")

    def close(self) -> None:
        self._line.close()
        self._process.wait()

    def _answer(self, timeout_s: float) -> int:
        self._line.settimeout(timeout_s)
        return int(self._line.recv(LARGEST_MESSAGE))


def import_everything() -> None:
    import evalharness

    for module in pkgutil.walk_packages(evalharness.__path__, "evalharness."):
        with suppress(Exception):  # the command that needs a broken module will complain of it
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def next_command(line: socket.socket) -> Any:
    """Returns in the children only. Who forks them tells the pid and the exit code of each, and ends with the tests."""
    while asked := line.recv(LARGEST_MESSAGE):
        pid = os.fork()
        if not pid:
            line.close()
            return json.loads(asked)
        line.send(b"%d" % pid)
        _, status = os.waitpid(pid, 0)
        line.send(b"%d" % os.waitstatus_to_exitcode(status))
    sys.exit()


def take_over(asked: Any) -> None:
    """Everything that is a new process's own."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, path in enumerate(asked["streams"], start=1):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    os.chdir(asked["folder"])
    sys.path[0] = asked["folder"]
    sys.argv[1:] = asked["words"]


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is meant for the tests, and their end is the end of this
    import_everything()
    gc.freeze()
    take_over(next_command(socket.socket(fileno=int(sys.argv[1]))))
    runpy.run_module("evalharness", run_name="__main__", alter_sys=True)
