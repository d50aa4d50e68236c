"""The command line of bubblewrap: what a sandbox contains, and which parts of it are writable.

Flags, environment and files are passed through descriptors, since every user of the machine can read a command line.
Nothing is started here.
"""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from evalharness.contracts.sandbox import Limits, ProcessRequest
from evalharness.errors import SandboxUnavailable, TargetUnavailable
from evalharness.sandboxes.process_tree import MARK_VARIABLE
from evalharness.sandboxes.resource_use import MEMORY_FOLDERS

MEMORY_FOLDER_BYTES = 67_108_864
OPEN_FILES = 1024
LEAST_FILE_BYTES = 4096
"""bubblewrap itself must be able to write /etc/passwd and /etc/group."""
OWN_PROCESSES = 3
"""The most processes of bubblewrap itself: one that opens the path to closed folders, one outside, one inside."""
NICENESS = 5
"""Three such processes count as one other process, so that a fork bomb leaves time for the harness to end it."""
USER = 1000
OUTER_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
"""For the programs that build the sandbox; a LD_PRELOAD for the program inside must not affect them."""

LAST = ("--remount-ro", "/")
"""What bubblewrap creates around the mounts is in memory too, so it must not be writable."""
ISOLATED = ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv")
WITHOUT_RIGHTS = ("--cap-drop", "ALL", "--uid", str(USER), "--gid", str(USER), "--hostname", "sandbox")
SYSTEM_FILES = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf", "/etc/mime.types")
NETWORK_FILES = (
    *("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols"),
    *("/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/crypto-policies"),
)
USERS = {
    "/etc/passwd": f"user:x:{USER}:{USER}::/tmp:/bin/sh\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n",
    "/etc/group": f"user:x:{USER}:\nnogroup:x:65534:\n",
}

# $1 … -- are control groups to enter. If the machine runs out of memory, the kernel kills sandboxed processes first.
# The mark is set here because `none.py` may be too late for the first child, whose other marks may be unreadable.
ENTER = (
    "{ echo 1000 >/proc/self/oom_score_adj; "
    f'ulimit -S -m "${{{MARK_VARIABLE}##* }}"; }} 2>/dev/null; '
    'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 125; shift; done; shift; '
    f'exec nice -n {NICENESS} "$@"'
)


@dataclass(frozen=True, slots=True)
class Mount:
    """A path of the machine at the same place inside; `source` is the path with links resolved."""

    place: str
    writable: bool = False

    @property
    def source(self) -> Path:
        return Path(self.place).resolve()

    def flags(self) -> tuple[str, ...]:
        return ("--bind" if self.writable else "--ro-bind", str(self.source), self.place)


def mounts_of(request: ProcessRequest, program_folders: Iterable[str]) -> list[Mount]:
    """The workspace and the readable paths; outer folders first, so that an inner one keeps its own permissions."""
    workspace = _absolute(request.cwd)
    readable = {place for place in map(_absolute, (*program_folders, *request.readable)) if not is_system(place)}
    mounts: list[Mount] = []
    for place in sorted({*readable, workspace}, key=lambda place: (place.count("/"), place)):
        around = next((mount for mount in reversed(mounts) if Path(place).is_relative_to(mount.place)), None)
        if place == workspace or around is None or around.writable:
            mounts.append(Mount(place, writable=place == workspace))
    return mounts


def system_flags() -> list[str]:
    """The flags that are the same for every process."""
    flags = [*ISOLATED, *WITHOUT_RIGHTS]
    for folder in map(Path, SYSTEM_FOLDERS):
        if folder.is_symlink():
            flags += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            flags += ["--ro-bind", str(folder), str(folder)]
    flags += ["--proc", "/proc", "--dev", "/dev"]
    for place in MEMORY_FOLDERS:
        flags += ["--perms", "1777", "--size", str(MEMORY_FOLDER_BYTES), "--tmpfs", place]
    flags += ["--remount-ro", "/dev"]
    for file in SYSTEM_FILES:
        flags += ["--ro-bind-try", file, file]
    return flags


def inner_flags(request: ProcessRequest, mounts: Iterable[Mount]) -> Iterator[str]:
    """The flags that depend on the request."""
    if request.network:
        yield "--share-net"
        for file in NETWORK_FILES:
            yield from ("--ro-bind-try", file, file)
    for mount in mounts:
        yield from mount.flags()
    if request.is_first:
        yield "--as-pid-1"
    yield from ("--chdir", _absolute(request.cwd))
    for name, value in request.env.items():
        yield from ("--setenv", name, value)


def resource_limits(limits: Limits, *, counts_processes: bool) -> list[str]:
    """Limits that child processes inherit; limits for all processes together are in `cgroups.py` and `resource_use.py`.

    They are set before bubblewrap starts, so that bubblewrap itself starts the program and can report whether that
    worked. None exceeds the harness's own limits, because raising them would fail.
    """
    wanted = {
        "fsize": (resource.RLIMIT_FSIZE, max(limits.file_bytes, LEAST_FILE_BYTES)),
        "core": (resource.RLIMIT_CORE, 0),
        "nofile": (resource.RLIMIT_NOFILE, OPEN_FILES),
    }
    if counts_processes:  # `resource_use.py` counts more accurately, but only at intervals
        wanted["data"] = (resource.RLIMIT_DATA, 2 * limits.memory_bytes)
    return ["/usr/bin/prlimit", *(f"--{name}={_allowed(*pair)}" for name, pair in wanted.items()), "--"]


