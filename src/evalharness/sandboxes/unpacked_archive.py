"""Unpacking an archive of files that an untrusted program left, below one folder and nowhere else.

Links are made as they are and never followed. Devices, pipes and sockets are left out, and links to them; so are the
bits by which a program runs as its owner.
"""

from __future__ import annotations

import os
import stat
import tarfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO

from evalharness.errors import SandboxUnavailable
from evalharness.workspaces import blaming_the_program, copy_content

_MODE = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO


def unpack(archive: IO[bytes], folder: Path) -> None:
    """Raises EndStateUnreadable where the program made files that cannot be unpacked."""
    with blaming_the_program():
        _unpack(archive, folder)


def _unpack(archive: IO[bytes], folder: Path) -> None:
    is_root = os.geteuid() == 0
    folders: dict[str, Path] = {}
    with tarfile.open(fileobj=archive, mode="r|") as members:
        for member in members:
            name = PurePosixPath(member.name)
            if ".." in name.parts:
                raise SandboxUnavailable(f"the archive of a container leads out of its folder: {member.name!r:.200}")
            if str(name.parent) not in folders:
                folders[str(name.parent)] = made_folder(folder, str(name.parent))
            place = folders[str(name.parent)] / name.name
            if member.isdir():
                _make_folder(place)
                folders[str(name)] = place  # nothing later in the archive replaces a folder
            elif member.isfile():
                _remove(place)
                source = members.extractfile(member)
                assert source is not None, "it is a file"
                with source, place.open("xb") as written:
                    copy_content(source, written)
            elif member.issym():
                _remove(place)
                place.symlink_to(member.linkname)
            elif member.islnk():
                _remove(place)
                linked = PurePosixPath(member.linkname)
                target = made_folder(folder, str(linked.parent)) / linked.name
                if os.path.lexists(target):
                    os.link(target, place, follow_symlinks=False)
                continue
            else:
                continue
            if is_root:
                os.chown(place, member.uid, member.gid, follow_symlinks=False)
            if not member.issym():
                needed = 0 if is_root else stat.S_IRUSR | stat.S_IWUSR | (stat.S_IXUSR if member.isdir() else 0)
                place.chmod(member.mode & _MODE | needed)
                with suppress(OverflowError):
                    os.utime(place, (member.mtime, member.mtime))


def made_folder(folder: Path, name: str) -> Path:
    """A folder in `folder`, made where it is missing: no part of it is a link that somebody left there."""
    parts = [part for part in PurePosixPath(name).parts if part != "/"]
    if ".." in parts:
        raise SandboxUnavailable(f"the archive of a container leads out of its folder: {name!r:.200}")
    place = folder
    for part in parts:
        place = place / part
        _make_folder(place)
    return place


def _make_folder(place: Path) -> None:
    if place.is_symlink() or not place.is_dir():
        _remove(place)
        place.mkdir()


def _remove(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink()
