"""The end state of a container that a target ran: exported once, hashed, and removed with the trial."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from evalharness.contracts.containers import BindMount, Containers, EndState, ExportedState
from evalharness.contracts.sandbox import Owner
from evalharness.workspaces import OF_NO_RUN, LockedFolder, blaming_the_program, copy_content, hand_over, remove_folder


class ContainerEndState(EndState):
    """`place` is the workspace's path in the container."""

    def __init__(
        self, containers: Containers, name: str, image: str, workspace: Path, place: str, owner: Owner
    ) -> None:
        self.image = image
        self._containers = containers
        self._name = name
        self._workspace = workspace
        self._place = place
        self.owner = owner
        self._folder: LockedFolder | None = None
        self._exported: ExportedState | None = None
        self._committed = ""
        self._copying = asyncio.Lock()

    async def exported(self) -> ExportedState:
        async with self._copying:
            if self._exported is None:
                self._folder = self._folder or LockedFolder(self.owner.run_id or OF_NO_RUN)
                folder = self._folder.path / "state"
                await asyncio.to_thread(_emptied, folder)
                volumes = await self._containers.export(self._name, folder)
                hidden = folder / self._place.lstrip("/")  # what the image has there, where the workspace was mounted
                has_volumes = any(PurePosixPath(volume).is_relative_to(self._place) for volume in volumes)
                if hidden.is_dir() and hidden.resolve() == hidden and not has_volumes:
                    await asyncio.to_thread(remove_folder, hidden)
                await asyncio.to_thread(_copied, self._workspace, folder, self._place)
                digest = await asyncio.to_thread(_digest_of_state, folder)
                self._exported = ExportedState(folder, digest, (*volumes, self._place))
            return self._exported

    async def again(self) -> tuple[str, tuple[BindMount, ...]]:
        exported = await self.exported()
        async with self._copying:
            if not self._committed:
                self._committed = await self._containers.commit(self._name)
        copies = Path(tempfile.mkdtemp(prefix="again-", dir=exported.folder.parent))
        for place in exported.volumes:
            await asyncio.to_thread(_copied, exported.folder / place.lstrip("/"), copies, place)
        if os.geteuid() != 0 and (user := await self._containers.user(self.image)):
            for place in exported.volumes:  # what was given back to the harness's user
                await asyncio.to_thread(hand_over, copies / place.lstrip("/"), user)
        mounts = (BindMount(str(copies / place.lstrip("/")), place, is_writable=True) for place in exported.volumes)
        return self._committed, tuple(mounts)

    async def close(self) -> None:
        try:
            if self._committed:
                await self._containers.remove_image(self._committed)
            await self._containers.remove(self._name)
        finally:
            if self._folder is not None:
                await asyncio.to_thread(self._folder.remove)


def _emptied(folder: Path) -> None:
    remove_folder(folder)
    folder.mkdir()


def _copied(source: Path, folder: Path, place: str) -> None:
    """Links stay links, wherever they lead. What cannot be copied, such as a socket, is left out."""
    there = folder
    for part in Path(place).parts[1:]:
        there = there / part
        if there.is_symlink() or (there.exists() and not there.is_dir()):
            there.unlink()
        there.mkdir(exist_ok=True)
    copied = [(source, there)]
    if os.geteuid() != 0:
        source.chmod(stat.S_IMODE(source.stat().st_mode) | stat.S_IRWXU)
    with blaming_the_program():
        for path in _sorted(source):
            copy = there / path.relative_to(source)
            mode = path.lstat().st_mode
            _make_room(copy, mode)
            if os.geteuid() != 0 and not stat.S_ISLNK(mode):  # the program may have closed it
                path.chmod(stat.S_IMODE(mode) | (stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR))
            if stat.S_ISLNK(mode):
                copy.symlink_to(path.readlink())
            elif stat.S_ISDIR(mode):
                copy.mkdir(exist_ok=True)
            elif stat.S_ISREG(mode):
                with path.open("rb") as content, copy.open("xb") as written:
                    copy_content(content, written)
            else:
                continue
            copied.append((path, copy))
        for path, copy in reversed(copied):  # a folder that is closed is filled before
            shutil.copystat(path, copy, follow_symlinks=False)
            if os.geteuid() == 0:
                owner = path.lstat()
                os.chown(copy, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _make_room(place: Path, mode: int) -> None:
    """For a file of this mode: what a volume or the image has there is no part of the workspace."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.is_dir() and not stat.S_ISDIR(mode):
        remove_folder(place)


def digest_of_files(folder: Path) -> str:
    """Of names, kinds, rights and contents; not of times and owners."""
    whole = hashlib.sha256()
    for path in _sorted(folder):
        mode = path.lstat().st_mode
        whole.update(os.fsencode(path.relative_to(folder)) + b"\0" + f"{mode:o}".encode() + b"\0")
        if stat.S_ISLNK(mode):
            whole.update(os.fsencode(path.readlink()))
        elif stat.S_ISREG(mode):
            with path.open("rb") as content:
                whole.update(hashlib.file_digest(content, "sha256").digest())
        whole.update(b"\0")
    return whole.hexdigest()


def _digest_of_state(folder: Path) -> str:
    with blaming_the_program():
        return digest_of_files(folder)


def _sorted(folder: Path) -> Iterator[Path]:
    """Folders before what is in them; without recursion, as a program can nest them deeper than that goes."""
    waiting = [iter(_entries(folder))]
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
            continue
        yield Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            waiting.append(iter(_entries(entry.path)))


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)
