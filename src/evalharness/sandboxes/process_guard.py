"""A guard: a small process that kills the processes of a harness that was itself killed with -9.

It waits on a pipe that closes when the harness ends for any reason. Linux only: elsewhere it could not read the marks
by which it finds the processes, and it is not started.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from evalharness.sandboxes import process_tree

_PACKAGE_FOLDER = Path(__file__).parents[2]
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from evalharness.sandboxes.process_guard import watch; "
    "watch(range(int(sys.argv[2]), int(sys.argv[3])))"
)
_SWEEPS = 100
_GUARD_PAUSE_S = 0.02


class ProcessGuard:
    """Started once per sandbox, before its first process."""

    def __init__(self, marks: range) -> None:
        words = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(_PACKAGE_FOLDER), str(marks.start), str(marks.stop)]
        self._popen = subprocess.Popen(
            words,
            cwd="/",
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the terminal is for the harness only
        )

    def close(self) -> None:
        """Stop the guard after the sandbox has cleaned up itself."""
        self._popen.kill()
        self._popen.wait()
        if self._popen.stdin is not None:
            self._popen.stdin.close()


def watch(marks: range) -> None:
    """Wait until the harness is gone, then kill marked processes until none is left."""
    sys.stdin.buffer.read()
    clean_sweeps = 0
    for _ in range(_SWEEPS):
        clean_sweeps = clean_sweeps + 1 if process_tree.kill_marked(marks) else 0
        if clean_sweeps == 3:
            return
        time.sleep(_GUARD_PAUSE_S)