def bounding_processes(limits: Limits, pid: int) -> list[str]:
    """The command that limits the processes of a waiting sandbox; inside it, the kernel counts only its own processes.

    The user of the sandbox must run it, since root may lack the right to limit others.
    """
    processes = _allowed(resource.RLIMIT_NPROC, limits.processes + OWN_PROCESSES + 1)
    return ["/usr/bin/prlimit", f"--pid={pid}", f"--nproc={processes}"]


def _allowed(limit: int, wanted: int) -> int:
    _, hard = resource.getrlimit(limit)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def check(request: ProcessRequest) -> None:
    """Raise if the request is invalid. A NUL would end one flag and begin another."""
    if not request.argv or not request.argv[0]:
        raise TargetUnavailable("cannot start a process: the command is empty", hint="set the program to run")
    words = (*request.argv, *request.env, *request.env.values(), *request.readable, request.cwd)
    if any("\0" in word for word in words):
        raise TargetUnavailable("cannot start a process: an argument, a path or a variable contains a NUL character")
    for place in request.readable:
        if not os.path.exists(place):  # noqa: PTH110 - an inaccessible path counts as missing
            raise SandboxUnavailable(f"the readable path '{place}' does not exist", hint="correct or remove it")
    folder = Path(request.cwd).resolve()
    if is_system(folder) or len(folder.parts) < 3:  # it becomes writable, and root changes its owner
        raise SandboxUnavailable(f"'{request.cwd}' cannot be a workspace", hint="use a separate folder")
    if not folder.is_dir():
        raise SandboxUnavailable(
            f"the workspace '{request.cwd}' is not a folder", hint="create it, or correct the path"
        )


def check_program(request: ProcessRequest, mounts: Iterable[Mount]) -> None:
    """Raise if the program does not exist inside. This is checked first, because later its output proves nothing."""
    program = request.argv[0]
    folders = request.env.get("PATH", os.defpath).split(os.pathsep) if "/" not in program else [request.cwd]
    shown = [mount.place for mount in mounts]
    for folder in folders:
        place = Path(os.path.normpath(Path(request.cwd, folder, program)))
        is_shown = is_system(place) or any(place.is_relative_to(mount) for mount in shown)
        if is_shown and os.access(place, os.X_OK) and place.is_file():
            return
    raise TargetUnavailable(
        f"cannot start '{program}' in the sandbox: no such program, or it is not executable",
        hint="install it, correct the spelling, or add it to the readable paths",
    )


def packed_arguments(flags: Iterable[str]) -> bytes:
    """The flags in the format of `--args`."""
    return b"".join(os.fsencode(flag) + b"\0" for flag in flags)


def _absolute(path: str) -> str:
    return os.path.normpath(Path(path).absolute())


def memory_file(held: ExitStack, content: bytes) -> int:
    """A descriptor from which `content` can be read once."""
    descriptor = os.memfd_create("evalharness")
    held.callback(os.close, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


# What must be readable for a program to start: the program and, for an interpreter, its installation.
#
# Only folders that look like the installation of an interpreter are included whole. A folder of programs in a home
# directory is not, because its neighbours may be private.

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_LONGEST_CHAIN = 40


def is_system(path: str | Path) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in SYSTEM_FOLDERS)


def folders_for(program: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The folders of the program and of the interpreters on its PATH, without those of the system."""
    path = environment.get("PATH", os.defpath)
    named = shutil.which(program, path=path) or ""
    wanted: list[Path] = []
    for link in islice(_chain(Path(named)), _LONGEST_CHAIN) if named.startswith("/") else ():
        wanted += _installation(link.parent) or [link]
    for folder in path.split(os.pathsep):
        if folder.startswith("/"):
            wanted += _installation(Path(folder))
    return tuple(dict.fromkeys(str(place) for place in wanted if not is_system(place) and os.path.exists(place)))  # noqa: PTH110


def _chain(path: Path) -> Iterator[Path]:
    """The path, what it links to, and so on; a virtual environment works only through its links."""
    while True:
        yield path
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))


def _installation(bin_folder: Path) -> list[Path]:
    """The folders of an interpreter; empty if there is none or the folder is not accessible."""
    try:
        return _interpreter_folders(bin_folder)
    except PermissionError:
        return []


def _interpreter_folders(bin_folder: Path) -> list[Path]:
    prefix = bin_folder.parent
    if is_system(bin_folder) or not bin_folder.is_dir():
        return []
    if (prefix / "pyvenv.cfg").is_file():
        return [prefix, *_installation(_home_of(prefix / "pyvenv.cfg"))]
    if bin_folder.name == "shims" and (prefix / "versions").is_dir():  # pyenv and similar tools
        return [prefix]
    if any(prefix.glob("lib/python3*")) or (prefix / "lib/node_modules").is_dir():
        return [bin_folder, prefix / "lib"]
    return []


def _home_of(configuration: Path) -> Path:
    """The folder of the interpreter that a virtual environment uses."""
    lines = configuration.read_text(encoding="utf-8", errors="replace").splitlines()
    values = (value.strip() for name, _, value in (line.partition("=") for line in lines) if name.strip() == "home")
    return Path(next(values, "/usr/bin"))
