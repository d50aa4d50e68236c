"""Files of suites, models and trials: where they may be, and what a program changed in its workspace.

Changes are found by comparing a snapshot before with the files after; all of it is limited. The end of this module
walks through folders that untrusted programs left behind.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO

from evalharness.domain.case import CaseFile
from evalharness.errors import EndStateUnreadable, UsageError
from evalharness.values.digest import digest_file

MAX_CHANGED = 200
MAX_SEEN = 20_000
MAX_BYTES = 100_000
MAX_DIGESTED_BYTES = 1_048_576
_REMOVALS = 40
_PAUSE_S = 0.05

Snapshot = dict[str, object]
_PREFIX = "evalharness-"
OF_NO_RUN = "eval"
"""In place of the id of a run, where a folder is made for none."""


class LockedFolder:
    """A temporary folder of one trial. While its process lives, no other takes it for a leftover."""

    def __init__(self, run_id: str) -> None:
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{run_id}-")).resolve()
            try:
                self._lock = _locked(self.path)
            except OSError:  # too many open files
                self.path.rmdir()
                raise
            if self._lock is not None:
                return

    def remove(self) -> None:
        remove_folder(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_leftovers() -> None:
    """Folders that killed processes left behind, of whatever run: nobody has them locked any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}eval-*"):
        with suppress(OSError):  # somebody else's, or gone meanwhile
            lock = _locked(folder)
            if lock is not None:
                remove_folder(folder)
                os.close(lock)


def _locked(folder: Path) -> int | None:
    """The open folder, locked until it is closed or the process dies, however it dies; None where another has it."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:  # another process took it for a leftover
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(opened), os.stat(folder)):  # noqa: PTH116 - else it was removed before
            return opened
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(opened)
        raise
    os.close(opened)
    return None


def put_files(files: Mapping[str, CaseFile], root: Path, folder: Path) -> None:
    """The files of a case in a folder; those that are named by a path are copied from below `root`."""
    for name, file in files.items():
        place = (folder / name).resolve()
        if not place.is_relative_to(folder):
            raise UsageError(f"the file {name} would be outside the workspace")
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.path is not None:
            source = confined(root, file.path)
            shutil.copyfile(source, place)
            place.chmod(source.stat().st_mode | stat.S_IRUSR | stat.S_IWUSR)  # a script stays executable
        else:
            place.write_text(file.text or "", encoding="utf-8")


def is_workspace_path(name: str) -> bool:
    """Whether a name is a valid path of a file inside a workspace; the file need not exist."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


def confined(root: Path, relative: str, start: Path | None = None) -> Path:
    """The file that a suite names, if it is inside the suite's folder; links that lead out of it do not count.

    `start` is the folder that the path is relative to, if that is not the suite's own.
    """
    try:
        path = ((start or root) / relative).resolve()
        is_inside = path.is_relative_to(root.resolve())
        is_file = is_inside and path.is_file()
    except (OSError, ValueError, RuntimeError):  # an impossible file name, or a cycle of links
        is_inside, is_file = True, False
    if not is_inside:
        raise UsageError(f"the file {relative} is outside the suite's folder")
    if not is_file:
        raise UsageError(f"there is no file {relative} in the suite's folder")
    return path


def model_file(model: str, root: Path) -> Path | None:
    """The file that names a model, in the project's folder or else in the current one; None for most models."""
    places = (root / model, Path.cwd() / model)
    return next((path for path in places if os.path.isfile(path)), None)  # noqa: PTH113 - False if the name is too long


def snapshot(folder: Path) -> Snapshot:
    """Relative path → fingerprint that differs if the file changes; links are not followed."""
    return {name: _fingerprint(path) for name, path in files_in(folder)}


def changed_files(folder: Path, before: Snapshot) -> dict[str, str]:
    """Relative path → text of new and changed files; at most MAX_CHANGED, each cut at MAX_BYTES.

    Raises OSError if too many files are open: a file that could not be read must not count as missing.
    """
    changed: dict[str, str] = {}
    for name, path in sorted(files_in(folder)):
        if name in before and before[name] == _fingerprint(path):
            continue
        if len(changed) == MAX_CHANGED:
            changed["…"] = f"more than {MAX_CHANGED} files changed; the rest are not kept"
            break
        changed[name] = _text(path)
    return changed


def removed_files(folder: Path, before: Snapshot) -> tuple[str, ...]:
    """Relative paths of files that existed before and are gone."""
    return tuple(name for name in before if not os.path.lexists(folder / name))


def remove_folder(folder: Path) -> None:
    """Remove a folder, even if programs nested folders deeper than the longest path, or closed them to their owner."""

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
        except OSError:  # too many files are open, or a program still writes there
            time.sleep(_PAUSE_S)
        else:
            return


