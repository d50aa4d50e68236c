"""A watcher: a small process that removes the containers of a harness that was itself killed with -9.

It waits on a pipe that closes when the harness ends for any reason. Containers belong to a daemon, so no signal to a
process of the harness reaches them: without this, an agent would go on working, and spending, for nobody.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_PACKAGE_FOLDER = Path(__file__).parents[2]
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from evalharness.sandboxes.container_watcher import watch; "
    "watch(*sys.argv[2:])"
)
DONE = b"done"
CALL_S = 60.0
_CLEAN_SWEEPS = 5
_MOST_SWEEPS = 300
_PAUSE_S = 0.2


class ContainerWatcher:
    """Started before the first container of a process."""

    def __init__(self, program: str, environment: Mapping[str, str], filters: Sequence[str], kept_label: str) -> None:
        words = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(_PACKAGE_FOLDER)]
        self._popen = subprocess.Popen(
            [*words, program, json.dumps(list(filters)), kept_label],
            cwd="/",
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # neither Ctrl-C nor the end of a terminal is for it
        )

    def close(self) -> None:
        """End the watcher, after everything it would remove was removed."""
        assert self._popen.stdin is not None
        try:
            self._popen.stdin.write(DONE)
            self._popen.stdin.close()
        except BrokenPipeError:
            pass
        self._popen.wait()


def watch(program: str, filters: str, kept_label: str) -> None:
    """Wait until the harness is gone, then remove what it left until nothing more turns up.

    What a killed command line had asked the daemon for may still turn up a moment later.
    """
    if sys.stdin.buffer.read() == DONE:
        return
    sweep_until_clean(lambda *words: _call(program, words), json.loads(filters), kept_label)


def sweep_until_clean(call: Callable[..., str], filters: Sequence[str], kept_label: str) -> None:
    clean_sweeps = 0
    for _ in range(_MOST_SWEEPS):
        clean_sweeps = clean_sweeps + 1 if not sweep(call, filters, kept_label) else 0
        if clean_sweeps == _CLEAN_SWEEPS:
            return
        time.sleep(_PAUSE_S * 2**clean_sweeps)


def sweep(call: Callable[..., str], filters: Sequence[str], kept_label: str) -> int:
    """How many containers and images were found; those that are to be kept are only ended."""
    flags = [word for each in filters for word in ("--filter", each)]
    found = call("ps", "-aq", "--no-trunc", *flags).split()
    kept = call("ps", "-aq", "--no-trunc", *flags, "--filter", f"label={kept_label}").split() if found else []
    running = call("ps", "-q", "--no-trunc", *flags, "--filter", f"label={kept_label}").split() if kept else []
    removed = [name for name in found if name not in kept]
    if running:
        call("kill", *running)
    if removed:
        call("rm", "--force", "--volumes", *removed)
    images = call("images", "-aq", "--no-trunc", *flags).split()
    if images:
        call("rmi", "--force", *dict.fromkeys(images))
    return len(removed) + len(running) + len(images)


def _call(program: str, words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            [program, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=CALL_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
