"""Root runs sandboxed code as the user nobody: what that user needs of root's files is given or shown to it.

Inside a user namespace root's files would still be root's to write, and a set-user-ID file left in a workspace would be
root's too. So the user is changed before the namespace is made, and three things have to be seen to: the workspace must
be his, he must be able to get to it and to what may be read, and he must be allowed to read that.
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
    """Links are given, not what they lead to. Paths too long to be named were made by nobody himself."""
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


def check_readable(path: Path) -> None:
    """Of what is inside a folder, each program finds out by itself."""
    status = path.stat()
    needed = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
    if status.st_uid != NOBODY and status.st_mode & needed != needed:
        raise SandboxUnavailable(
            f"'{path}' may not be read by everybody, and what root runs in a sandbox runs as nobody",
            hint=f"chmod -R o+rX '{path}', or run the harness as an ordinary user",
        )


def way_to(paths: Iterable[Path]) -> list[str]:
    """A first bubblewrap, run by root: closed folders hold only what leads to `paths`. Empty where none is closed.

    For everything else the machine is as it was, so that the second bubblewrap can start from it.
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
    """The first folder on the way that nobody may not pass."""
    return next(_closed_folders(path), None)


def _closed_folders(path: Path) -> Iterator[Path]:
    return (folder for folder in reversed(path.parents) if not folder.stat().st_mode & stat.S_IXOTH)
