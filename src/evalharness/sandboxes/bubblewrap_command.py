"""The command line of bubblewrap: what there is inside a sandbox, and what of it can be written.

Flags, environment and files are handed over through descriptors, since a command line can be read by every user of the
machine. Nothing is started here.
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

from evalharness.domain.process import Limits, ProcessRequest
from evalharness.errors import SandboxUnavailable, TargetUnavailable
from evalharness.sandboxes.family_use import MEMORY_FOLDERS
from evalharness.sandboxes.process_tree import MARK_VARIABLE

MEMORY_FOLDER_BYTES = 67_108_864
OPEN_FILES = 1024
LEAST_FILE_BYTES = 4096
"""What bubblewrap itself must be able to write: /etc/passwd and /etc/group."""
OWN_PROCESSES = 3
"""At most: a first bubblewrap that shows the way, the one outside, the one inside."""
NICENESS = 5
"""Three of them count as one other process: a fork bomb must leave something to the harness, which has to end it."""
USER = 1000
OUTER_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
"""For the programs that build the sandbox: a LD_PRELOAD meant for the program inside is not for them."""

LAST = ("--remount-ro", "/")
"""What bubblewrap makes up around the mounts is memory, too."""
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

# $1 … -- are control groups to enter. Should the machine run out of memory, what is in the sandbox is to go first. The
# mark is set here, because `none.py` can be too late for the first child, and of that child a user can read no other.
ENTER = (
    "{ echo 1000 >/proc/self/oom_score_adj; "
    f'ulimit -S -m "${{{MARK_VARIABLE}##* }}"; }} 2>/dev/null; '
    'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 125; shift; done; shift; '
    f'exec nice -n {NICENESS} "$@"'
)


@dataclass(frozen=True, slots=True)
class Mount:
    """A path of the machine at the same place inside; `source` is where its links lead to."""

    place: str
    writable: bool = False

    @property
    def source(self) -> Path:
        return Path(self.place).resolve()

    def flags(self) -> tuple[str, ...]:
        return ("--bind" if self.writable else "--ro-bind", str(self.source), self.place)


def mounts_of(request: ProcessRequest, program_folders: Iterable[str]) -> list[Mount]:
    """The workspace and what may be read; outer folders first, so that an inner one keeps its own rights."""
    workspace = _absolute(request.cwd)
    readable = {place for place in map(_absolute, (*program_folders, *request.readable)) if not is_system(place)}
    mounts: list[Mount] = []
    for place in sorted({*readable, workspace}, key=lambda place: (place.count("/"), place)):
        around = next((mount for mount in reversed(mounts) if Path(place).is_relative_to(mount.place)), None)
        if place == workspace or around is None or around.writable:
            mounts.append(Mount(place, writable=place == workspace))
    return mounts


def system_flags() -> list[str]:
    """The part that is the same for every process."""
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
    """The part that differs."""
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


def bounded(limits: Limits, *, counts_processes: bool) -> list[str]:
    """Limits that processes hand down to their children; those of a family are in `cgroups.py` and `family_use.py`.

    Set before bubblewrap starts, so that bubblewrap itself starts the program and can say whether that worked. None is
    higher than what the harness itself is allowed, because raising it would fail.
    """
    wanted = {
        "fsize": (resource.RLIMIT_FSIZE, max(limits.file_bytes, LEAST_FILE_BYTES)),
        "core": (resource.RLIMIT_CORE, 0),
        "nofile": (resource.RLIMIT_NOFILE, OPEN_FILES),
    }
    if counts_processes:  # `family_use.py` counts better, but only now and then
        wanted["data"] = (resource.RLIMIT_DATA, 2 * limits.memory_bytes)
    return ["/usr/bin/prlimit", *(f"--{name}={_allowed(*pair)}" for name, pair in wanted.items()), "--"]


def bounding_processes(limits: Limits, pid: int) -> list[str]:
    """For a sandbox that waits to start its program: from inside, the kernel counts only the processes of the sandbox.

    To be run by the user of the sandbox, since root need not have the right to limit others.
    """
    processes = _allowed(resource.RLIMIT_NPROC, limits.processes + OWN_PROCESSES + 1)
    return ["/usr/bin/prlimit", f"--pid={pid}", f"--nproc={processes}"]


def _allowed(limit: int, wanted: int) -> int:
    _, hard = resource.getrlimit(limit)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def check(request: ProcessRequest) -> None:
    """Raises where the request cannot be meant. A NUL would be the end of one flag and the beginning of another."""
    if not request.argv or not request.argv[0]:
        raise TargetUnavailable("cannot start a process: the command is empty", hint="name the program to run")
    words = (*request.argv, *request.env, *request.env.values(), *request.readable, request.cwd)
    if any("\0" in word for word in words):
        raise TargetUnavailable("cannot start a process: a word, a path or a variable holds a NUL character")
    for place in request.readable:
        if not os.path.exists(place):  # noqa: PTH110 - what may not be looked at is not there either
            raise SandboxUnavailable(f"the readable path '{place}' does not exist", hint="correct or remove it")
    folder = Path(request.cwd).resolve()
    if is_system(folder) or len(folder.parts) < 3:  # it can be written and, by root, is given away
        raise SandboxUnavailable(f"'{request.cwd}' cannot be a workspace", hint="use a folder of its own")
    if not folder.is_dir():
        raise SandboxUnavailable(
            f"the workspace '{request.cwd}' is not a folder", hint="create it, or correct the path"
        )


def check_program(request: ProcessRequest, mounts: Iterable[Mount]) -> None:
    """Raises where the program is not there inside. Found out beforehand: afterwards a program can say anything."""
    program = request.argv[0]
    folders = request.env.get("PATH", os.defpath).split(os.pathsep) if "/" not in program else [request.cwd]
    shown = [mount.place for mount in mounts]
    for folder in folders:
        place = Path(os.path.normpath(Path(request.cwd, folder, program)))
        is_shown = is_system(place) or any(place.is_relative_to(mount) for mount in shown)
        if is_shown and os.access(place, os.X_OK) and place.is_file():
            return
    raise TargetUnavailable(
        f"cannot start '{program}' in the sandbox: no such program, or it may not be executed",
        hint="install it, correct the spelling, or name it as readable",
    )


def pack(flags: Iterable[str]) -> bytes:
    """For `--args`."""
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


# What must be readable so that a program can start: itself and, for an interpreter, where it is installed.
#
# Only folders that look like the installation of an interpreter are named whole. A folder of programs in somebody's
# home is not: what lies beside it is nobody's business.

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
    return tuple(dict.fromkeys(str(place) for place in wanted if not is_system(place) and os.path.exists(place)))  # noqa: PTH110


def _chain(path: Path) -> Iterator[Path]:
    """The path, what it links to, and so on: a virtual environment means something only by its links."""
    while True:
        yield path
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))


def _installation(bin_folder: Path) -> list[Path]:
    """Empty where the folder belongs to no interpreter, or may not be looked at: no shell finds a program there."""
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
