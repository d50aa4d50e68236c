"""If the harness runs as root, sandboxed code runs as the user nobody, who gets access to the files it needs.

In a user namespace, root's files would still be writable, and a set-user-ID file in a workspace would be root's. So the
user is changed before the namespace is created. Then nobody must own the workspace, must be able to reach it and the
readable paths, and must be allowed to read them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from evalharness.errors import SandboxUnavailable

NOBODY = 65534
DROP = ("/usr/bin/setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs", "--")


def give_away(folder: Path) -> None:
    """Make nobody the owner of everything in the folder, of links but not of their targets.

    Paths too long to be named are skipped; only nobody itself can have created them. Raises SandboxUnavailable if this
    locks the harness itself out.
    """
    folders = [str(folder)]
    for current in folders:
        with suppress(OSError):
            os.chown(current, NOBODY, NOBODY, follow_symlinks=False)
            with os.scandir(current) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        os.chown(entry.path, NOBODY, NOBODY, follow_symlinks=False)
    if not os.access(folder, os.R_OK | os.W_OK):
        raise SandboxUnavailable(
            "root's sandboxes run as the user nobody, and this root may not use folders of other users",
            hint="run the harness with the capability CAP_DAC_OVERRIDE, or as an ordinary user",
        )


def check_readable(path: Path) -> None:
    """Raise if nobody may not read the path; the contents of a folder are not checked."""
    status = path.stat()
    needed = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
    if status.st_uid != NOBODY and status.st_mode & needed != needed:
        raise SandboxUnavailable(
            f"'{path}' is not readable by everyone, and root's sandboxes run as the user nobody",
            hint=f"chmod -R o+rX '{path}', or run the harness as an ordinary user",
        )


def way_to(paths: Iterable[Path]) -> list[str]:
    """A first bubblewrap, run by root, in which closed folders contain only what leads to `paths`.

    Empty if no folder is closed. The rest of the machine stays visible, so that the second bubblewrap can start from
    it.
    """
    closed = {path: gate for path in sorted(paths) if (gate := _closed_folder(path)) is not None}
    if not closed:
        return []
    words = ["/usr/bin/bwrap", "--die-with-parent", "--dev-bind", "/", "/"]
    for gate in sorted(set(closed.values())):
        words += ["--tmpfs", str(gate)]
    for path, gate in closed.items():
        if any(path.is_relative_to(shown) for shown in closed if shown != path):
            continue
        for folder in reversed(path.parents):
            if folder.is_relative_to(gate) and folder != gate:
                words += ["--perms", "0755", "--dir", str(folder)]
        words += ["--bind", str(path), str(path)]
    return [*words, "--"]


def _closed_folder(path: Path) -> Path | None:
    """The first folder on the path that the user nobody may not enter."""
    return next(_closed_folders(path), None)


def _closed_folders(path: Path) -> Iterator[Path]:
    return (folder for folder in reversed(path.parents) if not folder.stat().st_mode & stat.S_IXOTH)
