"""What a program changed in its workspace: a picture before, a comparison after, all of it bounded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from evalharness.domain.digest import digest_file

MAX_CHANGED = 200
MAX_SEEN = 20_000
MAX_BYTES = 100_000
MAX_DIGESTED_BYTES = 1_048_576

Snapshot = dict[str, object]


def snapshot(folder: Path) -> Snapshot:
    """Relative path → what tells a file from a changed one; links are not followed."""
    return {name: _fingerprint(path) for name, path in _files(folder)}


def changed_files(folder: Path, before: Snapshot) -> dict[str, str]:
    """Relative path → text of the files that are new or differ; at most MAX_CHANGED, each cut at MAX_BYTES."""
    changed: dict[str, str] = {}
    for name, path in sorted(_files(folder)):
        if name in before and before[name] == _fingerprint(path):
            continue
        if len(changed) == MAX_CHANGED:
            changed["…"] = f"more than {MAX_CHANGED} files changed; the rest is not kept"
            break
        changed[name] = _text(path)
    return changed


def removed_files(folder: Path, before: Snapshot) -> tuple[str, ...]:
    """Relative paths of files that were there before and are gone."""
    return tuple(name for name in before if not os.path.lexists(folder / name))


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    return ((str(path.relative_to(folder)), path) for path in islice(_walk(folder), MAX_SEEN))


def _walk(folder: Path) -> Iterator[Path]:
    """Without recursion: programs can nest folders deeper than Python can call."""
    folders = [folder]
    for current in folders:
        try:
            with os.scandir(current) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue  # a folder that may not be entered, or a path too long to be named
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def _fingerprint(path: Path) -> object:
    """The content's digest, or what the file system says where the file is too large to be read, or unreadable."""
    try:
        status = path.stat()
        if status.st_size <= MAX_DIGESTED_BYTES:
            return digest_file(path)
    except OSError as error:
        return error.errno
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(MAX_BYTES)
    except OSError as error:
        return f"[cannot be read: {error.strerror}]"
    if b"\0" in head:
        return f"[binary file of {size} bytes]"
    cut = f"\n[… {size - MAX_BYTES} bytes cut …]" if size > MAX_BYTES else ""
    return head.decode(errors="replace") + cut
