"""bubblewrap: generated code and untrusted programs, cut off from the machine.

Inside there is the system's /usr, the folders a request names as readable, an own /tmp, and the workspace, which alone
can be written. No network unless asked, no other processes, no capabilities, no further namespaces. Memory, processes,
file sizes, disk, output and time are bounded. The processes themselves are started and ended by `none.py`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import replace
from pathlib import Path

from evalharness.domain.process import Limits, ProcessRequest, ProcessResult
from evalharness.errors import SandboxUnavailable
from evalharness.sandboxes.cgroups import Cgroup, Cgroups
from evalharness.sandboxes.disk_use import is_larger_than
from evalharness.sandboxes.none import NoSandbox

NOBODY = 65534
TMP_BYTES = 67_108_864
OPEN_FILES = 1024
LOOK_S = 0.2
SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_FILES = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime")
NETWORK_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/ca-certificates")
ENTER_GROUPS = 'for group in $1; do echo $$ >"$group/cgroup.procs" || exit 125; done; shift; exec "$@"'


class Bubblewrap:
    name = "bubblewrap"

    def __init__(self) -> None:
        self._processes = NoSandbox()
        self._cgroups: Cgroups | None = None
        self._is_ready = False

    async def run(self, request: ProcessRequest) -> ProcessResult:
        self._make_ready()
        limits = request.limits
        group = self._group(limits)
        drops_root = group is None and os.geteuid() == 0
        if drops_root:
            await asyncio.to_thread(_give_away, Path(request.cwd))
        wrapped = replace(request, argv=_wrapped(request, limits, group, drops_root=drops_root), cwd="/")
        try:
            result = await self._run_within_disk_limit(wrapped, Path(request.cwd), limits)
            if group is not None and result.ended == "exited" and group.ran_out_of_memory():
                return replace(result, ended="memory", exit_code=None)
            return result
        finally:
            if group is not None:
                await asyncio.to_thread(group.remove)

    async def close(self) -> None:
        await self._processes.close()

    def _make_ready(self) -> None:
        if self._is_ready:
            return
        if shutil.which("bwrap") is None:
            raise SandboxUnavailable(
                "generated code is run in a sandbox, and bubblewrap is not installed",
                hint="install the package: apt-get install bubblewrap; or run without isolation: --sandbox none",
            )
        self._cgroups = Cgroups.find()
        self._is_ready = True

    def _group(self, limits: Limits) -> Cgroup | None:
        if self._cgroups is None:
            return None
        try:
            return self._cgroups.create(limits)
        except OSError as error:
            raise SandboxUnavailable(f"the sandbox's control group cannot be made: {error}") from error

    async def _run_within_disk_limit(self, request: ProcessRequest, folder: Path, limits: Limits) -> ProcessResult:
        running = asyncio.ensure_future(self._processes.run(request))
        try:
            while not (await asyncio.wait([running], timeout=LOOK_S))[0]:
                if await asyncio.to_thread(is_larger_than, folder, limits.disk_bytes):
                    return ProcessResult(None, b"", b"", 0, 0, truncated=True, ended="disk", duration_s=0.0)
            return running.result()
        finally:
            if not running.done():
                running.cancel()
                await asyncio.wait([running])


def _wrapped(request: ProcessRequest, limits: Limits, group: Cgroup | None, *, drops_root: bool) -> tuple[str, ...]:
    bounded = ["/usr/bin/prlimit", f"--fsize={limits.file_bytes}", "--core=0", f"--nofile={OPEN_FILES}"]
    if group is None:  # what only control groups can do for all processes together is done for each of them
        bounded += [f"--nproc={limits.processes}", f"--data={limits.memory_bytes}"]
    isolated = ["/usr/bin/bwrap", *_flags(request), "--", *bounded, "--", *request.argv]
    if group is not None:
        folders = " ".join(str(folder) for folder in group.folders)
        return ("/bin/sh", "-c", ENTER_GROUPS, "sh", folders, *isolated)
    if drops_root:
        ids = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        return ("/usr/bin/setpriv", *ids, *isolated)
    return tuple(isolated)


def _flags(request: ProcessRequest) -> list[str]:
    """The environment is handed over by `none.py`, not by flags: those can be read by every user of the machine."""
    flags = [
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--cap-drop",
        "ALL",
        "--uid",
        "1000",
        "--gid",
        "1000",
    ]
    flags += ["--hostname", "sandbox", "--die-with-parent", "--new-session"]
    flags += ["--ro-bind", "/usr", "/usr"]
    for folder in SYSTEM_FOLDERS:
        path = Path(folder)
        if path.is_symlink():
            flags += ["--symlink", str(path.readlink()), folder]
        elif path.is_dir():
            flags += ["--ro-bind", folder, folder]
    flags += ["--proc", "/proc", "--dev", "/dev", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"]
    for file in (*SYSTEM_FILES, *(NETWORK_FILES if request.network else ())):
        flags += ["--ro-bind-try", file, file]
    for folder in request.readable:
        flags += ["--ro-bind", folder, folder]
    if request.network:
        flags.append("--share-net")
    return [*flags, "--bind", request.cwd, request.cwd, "--chdir", request.cwd]


def _give_away(folder: Path) -> None:
    """Root without control groups becomes nobody, who must be able to write into the workspace."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
