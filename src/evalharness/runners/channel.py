"""How a runner hears from the harness and answers it, and how the code it runs is kept from doing either.

Questions come as frames on stdin: eight digits of length, then JSON. Answers go out as lines of JSON on what was stdout
when the runner started; the descriptor is the runner's own, and no child inherits it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Any

REPLY = 3
"""The one descriptor that a child is left with beside its empty stdin and its unheard stdout and stderr."""
_LENGTH_DIGITS = 8
_MOST_DESCRIPTORS = 65_536
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36


def take_stdout() -> int:
    """From here on whatever prints to stdout is not heard."""
    taken = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return taken


def shut_out_children() -> None:
    """Children can neither read this process's memory nor open its descriptors, and their orphans become its children.

    Linux allows both to every process of the same user unless told otherwise. In a sandbox this is process number 1, so
    there is no other that holds its pipes, and signals that it has no handler for do not reach it.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
        system.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def read_frame() -> Any:
    """The next question and not a byte more: a child that is forked now must not find what comes after it."""
    return json.loads(_read_exactly(int(_read_exactly(_LENGTH_DIGITS))))


def _read_exactly(count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        chunk = os.read(0, count - len(found))
        if not chunk:
            raise EOFError("the harness hung up")
        found += chunk
    return bytes(found)


def tell(channel: int, **said: Any) -> None:
    unsent = memoryview(json.dumps(said).encode() + b"\n")
    while unsent:
        unsent = unsent[os.write(channel, unsent) :]


def become_child(reply: int, stdin: int | None = None, stderr: int | None = None) -> None:
    """In a child just forked: a session of its own, and no way to the outside but `reply`, which becomes number 3."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, descriptor in enumerate((stdin, None, stderr)):
        os.dup2(nothing if descriptor is None else descriptor, number)
    if reply != REPLY:
        os.dup2(reply, REPLY)
    os.set_inheritable(REPLY, True)
    os.closerange(REPLY + 1, _MOST_DESCRIPTORS)


def make_importable(folders: list[str]) -> None:
    """The code's own path: Python's library and these folders, without the runner's."""
    library = [folder for folder in sys.path if folder.startswith((sys.base_prefix, sys.base_exec_prefix))]
    sys.path[:] = [*library, *folders]
