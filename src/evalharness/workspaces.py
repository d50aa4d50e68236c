"""Where the files of a suite, a model and a trial may lie, what a program changed in its workspace, and how to go
through what it left there.

Changes are reported by a picture before and a comparison after, all of it bounded.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

from evalharness.errors import UsageError
from evalharness.values.digest import digest_file

MAX_CHANGED = 200
MAX_SEEN = 20_000
MAX_BYTES = 100_000
MAX_DIGESTED_BYTES = 1_048_576
_REMOVALS = 40
_PAUSE_S = 0.05

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
    """Whatever programs did in it: folders nested deeper than a path can be long, or closed to their owner."""

    def visit(descriptor: int) -> list[str]:
        with suppress(OSError):
            os.fchmod(descriptor, stat.S_IRWXU)
        inner: list[str] = []
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    inner.append(entry.name)
                else:
                    with suppress(OSError):
                        os.unlink(entry.name, dir_fd=descriptor)
        return inner

    def leave(descriptor: int, name: str) -> None:
        with suppress(OSError):
            os.rmdir(name, dir_fd=descriptor)

    for _ in range(_REMOVALS):
        try:
            descend(folder, visit, leave)
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:  # too many files are open right now, or something still writes there
            time.sleep(_PAUSE_S)
        else:
            return


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


# Going through a tree of folders that an untrusted program made, or still makes: however deep, closed or restless.
#
# Descriptors lead from folder to folder by single names, so that no path is too long to be named and no link is
# followed; there are never more than a few of them.

Visit = Callable[[int], list[str] | None]
"""Is given a descriptor of a folder, and returns the names of the folders in it to go on with; None ends it all."""
Leave = Callable[[int, str], None]
"""Is given a descriptor of a folder, and the name of one in it that has been gone through."""

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOKED_INTO = stat.S_IRUSR | stat.S_IXUSR
_KEPT_OPEN = 24
_GONE_OR_CLOSED = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM))


def descend(folder: Path, visit: Visit, leave: Leave | None = None) -> None:
    """Visit the folder and everything below it, outer folders first. Raises OSError, with ESTALE where somebody moved,
    removed or closed a folder far below while it was visited, so that the way back is lost.

    Folders that are gone, or that belong to somebody else and are closed, are passed over. The user's own that are
    closed are opened, and closed again afterwards.
    """
    position = _Position(folder)
    names: list[str] = []
    pending: list[list[str]] = []
    try:
        found = visit(position.descriptor)
        while found is not None:
            pending.append(found)
            while not (pending[-1] and position.enter(name := pending[-1].pop())):
                if pending[-1]:
                    continue
                pending.pop()
                if not pending:
                    return
                position.leave()
                left = names.pop()
                if leave is not None:
                    leave(position.descriptor, left)
            names.append(name)
            found = visit(position.descriptor)
    finally:
        position.close()


@dataclass(slots=True)
class _Folder:
    """`mode` is the one to go back to where the folder had to be opened; a `descriptor` that was given up is None."""

    descriptor: int | None
    mode: int | None = None
    identity: tuple[int, int] = (0, 0)

    def close(self) -> None:
        if self.descriptor is None:
            return
        try:
            if self.mode is not None:
                os.fchmod(self.descriptor, self.mode)
        finally:
            os.close(self.descriptor)
            self.descriptor = None


class _Position:
    """The outermost folders on the way back stay open: there, folders that are moved or removed do no harm."""

    def __init__(self, folder: Path) -> None:
        self.descriptor, mode = _opened(str(folder), None)
        self._way = [_Folder(self.descriptor, mode)]

    def enter(self, name: str) -> bool:
        """False where there is nothing to enter."""
        try:
            descriptor, mode = _opened(name, self.descriptor)
        except OSError as error:
            if error.errno in _GONE_OR_CLOSED:
                return False
            raise
        if len(self._way) > _KEPT_OPEN:
            here = self._way[-1]
            here.identity = _identity(self.descriptor)
            os.close(self.descriptor)
            here.descriptor = None
        self._way.append(_Folder(descriptor, mode))
        self.descriptor = descriptor
        return True

    def leave(self) -> None:
        left = self._way.pop()
        above = self._way[-1]
        try:
            if above.descriptor is None:
                above.descriptor = _above(self.descriptor, above.identity)
            self.descriptor = above.descriptor
        finally:
            left.close()

    def close(self) -> None:
        for folder in self._way:
            folder.close()


def _above(descriptor: int, identity: tuple[int, int]) -> int:
    try:
        found = os.open("..", _FLAGS, dir_fd=descriptor)
    except (FileNotFoundError, PermissionError) as error:
        raise _moved() from error
    if _identity(found) != identity:
        os.close(found)
        raise _moved()
    return found


def _moved() -> OSError:
    return OSError(errno.ESTALE, "the folder was moved while it was visited")


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _opened(name: str, above: int | None) -> tuple[int, int | None]:
    """A descriptor, and the mode to go back to where the folder had to be opened for its owner."""
    mode = stat.S_IMODE(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    if os.geteuid() == 0 or mode & _LOOKED_INTO == _LOOKED_INTO:
        return os.open(name, _FLAGS, dir_fd=above), None
    _set_mode(name, above, mode | _LOOKED_INTO)
    return os.open(name, _FLAGS, dir_fd=above), mode


def _set_mode(name: str, above: int | None, mode: int) -> None:
    """Of the folder itself: in its place there may be a link by now."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, mode, dir_fd=above, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(mode)
    finally:
        os.close(handle)
