"""What must be readable so that a program can start: itself and, for an interpreter, where it is installed.

Only folders that look like the installation of an interpreter are named whole. A folder of programs in somebody's home
is not: what lies beside it is nobody's business.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_LONGEST_CHAIN = 40


def is_system(path: str | Path) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in SYSTEM_FOLDERS)


def folders_for(program: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """For the program itself and for the interpreters that it finds on its PATH; what the system has is left out."""
    path = environment.get("PATH", os.defpath)
    named = shutil.which(program, path=path) or ""
    wanted: list[Path] = []
    for link in islice(_chain(Path(named)), _LONGEST_CHAIN) if named.startswith("/") else ():
        wanted += _installation(link.parent) or [link]
    for folder in path.split(os.pathsep):
        if folder.startswith("/"):
            wanted += _installation(Path(folder))
    return tuple(dict.fromkeys(str(place) for place in wanted if not is_system(place) and place.exists()))


def _chain(path: Path) -> Iterator[Path]:
    """The path, what it links to, and so on: a virtual environment means something only by its links."""
    while True:
        yield path
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))


def _installation(bin_folder: Path) -> list[Path]:
    """Empty where the folder belongs to no interpreter."""
    prefix = bin_folder.parent
    if is_system(bin_folder) or not bin_folder.is_dir():
        return []
    if (prefix / "pyvenv.cfg").is_file():
        return [prefix, *_installation(_home_of(prefix / "pyvenv.cfg"))]
    if bin_folder.name == "shims" and (prefix / "versions").is_dir():  # pyenv and its likes
        return [prefix]
    if any(prefix.glob("lib/python3*")) or (prefix / "lib/node_modules").is_dir():
        return [bin_folder, prefix / "lib"]
    return []


def _home_of(configuration: Path) -> Path:
    """Where the interpreter behind a virtual environment is."""
    lines = configuration.read_text(encoding="utf-8", errors="replace").splitlines()
    values = (value.strip() for name, _, value in (line.partition("=") for line in lines) if name.strip() == "home")
    return Path(next(values, "/usr/bin"))
