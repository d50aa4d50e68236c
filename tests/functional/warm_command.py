"""`python -m evalharness` without its start-up: one process imports everything, and forks a child for each command.

A child is an ordinary process with its own folder, environment, streams and signals. It is not a fresh interpreter:
tests that need one start COMMAND (see driving.py).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

LONGEST_START_S = 120.0
LARGEST_MESSAGE = 1 << 20
LEAVE = os._exit  # during a run, another function has this name


class WarmProcess:
    """A running command, with the methods of `subprocess.Popen` that tests need."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._line.settimeout(LONGEST_START_S)
        self.pid = int(line.recv(LARGEST_MESSAGE))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with suppress(TimeoutError, BlockingIOError):
            self.wait(0)
        return self.returncode

    def wait(self, timeout_s: float) -> int:
        if self.returncode is None:
            self._line.settimeout(timeout_s)
            self.returncode = int(self._line.recv(LARGEST_MESSAGE))
            self._line.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended, and its exit code will arrive soon
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class WarmCommand:
    """The side of the tests."""

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

    def start(
        self,
        words: Sequence[str],
        folder: Path,
        env: Mapping[str, str],
        streams: Sequence[int],
        *,
        whole_shutdown: bool,
    ) -> WarmProcess:
        """`streams`: the descriptors of stdin, stdout and stderr.

        Without a whole shutdown, the child ends once its exit functions have run. Freeing all objects would take ten
        times as long, since each has to be copied from the parent first.
        """
        asked = {"words": words, "folder": str(folder), "env": dict(env), "whole_shutdown": whole_shutdown}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(self._line, [json.dumps(asked).encode()], [*streams, theirs.fileno()])
        return WarmProcess(ours)

    def close(self) -> None:
        self._line.close()
        self._process.wait()


def import_everything() -> None:
    import evalharness

    for module in pkgutil.walk_packages(evalharness.__path__, "evalharness."):
        with suppress(Exception):  # the command that needs a broken module will report it
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def next_command(line: socket.socket) -> tuple[Any, list[int]]:
    """Returns in the children only, with the request and its streams.

    The process that forks them reports the pid and the exit code of each, and ends with the tests.
    """
    ended, noticed = socket.socketpair()
    noticed.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler, the descriptor is not written to
    signal.set_wakeup_fd(noticed.fileno())
    under_way: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([line, ended], [], [])
        if line in ready:
            asked, descriptors, _, _ = socket.recv_fds(line, LARGEST_MESSAGE, 4)
            if not asked:
                sys.exit()
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for inherited in (line, ended, noticed, *under_way.values()):
                    inherited.close()
                os.close(descriptors.pop())
                return json.loads(asked), descriptors
            for descriptor in descriptors[:-1]:
                os.close(descriptor)
            under_way[pid] = socket.socket(fileno=descriptors[-1])
            under_way[pid].send(b"%d" % pid)
        if ended in ready:
            ended.recv(LARGEST_MESSAGE)
            for pid in list(under_way):
                has_ended, status = os.waitpid(pid, os.WNOHANG)
                if has_ended:
                    with under_way.pop(pid) as asker, suppress(OSError):  # the test may have ended
                        asker.send(b"%d" % os.waitstatus_to_exitcode(status))


def take_over(asked: Any, streams: list[int]) -> None:
    """Sets up everything that a new process has for itself."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(asked["env"])
    open_streams()
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    os.chdir(asked["folder"])
    sys.path[0] = asked["folder"]
    sys.argv[1:] = asked["words"]


def open_streams() -> None:
    """What an interpreter does at start-up: it checks its descriptors and takes the encoding from the environment."""
    encoding = os.environ.get("PYTHONIOENCODING") or sys.stdout.encoding
    sys.stdin = sys.__stdin__ = open(0, encoding=encoding, closefd=False)  # noqa: SIM115 - of a descriptor
    sys.stdout = sys.__stdout__ = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # noqa: SIM115
        2, "w", buffering=1, encoding=encoding, errors="backslashreplace", closefd=False
    )


def leave(codes: list[int]) -> None:
    """The last exit function; there is an exit code unless the command ended in some other way."""
    if codes:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
        LEAVE(codes[0])


def run_command(whole_shutdown: bool) -> None:
    codes: list[int] = []
    if not whole_shutdown:
        atexit.register(leave, codes)  # registered first, called last
    try:
        runpy.run_module("evalharness", run_name="__main__", alter_sys=True)
    except SystemExit as leaving:
        if isinstance(leaving.code, int):
            codes.append(leaving.code)
        raise


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the signal is meant for the tests; this process ends with them
    import_everything()
    gc.freeze()
    asked, streams = next_command(socket.socket(fileno=int(sys.argv[1])))
    take_over(asked, streams)
    run_command(asked["whole_shutdown"])
