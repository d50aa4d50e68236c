"""The command line of docker and podman: which flags make a container what its request says.

Nothing is started here.
"""

from __future__ import annotations

import csv
import io
import re
import resource
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from evalharness.contracts.containers import BindMount, ContainerRequest, VolumeMount
from evalharness.contracts.sandbox import Limits, Owner
from evalharness.errors import TargetUnavailable

Kind = Literal["docker", "podman"]

STORE_LABEL = "evalharness.store"
RUN_LABEL = "evalharness.run"
TRIAL_LABEL = "evalharness.trial"
PROCESS_LABEL = "evalharness.process"
"""Whatever has it belongs to one harness process, whose watcher removes it."""
KEPT_LABEL = "evalharness.kept"
TEMPORARY_LABEL = "evalharness.temporary"
"""Of images that the harness commits; those that people commit from its containers lack it."""

OPEN_FILES = 1024
MOST_PROCESSES = 32_768
"""Of one user of this machine, in and out of containers; `--pids-limit` is what limits one of them."""
MEMORY_FOLDER = "size=64m,mode=1777"
CPU_SHARES = 512
"""Half of what an ordinary program gets, so that a fork bomb leaves time for the harness."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_.]+")
_LONGEST_TRIAL = 40
_READ_BY_RUNTIME = re.compile(
    r"PATH|HOME|TMPDIR|PWD|LANG|LC_.*|LD_.*|XDG_.*|GO[A-Z]+|SSL_CERT_.*|NO_COLOR|(?:HTTP|HTTPS|NO|ALL)_PROXY"
    r"|DOCKER_(?:HOST|CONTEXT|CONFIG|CERT_PATH|TLS.*|API_VERSION|DEFAULT_PLATFORM|CONTENT_TRUST.*|BUILDKIT)"
    r"|BUILDX_.*|CONTAINERS?_.*|STORAGE_.*",
    re.IGNORECASE,
)
"""Variables that tell the command-line programs where their daemon is, and where they keep things."""
_ALSO_READ = re.compile(r"PODMAN_.*|_CONTAINERS_.*|REGISTRY_AUTH_FILE|LISTEN_(?:FDS|PID|FDNAMES)|NOTIFY_SOCKET")
"""Further ones that they would read, were they meant for them."""


START_AFTER_READING = """\
"$0" init "$1" >/dev/null || exit
read _ <"$2"
exec "$0" start --sig-proxy=false --attach --interactive "$1\""""
"""A script for this machine's shell: its arguments are podman, the name of a created container, and a pipe.

The network exists before the program starts.
"""


def container_name(owner: Owner) -> str:
    """Which run and trial it belongs to, for people who list containers; unique by its end."""
    parts = (owner.run_id, _NOT_IN_NAMES.sub("-", owner.trial)[:_LONGEST_TRIAL].strip("-."))
    return "-".join(("evalharness", *filter(None, parts), secrets.token_hex(4)))


def labels(owner: Owner, process_id: str, *, is_kept: bool) -> dict[str, str]:
    written = {STORE_LABEL: owner.store_id, RUN_LABEL: owner.run_id, TRIAL_LABEL: owner.trial}
    kept = {KEPT_LABEL: "true"} if is_kept else {}
    return {**{name: value for name, value in written.items() if value}, PROCESS_LABEL: process_id, **kept}


def label_flags(values: Mapping[str, str]) -> list[str]:
    return [word for name, value in values.items() for word in ("--label", f"{name}={value}")]


RUN_WORDS = ("run", "--sig-proxy=false")
"""A signal to the command line must not reach the program: the agent would seem to have failed."""


