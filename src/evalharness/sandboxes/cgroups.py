"""Control groups: limits on memory and processes that apply to every user, including root.

There is one group per sandboxed process, below or beside the harness's own, in version 2 or 1 of the interface. If
neither is writable, `Cgroups.find()` returns None and the caller must work without them.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evalharness.contracts.sandbox import Ended, Limits
from evalharness.sandboxes import process_tree

_MOUNTED = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_PREFIX = "evalharness-"
_REMOVE_S = 2.0
_PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Where groups can be created: one folder (version 2), or one folder per limit (version 1).

    `processors` sets no limit: all processes in a group together get the CPU share of one ordinary process.
    """

    processes: Path
    memory: Path
    processors: Path | None = None

    @classmethod
    def find(cls) -> Cgroups | None:
        """Find a place where a group can really be created, and remove leftovers of killed harnesses there."""
        for found in _candidates():
            if not os.access(found.processes / "cgroup.procs", os.W_OK):
                continue  # groups could be created, but no process moved into them
            try:
                found.create(Limits()).remove()
            except OSError:
                continue
            found.remove_leftovers()
            return found
        return None

    def create(self, limits: Limits, more_processes: int = 0) -> Cgroup:
        """Create a group with limits. Raises OSError if that fails, and leaves nothing behind."""
        name = f"{_PREFIX}{os.getpid()}-{process_tree.started_ticks(os.getpid())}-{secrets.token_hex(8)}"
        group = Cgroup(self.processes / name, self.memory / name, self.processors and self.processors / name)
        try:
            group.make()
            group.limit(limits, more_processes)
        except OSError:
            group.remove()
            raise
        return group

    def remove_leftovers(self) -> None:
        """Remove groups whose harness is gone. A group that still contains a process cannot be removed."""
        for parent in {self.processes, self.memory, self.processors or self.memory}:
            for folder in parent.glob(f"{_PREFIX}*-*-*"):
                pid, started_ticks = folder.name.removeprefix(_PREFIX).split("-")[:2]
                if pid.isdigit() and str(process_tree.started_ticks(int(pid))) != started_ticks:
                    with suppress(OSError):
                        folder.rmdir()


@dataclass(frozen=True, slots=True)
class Cgroup:
    processes: Path
    memory: Path
    processors: Path | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((self.processes, self.memory, self.processors or self.memory)))

    def make(self) -> None:
        for folder in self.folders:
            folder.mkdir()

    def limit(self, limits: Limits, more_processes: int) -> None:
        (self.processes / "pids.max").write_text(str(limits.processes + more_processes))
        if self.processes == self.memory:
            (self.memory / "memory.max").write_text(str(limits.memory_bytes))
            optional = {"memory.swap.max": "0", "memory.oom.group": "1"}
        else:
            (self.memory / "memory.limit_in_bytes").write_text(str(limits.memory_bytes))
            optional = {"memory.memsw.limit_in_bytes": str(limits.memory_bytes)}
        for name, value in optional.items():
            with suppress(OSError):  # an old kernel, or one that does not account for swap
                (self.memory / name).write_text(value)

    def passed(self, _root: int | None = None) -> Ended | None:
        """The limit that the kernel had to enforce, or None; known until the group is removed."""
        if any(_count(self.memory / name, "oom_kill") for name in ("memory.events", "memory.oom_control")):
            return "memory"
        return "processes" if _count(self.processes / "pids.events", "max") else None

    def remove(self) -> None:
        """Remove the group, which is possible only a moment after its last process has ended."""
        deadline_s = time.monotonic() + _REMOVE_S
        while not self.try_remove() and time.monotonic() < deadline_s:
            time.sleep(_PAUSE_S)

    def try_remove(self) -> bool:
        for folder in self.folders:
            with suppress(OSError):
                folder.rmdir()
        return not any(folder.exists() for folder in self.folders)


def _count(file: Path, name: str) -> int:
    """The number in a line such as `oom_kill 0`; 0 if this version has no such file or line."""
    try:
        words = file.read_text().split()
    except FileNotFoundError:
        return 0
    return int(words[words.index(name) + 1]) if name in words else 0


def _candidates() -> list[Cgroups]:
    own = _own_groups()
    found = []
    if "" in own and (_MOUNTED / "cgroup.controllers").exists():
        folder = _MOUNTED / own[""].lstrip("/")
        # Only the root group may contain both processes and limited groups; elsewhere a sibling is created.
        found.append(Cgroups(folder, folder))
        if folder != _MOUNTED:
            found.append(Cgroups(folder.parent, folder.parent))
    if "pids" in own and "memory" in own:
        pids, memory, cpu = (_MOUNTED / name / own.get(name, "").lstrip("/") for name in ("pids", "memory", "cpu"))
        found += [Cgroups(pids, memory, cpu)] if "cpu" in own else []
        found.append(Cgroups(pids, memory))
    return found


def _own_groups() -> dict[str, str]:
    """Controller → the harness's own group; the unified hierarchy has an empty controller name."""
    try:
        lines = _OWN.read_text().splitlines()
    except OSError:
        return {}
    groups: dict[str, str] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), path)
    return groups