def files_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """Relative path and absolute path of the files below a folder, at most MAX_SEEN; links are not followed."""
    return ((str(path.relative_to(folder)), path) for path in islice(_walk(folder), MAX_SEEN))


def _walk(folder: Path) -> Iterator[Path]:
    """Without recursion, because programs can nest folders deeper than Python's recursion limit."""
    folders = [folder]
    for current in folders:
        try:
            with os.scandir(current) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            _raise_shortage(error)
            continue  # an inaccessible folder, or a path that is too long
        for entry in found:
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def _raise_shortage(error: OSError) -> None:
    """Raise errors that are this process's fault and say nothing about the file."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        raise error


def _fingerprint(path: Path) -> object:
    """The digest of the content, or file system data if the file is too large or unreadable."""
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
    kept = head.decode(errors="replace").removesuffix("\ufffd")  # perhaps half a character
    return f"{kept}…\n[{size - MAX_BYTES} bytes cut]"  # the … is exactly where it was cut, as redaction needs it


_SHORTAGES = frozenset(
    (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EROFS, errno.ESTALE)
)
"""Errors of this machine, whoever needed the resource."""
_BLOCK = 1_048_576


@contextmanager
def blaming_the_program() -> Iterator[None]:
    """For copying what a program left: an error of the program's making becomes EndStateUnreadable."""
    try:
        yield
    except OSError as error:
        if error.errno in _SHORTAGES:
            raise
        raise EndStateUnreadable(f"what the program left cannot be copied: {error.strerror or error}") from error
    except (ValueError, OverflowError) as error:  # a name, a time or an attribute that makes no sense
        raise EndStateUnreadable(f"what the program left cannot be copied: {error}") from error


def copy_content(source: IO[bytes], written: IO[bytes]) -> None:
    """Blocks of zeros become holes: a program can make a file of any size without writing it."""
    while block := source.read(_BLOCK):
        if block.count(0) == len(block):
            written.seek(len(block), os.SEEK_CUR)
        else:
            written.write(block)
    written.truncate()


# Walking a tree of folders that an untrusted program created or is still changing: however deep or inaccessible.
#
# Descriptors lead from folder to folder by single names, so that no path is too long and no link is followed. Only a
# few are open at a time.

Visit = Callable[[int], list[str] | None]
"""Called with a descriptor of a folder; returns the names of the subfolders to visit, or None to stop."""
Leave = Callable[[int, str], None]
"""Called with a descriptor of a folder and the name of a subfolder that is done."""

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOKED_INTO = stat.S_IRUSR | stat.S_IXUSR
_KEPT_OPEN = 24
_GONE_OR_CLOSED = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM))


def descend(folder: Path, visit: Visit, leave: Leave | None = None) -> None:
    """Visit the folder and everything below it, outer folders first.

    Raises OSError, with ESTALE if a folder far below was moved, removed or closed meanwhile, so that the way back is
    lost. Folders that are gone, or closed and owned by another user, are skipped. The user's own closed folders are
    opened, and closed again afterwards.
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
    """`mode` is restored if the folder had to be opened; `descriptor` is None once it is closed."""

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
    """The current folder. The outermost folders stay open, so that moving or removing folders there does no harm."""

    def __init__(self, folder: Path) -> None:
        self.descriptor, mode = _opened(str(folder), None)
        self._way = [_Folder(self.descriptor, mode)]

    def enter(self, name: str) -> bool:
        """Enter a subfolder; False if it is gone or closed."""
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
    return OSError(errno.ESTALE, "the folder was moved while it was being read")


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _opened(name: str, above: int | None) -> tuple[int, int | None]:
    """A descriptor, and the mode to restore if the folder had to be opened for its owner."""
    mode = stat.S_IMODE(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    if os.geteuid() == 0 or mode & _LOOKED_INTO == _LOOKED_INTO:
        return os.open(name, _FLAGS, dir_fd=above), None
    _set_mode(name, above, mode | _LOOKED_INTO)
    return os.open(name, _FLAGS, dir_fd=above), mode


def _set_mode(name: str, above: int | None, mode: int) -> None:
    """Set the mode of the folder itself, which a link may have replaced by now."""
    if not hasattr(os, "O_PATH"):
        os.chmod(name, mode, dir_fd=above, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(mode)
    finally:
        os.close(handle)


def hand_over(folder: Path, user: str) -> None:
    """Let a container's user change what is in a folder. Its parent must be closed to other users.

    Root makes a numeric user its owner; otherwise everybody may change it.
    """
    number, _, group = user.partition(":")
    is_owner = os.geteuid() == 0 and number.isdigit() and (not group or group.isdigit())
    for path in (folder, *folder.rglob("*")):
        if is_owner:
            os.chown(path, int(number), int(group or number), follow_symlinks=False)
        elif not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o777 if path.is_dir() or mode & stat.S_IXUSR else 0o666))
