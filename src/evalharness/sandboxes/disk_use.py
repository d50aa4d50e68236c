"""How much a folder holds, asked again and again while untrusted code fills it: bounded in time and memory."""

from __future__ import annotations

import os
from pathlib import Path

MOST_ENTRIES = 100_000
ENTRY_BYTES = 4096
"""What an entry costs at least: a folder of a million empty files is not empty."""


def is_larger_than(folder: Path, limit_bytes: int) -> bool:
    """Links are not followed. Too many entries to be counted count as too large."""
    total_bytes, entries = 0, 0
    folders = [str(folder)]
    for current in folders:
        try:
            with os.scandir(current) as found:
                for entry in found:
                    entries += 1
                    total_bytes += max(_size_of(entry), ENTRY_BYTES)
                    if total_bytes > limit_bytes or entries > MOST_ENTRIES:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            continue  # gone, or closed to us: what is in it was counted before, or cannot be
    return False


def _size_of(entry: os.DirEntry[str]) -> int:
    """What it takes on the disk: a file with holes is as large as its pieces."""
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:
        return 0
