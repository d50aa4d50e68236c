"""What a sandboxed family of processes uses: their memory and number, and the disk space of their files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evalharness.contracts.sandbox import Ended, Limits
from evalharness.sandboxes import process_tree
from evalharness.workspaces import descend

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


MOST_ENTRIES = 100_000
ENTRY_BYTES = 4096
"""The least that an entry counts; otherwise a folder with a million empty files would count as empty."""
_TRIES = 5
_BLOCK_BYTES = 512
_DELETED = b" (deleted)"


def is_larger_than(folder: Path, limit_bytes: int, root: int | None = None) -> bool:
    """Whether the folder is too large; `root` is the first of the processes that use it, while they run.

    Links are not followed. A folder with too many entries, or that changes too fast to be counted, counts as too large.
    """
    for _ in range(_TRIES):
        try:
            return _passes(folder, limit_bytes - (0 if root is None else _unnamed_bytes(folder, root)))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise
    return True


def _passes(folder: Path, limit_bytes: int) -> bool:
    total_bytes, entries = 0, 0

    def is_passed() -> bool:
        return total_bytes > limit_bytes or entries > MOST_ENTRIES

    def visit(descriptor: int) -> list[str] | None:
        nonlocal total_bytes, entries
        inner: list[str] = []
        with os.scandir(descriptor) as found:
            for entry in found:
                entries += 1
                total_bytes += max(_size_of(entry), ENTRY_BYTES)
                if is_passed():
                    return None
                if entry.is_dir(follow_symlinks=False):
                    inner.append(entry.name)
        return inner

    if not is_passed():
        descend(folder, visit)
    return is_passed()


def _size_of(entry: os.DirEntry[str]) -> int:
    """The size on disk, which is less than the length for a sparse file."""
    try:
        return entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
    except OSError:
        return 0  # gone


def _unnamed_bytes(folder: Path, root: int) -> int:
    """The size of deleted files that a process still uses. A file in transit through a socket is not found."""
    device = folder.stat().st_dev
    opened: dict[int, int] = {}
    mapped: dict[int, int] = {}
    for pid in process_tree.family_of(root):
        for status in _open_files(pid):
            if _is_unnamed(status, device):
                opened[status.st_ino] = status.st_blocks * _BLOCK_BYTES
        for number, size_bytes in _mapped_files(pid, device):
            mapped[number] = max(size_bytes, mapped.get(number, 0))
    return sum({**mapped, **opened}.values())


def _is_unnamed(status: os.stat_result, device: int) -> bool:
    return status.st_nlink == 0 and status.st_dev == device and stat.S_ISREG(status.st_mode)


def _open_files(pid: int) -> Iterator[os.stat_result]:
    try:
        with os.scandir(f"/proc/{pid}/fd") as descriptors:
            for descriptor in descriptors:
                try:
                    yield descriptor.stat()
                except OSError:
                    continue  # closed meanwhile
    except OSError:
        return  # gone


def _mapped_files(pid: int, device: int) -> Iterator[tuple[int, int]]:
    """Inode and size of each deleted file that is mapped; the mapped length if only root may see the size."""
    try:
        lines = process_tree.content(f"/proc/{pid}/maps").split(b"\n")
    except OSError:
        return  # gone
    for line in lines:
        if not line.endswith(_DELETED):
            continue
        place, _, offset, numbers, number = line.split(maxsplit=5)[:5]
        try:
            status = Path(f"/proc/{pid}/map_files/{place.decode()}").stat()
        except OSError:
            first, last = (int(end, 16) for end in place.split(b"-"))
            major, minor = (int(part, 16) for part in numbers.split(b":"))
            if os.makedev(major, minor) == device:
                yield int(number), int(offset, 16) + last - first
        else:
            if _is_unnamed(status, device):
                yield status.st_ino, status.st_blocks * _BLOCK_BYTES
