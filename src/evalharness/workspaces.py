"""Where the files of a suite, a model and a trial may lie, and what a program changed in its workspace.

Changes are reported by a picture before and a comparison after, all of it bounded.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePosixPath

from evalharness.errors import UsageError
from evalharness.values.digest import digest_file

MAX_CHANGED = 200
MAX_SEEN = 20_000
MAX_BYTES = 100_000
MAX_DIGESTED_BYTES = 1_048_576

Snapshot = dict[str, object]


def is_workspace_path(name: str) -> bool:
    """Whether a name is that of a file inside a workspace, whatever lies there."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def confined(root: Path, relative: str, start: Path | None = None) -> Path:
    """The file a suite names, if it lies inside the suite's folder; links that lead out of it do not count.

    `start` is the folder that the path is relative to, where that is not the suite's own.
    """
    try:
        path = ((start or root) / relative).resolve()
        is_inside = path.is_relative_to(root.resolve())
        is_file = is_inside and path.is_file()
    except (OSError, ValueError, RuntimeError):  # what no file can be called, or links that lead in a circle
        is_inside, is_file = True, False
    if not is_inside:
        raise UsageError(f"the file {relative} lies outside the suite's folder")
    if not is_file:
        raise UsageError(f"there is no file {relative} in the suite's folder")
    return path


def model_file(model: str, root: Path) -> Path | None:
    """The file that a model is named by: in the project's folder, else in the current one; None for most models."""
    places = (root / model, Path.cwd() / model)
    return next((path for path in places if os.path.isfile(path)), None)  # noqa: PTH113 - a name too long is no file


def snapshot(folder: Path) -> Snapshot:
    """Relative path → what tells a file from a changed one; links are not followed."""
    return {name: _fingerprint(path) for name, path in files_in(folder)}


def changed_files(folder: Path, before: Snapshot) -> dict[str, str]:
    """Relative path → text of the files that are new or differ; at most MAX_CHANGED, each cut at MAX_BYTES.

    Raises OSError where too many files are open to look at all: a file that was not seen must not count as missing.
    """
    changed: dict[str, str] = {}
    for name, path in sorted(files_in(folder)):
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


def remove_folder(folder: Path) -> None:
    """Also where programs took away their own permissions, or nested folders deeper than `rmtree` can call itself."""
    folders = [str(folder)]
    for current in folders:
        with suppress(OSError):
            os.chmod(current, stat.S_IRWXU)  # noqa: PTH101
            with os.scandir(current) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        os.unlink(entry.path)  # noqa: PTH108
    for current in reversed(folders):
        with suppress(OSError):
            os.rmdir(current)  # noqa: PTH106


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Relative path and place of the files below a folder, at most MAX_SEEN; links are not followed."""
    return ((str(path.relative_to(folder)), path) for path in islice(_walk(folder), MAX_SEEN))


def _walk(folder: Path) -> Iterator[Path]:
    """Without recursion: programs can nest folders deeper than Python can call."""
    folders = [folder]
    for current in folders:
        try:
            with os.scandir(current) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            _raise_shortage(error)
            continue  # a folder that may not be entered, or a path too long to be named
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def _raise_shortage(error: OSError) -> None:
    """Raise what is a fault of this process and says nothing of the file."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        raise error


def _fingerprint(path: Path) -> object:
    """The content's digest, or what the file system says where the file is too large to be read, or unreadable."""
    try:
        status = path.stat()
        if status.st_size <= MAX_DIGESTED_BYTES:
            return digest_file(path)
    except OSError as error:
        _raise_shortage(error)
        return error.errno
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(MAX_BYTES)
    except OSError as error:
        _raise_shortage(error)
        return f"[cannot be read: {error.strerror}]"
    if b"\0" in head:
        return f"[binary file of {size} bytes]"
    if size <= MAX_BYTES:
        return head.decode(errors="replace")
    kept = head.decode(errors="replace").removesuffix("\ufffd")  # half a character, perhaps
    return f"{kept}…\n[{size - MAX_BYTES} bytes cut]"  # the … right where it was cut, as redaction wants it
