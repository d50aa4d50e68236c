"""Processes that outlive whoever started them: in a session of their own, with their output in a file.

They are recognised again by another process, also after a restart of the machine: a process number alone may have been
given to somebody else. Without /proc, only the number is known.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalharness.domain.job import ProcessMark
from evalharness.sandboxes.process_tree import boot_id, has_proc, is_dead, kill_family, open_pidfd, started_ticks

PRIVATE = 0o600


class DetachedProcess:
    """Started by this process, or found by its mark. `close` gives up the handle and leaves the process alone."""

    def __init__(self, mark: ProcessMark, popen: subprocess.Popen[bytes] | None = None) -> None:
        self.mark = mark
        self._popen = popen
        self.pidfd = open_pidfd(mark.pid) if is_alive(mark) else None
        """Becomes readable when the process ends; None where the platform has none."""

    @property
    def has_ended(self) -> bool:
        return not is_alive(self.mark) if self._popen is None else self._popen.poll() is not None

    @property
    def exit_code(self) -> int | None:
        """Negative: the signal that killed it. None while it runs, and of a process that this one did not start."""
        return None if self._popen is None else self._popen.poll()

    def send(self, number: int) -> None:
        """Send a signal to the process alone: what it started is its own business."""
        if self.has_ended:
            return
        try:
            if self.pidfd is None:
                os.kill(self.mark.pid, number)
            else:
                signal.pidfd_send_signal(self.pidfd, number)
        except ProcessLookupError:
            return

    def kill(self) -> None:
        """With everything below it."""
        if not self.has_ended:
            kill_family(self.mark.pid)

    def close(self) -> None:
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None
        if self._popen is not None and self._popen.returncode is None:
            self._popen.returncode = 0  # it goes on without us, which is no mistake that Python should warn of


def start_detached(
    command: Sequence[str], folder: Path, output: Path, environment: Mapping[str, str]
) -> DetachedProcess:
    """Everything it prints is added to `output`, which only this user may read. Raises OSError."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE)
    try:
        popen = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,
        )
    finally:
        os.close(descriptor)
    return DetachedProcess(mark_of(popen.pid), popen)


def mark_of(pid: int) -> ProcessMark:
    return ProcessMark(pid=pid, boot_id=boot_id(), start_ticks=started_ticks(pid) if has_proc() else None)


def is_alive(mark: ProcessMark) -> bool:
    """Whether exactly this process is still running."""
    if has_proc():
        return mark_of(mark.pid) == mark and not is_dead(mark.pid)
    try:
        os.kill(mark.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True
