"""Control groups: the limits on memory and processes that hold for everybody, root included.

One group per sandboxed process, below the harness's own, in version 2 or version 1 of the interface. Where neither can
be written, `Cgroups.find()` says so and the caller has to do without.
"""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evalharness.domain.process import Limits

_MOUNTED = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_REMOVE_S = 2.0
_PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Where groups can be made: one folder (version 2), or one each for processes and memory (version 1)."""

    processes: Path
    memory: Path

    @property
    def is_unified(self) -> bool:
        return self.processes == self.memory

    @classmethod
    def find(cls) -> Cgroups | None:
        """Tried for real, because permissions alone do not tell."""
        for found in _candidates():
            try:
                found.create(Limits()).remove()
            except OSError:
                continue
            return found
        return None

    def create(self, limits: Limits) -> Cgroup:
        """Raises OSError when it cannot be made or limited; nothing is then left behind."""
        name = f"evalharness-{secrets.token_hex(8)}"
        group = Cgroup(self.processes / name, self.memory / name)
        try:
            group.make()
            group.limit(limits)
        except OSError:
            group.remove()
            raise
        return group


@dataclass(frozen=True, slots=True)
class Cgroup:
    processes: Path
    memory: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((self.processes, self.memory)))

    def make(self) -> None:
        for folder in self.folders:
            folder.mkdir()

    def limit(self, limits: Limits) -> None:
        (self.processes / "pids.max").write_text(str(limits.processes))
        if len(self.folders) == 1:
            (self.memory / "memory.max").write_text(str(limits.memory_bytes))
            with suppress(OSError):  # a machine without swap accounting
                (self.memory / "memory.swap.max").write_text("0")
        else:
            (self.memory / "memory.limit_in_bytes").write_text(str(limits.memory_bytes))
            with suppress(OSError):
                (self.memory / "memory.memsw.limit_in_bytes").write_text(str(limits.memory_bytes))

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel killed something in the group because the group's memory was used up."""
        for name in ("memory.events", "memory.oom_control"):
            with suppress(OSError):
                words = (self.memory / name).read_text().split()
                return "oom_kill" in words and words[words.index("oom_kill") + 1] != "0"
        return False

    def remove(self) -> None:
        """A group can go only when its last process has: that takes the kernel a moment."""
        deadline_s = time.monotonic() + _REMOVE_S
        for folder in self.folders:
            while folder.exists():
                try:
                    folder.rmdir()
                except OSError:
                    if time.monotonic() > deadline_s:
                        return
                    time.sleep(_PAUSE_S)


def _candidates() -> list[Cgroups]:
    own = _own_groups()
    found = []
    if "" in own and (_MOUNTED / "cgroup.controllers").exists():
        folder = _MOUNTED / own[""].lstrip("/")
        found += [Cgroups(folder, folder), Cgroups(folder.parent, folder.parent)]
    if "pids" in own and "memory" in own:
        found.append(
            Cgroups(_MOUNTED / "pids" / own["pids"].lstrip("/"), _MOUNTED / "memory" / own["memory"].lstrip("/"))
        )
    return found


def _own_groups() -> dict[str, str]:
    """Controller → the harness's own group; the unified hierarchy has no controller's name."""
    try:
        lines = _OWN.read_text().splitlines()
    except OSError:
        return {}
    groups: dict[str, str] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), path)
    return groups
