"""How a runner exchanges messages with the harness, and how the code it runs is kept out of this.

Questions arrive as frames on stdin: eight digits of length, then JSON. Answers are lines of JSON on the stdout that the
runner started with. That descriptor belongs to the runner, and no child inherits it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Any

REPLY = 3
"""The only descriptor of a child, besides an empty stdin and ignored stdout and stderr."""
_LENGTH_DIGITS = 8
_MOST_DESCRIPTORS = 65_536
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def take_stdout() -> int:
    """Take over stdout; from here on, output to it is discarded."""
    taken = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return taken


def shut_out_children() -> None:
    """Prevent children from reading this process's memory or opening its descriptors, and adopt their orphans.

    By default, Linux allows this to every process of the same user. In a sandbox this is process 1, so no other process
    has its pipes, and signals without a handler do not reach it.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        system.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def read_frame() -> Any:
    """The next question and not a byte more, so that a child forked now cannot read what follows."""
    return json.loads(_read_exactly(int(_read_exactly(_LENGTH_DIGITS))))


def _read_exactly(count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        chunk = os.read(0, count - len(found))
        if not chunk:
            raise EOFError("the harness closed the connection")
        found += chunk
    return bytes(found)


def tell(channel: int, **said: Any) -> None:
    unsent = memoryview(json.dumps(said).encode() + b"\n")
    while unsent:
        unsent = unsent[os.write(channel, unsent) :]


def become_child(reply: int, stdin: int | None = None, stderr: int | None = None) -> None:
    """In a newly forked child: start a new session, and keep only `reply`, which becomes descriptor 3."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, descriptor in enumerate((stdin, None, stderr)):
        os.dup2(nothing if descriptor is None else descriptor, number)
    if reply != REPLY:
        os.dup2(reply, REPLY)
    os.set_inheritable(REPLY, True)
    os.closerange(REPLY + 1, _MOST_DESCRIPTORS)


def make_importable(folders: list[str]) -> None:
    """Set the import path to Python's library and these folders, without the runner's own."""
    library = [folder for folder in sys.path if folder.startswith((sys.base_prefix, sys.base_exec_prefix))]
    sys.path[:] = [*library, *folders]
