"""The files of a container that has ended: exported whole, or copied back from one place.

Raises EndStateUnreadable where the program made this impossible, so that it gains nothing by it. Any other failure is
the runtime's.
"""

from __future__ import annotations

import asyncio
import json
import os
import stat
import tempfile
from pathlib import Path, PurePosixPath

from evalharness.contracts.sandbox import ProcessResult
from evalharness.errors import EndStateUnreadable, SandboxUnavailable
from evalharness.sandboxes.container_program import LARGEST_EXPORT, ContainerProgram, said
from evalharness.sandboxes.unpacked_archive import made_folder, unpack
from evalharness.workspaces import OF_NO_RUN, LockedFolder, remove_folder

_NO_PLACE = (b"no such container:path", b"could not find the file", b"could not be found on container")
_SPOILED = (b"not a directory", b"too many links", b"too many levels of symbolic links", b"file name too long")
"""What a runtime says where a program replaced a folder with something else, or nested folders too deep."""


async def export(program: ContainerProgram, name: str, folder: Path) -> tuple[str, ...]:
    """The files of the container first, then those of its volumes, which are no part of them."""
    volumes = await _volume_places(program, name)
    with tempfile.TemporaryDirectory(prefix="unpacked-", dir=folder.parent) as beside:
        archive = Path(beside) / "files.tar"
        _check(program, await program.save(archive, "export", name), archive, "export")
        await asyncio.to_thread(unpack, archive, folder)
        for place in volumes:
            _check(program, await program.save(archive, "cp", f"{name}:{place}/.", "-"), archive, "cp")
            await asyncio.to_thread(unpack, archive, made_folder(folder, place))
    return volumes


async def copy_back(program: ContainerProgram, name: str, place: str, folder: Path) -> frozenset[str]:
    """Replaces what is in `folder`; returns the paths below `place` that were made, changed or removed."""
    beside = LockedFolder(OF_NO_RUN)
    try:
        archive = beside.path / "files.tar"
        saved = await program.save(archive, "cp", f"{name}:{place}/.", "-")
        is_gone = saved.exit_code != 0 and any(words in saved.stderr.lower() for words in _NO_PLACE)
        if not is_gone:  # its program may have removed it
            _check(program, saved, archive, "cp")
        await asyncio.to_thread(_replace_files, folder, None if is_gone else archive)
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


def _check(program: ContainerProgram, saved: ProcessResult, archive: Path, word: str) -> None:
    if saved.exit_code == 0:
        return
    if archive.is_file() and archive.stat().st_size >= LARGEST_EXPORT:
        raise EndStateUnreadable(f"what the program left is larger than {LARGEST_EXPORT / 1024**3:.0f} GiB")
    if any(words in saved.stderr.lower() for words in _SPOILED):
        raise EndStateUnreadable(
            "what the program left cannot be copied: a folder was replaced, or folders are nested too deep"
        )
    raise SandboxUnavailable(f"{program.kind} {word} failed: {said(saved)}")


def _replace_files(folder: Path, archive: Path | None) -> None:
    """The folder keeps its owner and mode: a container must not decide who can read it."""
    before = folder.stat()
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            remove_folder(path)
        else:
            path.unlink()
    if archive is not None:
        unpack(archive, folder)
    os.chown(folder, before.st_uid, before.st_gid)
    folder.chmod(stat.S_IMODE(before.st_mode))
