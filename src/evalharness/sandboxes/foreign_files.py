"""Files of other users that a container left in folders of this machine: they are given to the user of the harness.

A docker container runs as this machine's root, or as the user that its image names. A harness that is an ordinary user
can neither read nor remove all of those files; another container can change their owner.
"""

from __future__ import annotations

import os
from pathlib import Path

from evalharness.contracts.containers import BindMount, ContainerRequest
from evalharness.sandboxes.system_image import system_mounts
from evalharness.workspaces import descend

CHOWN = "/usr/bin/chown"
_MINE = "/run/mine"
_LEFT = "/work"
_ROOT = "0:0"
_LONGEST_S = 60.0


def are_in(folder: Path) -> bool:
    """Also true where a part of the folder cannot be looked at."""
    me = os.geteuid()
    found = folder.stat().st_uid != me

    def visit(descriptor: int) -> list[str] | None:
        nonlocal found
        with os.scandir(descriptor) as entries:
            here = list(entries)
        found = found or any(entry.stat(follow_symlinks=False).st_uid != me for entry in here)
        return None if found else [entry.name for entry in here if entry.is_dir(follow_symlinks=False)]

    try:
        descend(folder, visit)
    except OSError:
        return True
    return found


def chown_request(mine: Path, folder: Path, image: str) -> ContainerRequest:
    """Gives everything in `folder` to the owner of `mine`, whose number may differ inside a container."""
    return ContainerRequest(
        image=image,
        entrypoint=CHOWN,
        argv=("--recursive", "--no-dereference", f"--reference={_MINE}", _LEFT),
        user=_ROOT,
        mounts=(*system_mounts(), BindMount(str(mine), _MINE), BindMount(str(folder), _LEFT, is_writable=True)),
        timeout_s=_LONGEST_S,
        has_init=False,
    )
