"""Measures what a process and its descendants use, from /proc: the limits where there are no control groups.

It is polled, so a limit can be exceeded for a moment. Memory that no process has mapped, such as that of sockets, is
not counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evalharness.domain.process import Ended, Limits
from evalharness.sandboxes import process_tree

MEMORY_FOLDERS = ("/tmp", "/dev/shm")
"""File systems of the sandbox that are in memory."""
_ENTRY_BYTES = 1024  # the least that an empty file in such a file system uses
_COUNTED = ("RssAnon", "RssShmem", "VmSwap", "VmPTE")
_SHARED_FAIRLY = ("Pss_Anon", "Pss_Shmem", "SwapPss")


@dataclass(frozen=True, slots=True)
class FamilyUse:
    limits: Limits
    own_processes: int
    """How many of the processes belong to the sandbox itself."""

    def passed(self, root: int | None) -> Ended | None:
        """The limit that process `root` and its descendants exceed, or None."""
        if root is None:
            return None  # nothing is left to measure
        tasks, memory_bytes = -self.own_processes, 0
        family = process_tree.family_of(root)
        for pid in family:
            status = _numbers(f"/proc/{pid}/status", ("Threads", *_COUNTED))
            tasks += status.get("Threads", 0)
            memory_bytes += sum(status.get(name, 0) for name in _COUNTED) * 1024
        if tasks > self.limits.processes:
            return "processes"
        files_bytes = _memory_files_bytes(family[-1:])
        if memory_bytes + files_bytes > self.limits.memory_bytes:
            memory_bytes = sum(map(_fair_share_bytes, family))
        return "memory" if memory_bytes + files_bytes > self.limits.memory_bytes else None


def _fair_share_bytes(pid: int) -> int:
    """Memory with shared pages counted once in total. Slow, and not available for processes that deny access."""
    shares = _numbers(f"/proc/{pid}/smaps_rollup", _SHARED_FAIRLY)
    found = shares or _numbers(f"/proc/{pid}/status", _COUNTED)
    return sum(found.values()) * 1024


def _memory_files_bytes(pids: Iterable[int]) -> int:
    """The size of these file systems, as seen by any process inside."""
    total = 0
    for pid in pids:
        for folder in MEMORY_FOLDERS:
            place = Path(f"/proc/{pid}/root{folder}")
            try:
                if place.stat().st_dev == Path(folder).stat().st_dev:
                    continue  # the machine's own folder: the sandbox is not ready yet
                status = os.statvfs(place)
            except OSError:
                continue  # gone, or not yet there
            total += (status.f_blocks - status.f_bfree) * status.f_frsize
            total += (status.f_files - status.f_ffree) * _ENTRY_BYTES
    return total


def _numbers(path: str, names: Iterable[str]) -> dict[str, int]:
    """Values of lines such as `RssAnon: 1024 kB`; empty if the process is gone or denies access."""
    try:
        text = process_tree.content(path).decode(errors="replace")
    except OSError:
        return {}
    found: dict[str, int] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if colon and name in names and words and words[0].isdigit():
            found[name] = int(words[0])
    return found
