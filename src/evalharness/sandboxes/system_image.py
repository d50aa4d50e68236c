"""The image of empty folders in which containers run programs of this machine, and what is mounted in it.

No registry is needed for it: its name says what is in it, and it is made where it is missing.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from evalharness.contracts.containers import BindMount
from evalharness.sandboxes import bubblewrap_command
from evalharness.sandboxes.bubblewrap_command import SYSTEM_FILES, SYSTEM_FOLDERS
from evalharness.sandboxes.container_images import ContainerImages
from evalharness.values.digest import digest

_FOLDERS = ("dev", "proc", "sys", "tmp", "run", "etc", "usr", "var", "home", "work")


async def system_image(images: ContainerImages) -> str:
    archive = _archive()
    name = f"evalharness-system:{digest(archive.hex())[:16]}"
    await images.load(name, archive)
    return name


def system_mounts(*, network: bool = False) -> list[BindMount]:
    files = (*SYSTEM_FILES, *(bubblewrap_command.NETWORK_FILES if network else ()))
    folders = [folder for folder in SYSTEM_FOLDERS if Path(folder).is_dir() and not Path(folder).is_symlink()]
    existing = [file for file in files if Path(file).exists()]
    return [BindMount(str(Path(place).resolve()), place) for place in (*folders, *existing)]


def _archive() -> bytes:
    """An archive of empty folders, with the links of this system (`/bin` → `usr/bin`) and its users' names."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in _FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type = tarfile.DIRTYPE
            entry.mode = 0o1777 if name == "tmp" else 0o755  # which what is mounted there takes over
            archive.addfile(entry)
        for folder in map(Path, SYSTEM_FOLDERS):
            if folder.is_symlink():
                entry = tarfile.TarInfo(folder.name)
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, str(folder.readlink()), 0o777
                archive.addfile(entry)
        for place, content in bubblewrap_command.USERS.items():
            entry = tarfile.TarInfo(place.lstrip("/"))
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content.encode()))
    return written.getvalue()
