"""Measures the disk space of a workspace repeatedly while untrusted code fills it, in bounded time and memory.

It counts the blocks of everything in the folder, at any depth and in closed folders, and of deleted files that are
still open or mapped. The kernel could limit a separate file system instead. But a workspace is shared with the harness
and outlives each process, a file system in memory would use up the programs' memory, and only the machine's owner can
enable quotas.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from evalharness.sandboxes import process_tree
from evalharness.workspaces import descend

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