def container_words(
    request: ContainerRequest,
    name: str,
    marks: Mapping[str, str],
    kind: Kind,
    profile: int | None = None,
    variables: int | None = None,
) -> list[str]:
    """The words after `run` or `create`, without values of variables.

    `profile` and `variables` are descriptors: of the system calls that are blocked, and of `env_file`.
    """
    words = ["--name", name, *label_flags(marks), "--interactive", "--log-driver", "none", "--pull", "never"]
    words += ["--http-proxy=false"] if kind == "podman" else []  # it would pass on those of this machine
    words += ["--init"] if request.has_init else []
    words += [] if request.network else ["--network", "none"]
    words += _limits(request.limits, kind)
    words += _rights(request)
    words += [] if profile is None else ["--security-opt", f"seccomp=/proc/self/fd/{profile}"]
    words += ["--user", request.user] if request.user else []
    words += ["--workdir", request.cwd] if request.cwd else []
    for mount in request.mounts:
        words += ["--mount", mount_value(mount)]
    words += [] if variables is None else ["--env-file", f"/proc/self/fd/{variables}"]
    for variable in request.env:
        words += [] if _is_read(variable) else ["--env", variable]
    if request.entrypoint is not None:
        words += ["--entrypoint", request.entrypoint]
    return [*words, "--", request.image, *request.argv] if kind == "docker" else [*words, request.image, *request.argv]


def runtime_environment(own: Mapping[str, str], request: ContainerRequest) -> dict[str, str]:
    """Values go through the environment: every user of the machine can read a command line."""
    for name, value in request.env.items():
        is_named = name.split() == [name] and not set(name) & {"\0", "=", "*"}  # to podman, * stands for any name
        if not is_named or "\0" in value or _HALF_CHARACTER.search(name + value):
            raise TargetUnavailable(f"the variable {name!r:.80} cannot be set in a container")
    passed = {name: value for name, value in request.env.items() if not _is_read(name)}
    return {**own, **passed}


def _is_read(name: str) -> bool:
    return bool(_READ_BY_RUNTIME.fullmatch(name) or _ALSO_READ.fullmatch(name))


def env_file(request: ContainerRequest) -> bytes:
    """Values of variables that the command-line program would read itself, as lines for `--env-file`."""
    read = {name: value for name, value in request.env.items() if _is_read(name)}
    for name, value in read.items():
        if "\n" in value or "\r" in value:
            raise TargetUnavailable(f"the variable {name} cannot have more than one line in a container")
    return "".join(f"{name}={value}\n" for name, value in read.items()).encode()


def own_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What the command-line program itself needs: where its daemon is and where it keeps things."""
    return {name: value for name, value in environment.items() if _READ_BY_RUNTIME.fullmatch(name)}


def _limits(limits: Limits, kind: Kind) -> Iterator[str]:
    yield from ("--memory", str(limits.memory_bytes), "--memory-swap", str(limits.memory_bytes))
    yield from ("--pids-limit", str(limits.processes), "--cpu-shares", str(CPU_SHARES), "--shm-size", "64m")
    files = OPEN_FILES
    if kind == "podman":  # it cannot give more than this process has
        yield from ("--ulimit", f"nproc={_allowed(resource.RLIMIT_NPROC, MOST_PROCESSES)}")
        files = _allowed(resource.RLIMIT_NOFILE, OPEN_FILES)
    for name, value in {"fsize": limits.file_bytes, "core": 0, "nofile": files}.items():
        yield from ("--ulimit", f"{name}={value}")


def _allowed(limit: int, wanted: int) -> int:
    _, hard = resource.getrlimit(limit)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _rights(request: ContainerRequest) -> Iterable[str]:
    if request.is_privileged:
        return ("--privileged",)
    if not request.is_isolated:
        return ("--security-opt", "no-new-privileges")
    hidden = ("--read-only", "--tmpfs", f"/tmp:rw,{MEMORY_FOLDER}", "--hostname", "sandbox")
    return ("--cap-drop", "ALL", "--security-opt", "no-new-privileges", *hidden)


def mount_value(mount: BindMount | VolumeMount) -> str:
    """Paths may contain commas: the value is a line of CSV."""
    if isinstance(mount, VolumeMount):
        fields = ["type=volume", f"source={mount.name}", f"target={mount.place}"]
    else:
        fields = ["type=bind", f"source={mount.source}", f"target={mount.place}"]
        fields += [] if mount.is_writable else ["readonly"]
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
