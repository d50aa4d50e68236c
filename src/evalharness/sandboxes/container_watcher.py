"""A watcher: a small process that removes the containers of a harness that was itself killed with -9.

It waits on a pipe that closes when the harness ends for any reason. Containers belong to a daemon, so no signal to a
process of the harness reaches them: without this, an agent would go on working, and spending, for nobody.

Command lines of the harness that are still at work are not killed at once: a podman that is killed while it makes or
removes a container leaves half of one, without labels.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from evalharness.sandboxes import process_tree

_PACKAGE_FOLDER = Path(__file__).parents[2]
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from evalharness.sandboxes.container_watcher import watch; "
    "watch(*sys.argv[2:])"
)
REMOVE_IMAGES = ("rmi", "--force", "--no-prune")
"""Leaves unnamed parents of the removed images alone: they may be somebody's own."""
DONE = b"done"
CALL_S = 60.0
FINISH_S = 60.0
"""How long command lines of a killed harness may take to finish; builds and pulls may take longer, and are killed."""
_CLEAN_SWEEPS = 5
_MOST_SWEEPS = 600
_PAUSE_S = 0.2


class ContainerWatcher:
    """Started before the first container of a process. It also ends the processes that have one of `marks`."""

    def __init__(self, program: str, environment: Mapping[str, str], label: str, kept_label: str, marks: range) -> None:
        words = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(_PACKAGE_FOLDER), program]
        self._popen = subprocess.Popen(
            [*words, label, kept_label, str(marks.start), str(marks.stop)],
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


def watch(program: str, label: str, kept_label: str, first_mark: str, last_mark: str) -> None:
    """Wait until the harness is gone, then remove what it left until nothing more turns up."""
    if sys.stdin.buffer.read() == DONE:
        return
    marks = range(int(first_mark), int(last_mark))
    sweep_until_clean(partial(call, program), label, kept_label, marks)


def sweep_until_clean(call: Callable[..., str], label: str, kept_label: str, marks: range) -> None:
    """What a command line has asked the daemon for may still turn up a moment after its end."""
    killed_from_s = time.monotonic() + FINISH_S
    clean_sweeps = 0
    for _ in range(_MOST_SWEEPS):
        is_at_work = process_tree.any_alive(marks)
        if is_at_work and time.monotonic() > killed_from_s:
            process_tree.kill_marked(marks)
        found = sweep(call, label, kept_label, only_containers=is_at_work)
        clean_sweeps = 0 if found or is_at_work else clean_sweeps + 1
        if clean_sweeps == _CLEAN_SWEEPS:
            return
        time.sleep(_PAUSE_S * 2**clean_sweeps)


def sweep(call: Callable[..., str], label: str, kept_label: str, *, only_containers: bool = False) -> int:
    """How many containers, volumes and images were found; containers that are to be kept are only ended.

    `only_containers`: while a command line is at work, a volume may be that of a container which is just being made.
    """
    flags = ("--filter", f"label={label}")  # only one: podman takes several filters for volumes as alternatives
    found = call("ps", "-aq", "--no-trunc", *flags).split()
    kept = call("ps", "-aq", "--no-trunc", *flags, "--filter", f"label={kept_label}").split() if found else []
    running = call("ps", "-q", "--no-trunc", *flags, "--filter", f"label={kept_label}").split() if kept else []
    removed = [name for name in found if name not in kept]
    if running:
        call("kill", *running)
    if removed:
        call("rm", "--force", "--volumes", *removed)
    if only_containers:
        return len(removed) + len(running)
    volumes = call("volume", "ls", "--quiet", *flags).split()
    if volumes:
        call("volume", "rm", *volumes)
    images = call("images", "-aq", "--no-trunc", "--filter", "dangling=true", *flags).split()
    if images:
        call(*REMOVE_IMAGES, *dict.fromkeys(images))
    return len(removed) + len(running) + len(volumes) + len(images)


def call(program: str, *words: str, environment: Mapping[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            [program, *words],
            env=environment,
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
