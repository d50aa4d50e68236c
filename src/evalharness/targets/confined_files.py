"""Files of a workspace as a model names them, opened so that nothing leads out of it.

Every step of a path is opened from the folder before it and no link is followed, so neither `..` nor a link that a
program left behind reaches anything else. Pipes, devices and sockets are no files. What is wrong is a ValueError, in
words for the model.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not blocking, since opening a pipe would wait for whoever is at its other end."""
LONGEST_PATH = 4096
A_LINK = "{} is a link, which is not followed"


class Content(NamedTuple):
    """The beginning of a file, and how large the whole is."""

    head: bytes
    size: int

    @property
    def is_whole(self) -> bool:
        return len(self.head) >= self.size


def read(folder: Path, name: str, most_bytes: int) -> Content:
    with _opened(folder, name, os.O_RDONLY) as file:
        head = file.read(most_bytes)
        return Content(head, max(len(head), os.fstat(file.fileno()).st_size))


def write(folder: Path, name: str, content: bytes) -> None:
    """Makes the folders on the way. A file that is there keeps its permissions."""
    with _opened(folder, name, os.O_WRONLY | os.O_CREAT) as file:
        file.truncate()
        file.write(content)


def folder_inside(folder: Path, name: str) -> Path:
    """A folder of the workspace, by its path, once it is certain that it is one."""
    steps = _steps(folder, name)
    with _reworded(name), _parent(folder, (*steps, ""), make=False):
        return folder.joinpath(*steps)


@contextmanager
def _opened(folder: Path, name: str, flags: int) -> Iterator[BinaryIO]:
    steps = _steps(folder, name)
    if not steps:
        raise ValueError(f"{name!r} is the workspace itself, not a file")
    makes = bool(flags & os.O_CREAT)
    with _reworded(name), _parent(folder, steps, make=makes) as parent:
        descriptor = os.open(steps[-1], flags | FILE, mode=0o666, dir_fd=parent)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise ValueError(f"{name} is not a file")
        with os.fdopen(descriptor, "wb" if makes else "rb") as file:
            yield file


@contextmanager
def _parent(folder: Path, steps: tuple[str, ...], *, make: bool) -> Iterator[int]:
    """The descriptor of the folder that holds the last step."""
    current = os.open(folder, FOLDER)
    try:
        for step in steps[:-1]:
            inner = _entered(step, current, make=make)
            os.close(current)
            current = inner
        yield current
    finally:
        os.close(current)


def _entered(step: str, parent: int, *, make: bool) -> int:
    try:
        return os.open(step, FOLDER, dir_fd=parent)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(step, dir_fd=parent, follow_symlinks=False).st_mode):
            raise ValueError(A_LINK.format(step)) from None
        raise
    except FileNotFoundError:
        if not make:
            raise
    os.mkdir(step, dir_fd=parent)
    return os.open(step, FOLDER, dir_fd=parent)


def _steps(folder: Path, name: str) -> tuple[str, ...]:
    """An absolute path is understood where it leads into the workspace: that is what `pwd` tells."""
    if len(name) > LONGEST_PATH or "\0" in name:
        raise ValueError("it is not a valid path of a file")
    path = PurePosixPath(name)
    if path.is_absolute() and path.is_relative_to(folder):
        path = path.relative_to(folder)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name} is outside the workspace; paths are relative to it, without ..")
    return path.parts


@contextmanager
def _reworded(name: str) -> Iterator[None]:
    """What the system says of a path, in words."""
    try:
        yield
    except UnicodeEncodeError:
        raise ValueError("the path contains characters that are not allowed in a path") from None
    except FileNotFoundError:
        raise ValueError(f"{name} does not exist") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError(A_LINK.format(name)) from None
        raise ValueError(f"{name}: {(error.strerror or type(error).__name__).lower()}") from None
