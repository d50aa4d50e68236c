"""The files of a container that has ended: exported whole, or copied back from one place.

Raises EndStateUnreadable where the program made this impossible, so that it gains nothing by it. Any other failure is
the runtime's.
"""

from __future__ import annotations

import asyncio
import json
import tarfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO, cast

from evalharness.errors import EndStateUnreadable, SandboxUnavailable
from evalharness.sandboxes.container_program import ContainerProgram, said
from evalharness.sandboxes.unpacked_archive import made_folder, unpack
from evalharness.workspaces import OF_NO_RUN, LockedFolder, remove_folder

_NO_PLACE = (b"no such container:path", b"could not find the file", b"could not be found on container")
LARGEST_EXPORT = 16 * 1024**3
_CHUNK = 1_048_576
_SHORTAGES = (
    b"no space left",
    b"quota exceeded",
    b"too many open files",
    b"input/output error",
    b"cannot allocate memory",
    b"read-only file system",
)
"""What it says where this machine is at fault, whatever else it says."""
_SPOILED = (
    b"bulk transfer for copier",
    b"not a directory",
    b"too many links",
    b"too many levels of symbolic links",
    b"file name too long",
)
"""What a runtime says where a program replaced a folder with something else, or nested folders too deep."""


async def export(program: ContainerProgram, name: str, folder: Path) -> tuple[str, ...]:
    """The files of the container first, then those of its volumes, which are no part of them."""
    volumes = await _volume_places(program, name)
    await _copy(program, folder, "export", name)
    for place in sorted(volumes):  # outer ones first
        await asyncio.to_thread(remove_folder, made_folder(folder, place))  # what the image has there
        await _copy(program, made_folder(folder, place), "cp", f"{name}:{place}/.", "-")
    return volumes


async def copy_back(program: ContainerProgram, name: str, place: str, folder: Path) -> frozenset[str]:
    """Replaces what is in `folder`; returns the paths below `place` that were made, changed or removed."""
    beside = LockedFolder(OF_NO_RUN)
    try:
        new = beside.path / "files"
        new.mkdir()
        with suppress(_NoSuchPlace):  # its program may have removed it
            await _copy(program, new, "cp", f"{name}:{place}/.", "-")
        await asyncio.to_thread(_replace_files, folder, new)
    finally:
        await asyncio.to_thread(beside.remove)
    volumes = map(PurePosixPath, await _volume_places(program, name))
    if any(volume.is_relative_to(place) or PurePosixPath(place).is_relative_to(volume) for volume in volumes):
        return frozenset(str(path.relative_to(folder)) for path in folder.rglob("*"))  # no runtime compares volumes
    lines = (await program.say("diff", name)).splitlines()
    changed = [PurePosixPath(line[2:]) for line in lines]  # after A, C or D and a space
    return frozenset(str(path.relative_to(place)) for path in changed if path.is_relative_to(place))


async def _volume_places(program: ContainerProgram, name: str) -> tuple[str, ...]:
    written = await program.say("inspect", "--type", "container", "--format", "{{json .Mounts}}", name)
    return tuple(str(mount["Destination"]) for mount in json.loads(written) if mount["Type"] == "volume")


class _NoSuchPlace(SandboxUnavailable):
    pass


async def _copy(program: ContainerProgram, folder: Path, *words: str) -> None:
    """Unpack what the command line writes. Files are never kept packed: a sparse one would need all of its size."""
    broken: tarfile.TarError | None = None

    def consume(output: IO[bytes]) -> None:
        nonlocal broken
        limited = _Limited(output)
        try:
            unpack(cast("IO[bytes]", limited), folder)  # which only reads
        except tarfile.TarError as error:  # nothing, or half of an archive: the command line says why
            broken = error
        while limited.read(_CHUNK):
            pass

    saved = await program.stream(consume, *words)
    stderr = saved.stderr.lower()
    if saved.exit_code == 0 and broken is None:
        return
    if any(phrase in stderr for phrase in _NO_PLACE):
        raise _NoSuchPlace(f"{program.kind} {words[0]} failed: {said(saved)}")
    is_short = any(phrase in stderr for phrase in _SHORTAGES)
    if not is_short and any(phrase in stderr for phrase in _SPOILED):
        raise EndStateUnreadable(
            "what the program left cannot be copied: a folder was replaced, or folders are nested too deep"
        )
    raise SandboxUnavailable(f"{program.kind} {words[0]} failed: {broken if saved.exit_code == 0 else said(saved)}")


class _Limited:
    """The output of a command line, which a program can make as long as it likes with holes in files."""

    def __init__(self, output: IO[bytes]) -> None:
        self._output = output
        self._left = LARGEST_EXPORT

    def read(self, size: int, /) -> bytes:
        data = self._output.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise EndStateUnreadable(f"what the program left is larger than {LARGEST_EXPORT / 1024**3:.0f} GiB")
        return data


def _replace_files(folder: Path, new: Path) -> None:
    """The folder keeps its owner and mode: a container must not decide who can read it."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            remove_folder(path)
        else:
            path.unlink()
    for path in new.iterdir():
        path.rename(folder / path.name)
