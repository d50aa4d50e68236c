"""Real dockerd and podman for tests, each in a temporary folder of its own, and an image that needs no registry.

dockerd listens on a socket in that folder and makes no bridge, no firewall rules and no forwarding: such networks need
rights that a test machine may not have. What needs one is not tested here.

All workers of a test session share one of each. Started as a program, this file keeps one until the session is over.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from missing_parts import missing

RUNTIMES = ("docker", "podman")
PACKAGES = {"docker": ("docker.io",), "podman": ("podman", "runc", "catatonit")}
IMAGE = "evalharness-test:busybox"
VOLUME = "/data"
START_S = 60.0
STOP_S = 30.0
BUSYBOX = "/bin/busybox"


@dataclass(frozen=True)
class TestRuntime:
    """A container runtime, and the environment in which its command line finds it. `pid` is that of its daemon."""

    __test__ = False

    name: str
    environment: Mapping[str, str]
    folder: Path
    pid: int = 0

    def call(self, *words: str, stdin: bytes = b"", check: bool = True) -> str:
        done = subprocess.run(
            [self.name, *words], input=stdin, capture_output=True, env={**os.environ, **self.environment}, check=False
        )
        assert not check or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def containers(self) -> list[str]:
        return self.call("ps", "-a", "--no-trunc", "--format", "{{.Names}}").split()

    def halves(self) -> list[str]:
        """What is left where podman is killed while it makes or removes a container. Listing them fails meanwhile."""
        if self.name != "podman":
            return []
        return self.call("ps", "-a", "--external", "--no-trunc", "--format", "{{.Names}}").split()

    def images(self) -> set[str]:
        return set(self.call("images", "-a", "--no-trunc", "--format", "{{.ID}}").split())

    def networks(self) -> set[str]:
        return set(self.call("network", "ls", "--format", "{{.Name}}").split())

    def image(self, name: str, scripts: Mapping[str, str] | None = None) -> None:
        """Make an image of busybox and these scripts, unless there is one by this name."""
        if not self.call("images", "--quiet", name).strip():
            self.call("import", "-", name, stdin=busybox_archive(scripts))

    def volumes(self) -> list[str]:
        return self.call("volume", "ls", "--format", "{{.Name}}").split()

    def mounts(self) -> list[str]:
        """Those of containers: file systems that are mounted below the folder of the runtime."""
        lines = Path("/proc/self/mounts").read_text().splitlines()
        places = [line.split()[1] for line in lines]
        return [place for place in places if place.startswith(f"{self.folder}/") and "overlay" in place]


@contextmanager
def shared(name: str, folder: Path) -> Iterator[TestRuntime]:
    """The runtime of this test session, for this test alone; `folder` is where all workers look for it."""
    about = folder / f"{name}.json"
    with (folder / f"{name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not about.exists():
            _keep_running(name, about)
        environment, place, pid = json.loads(about.read_text())
        runtime = TestRuntime(name, environment, Path(place), pid)
        try:
            yield runtime
        finally:
            if left := runtime.containers():  # of a test that failed
                runtime.call("rm", "--force", "--volumes", *left)


def _keep_running(name: str, about: Path) -> None:
    _check_installed(name)
    session = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    log = about.with_suffix(".log")
    with log.open("wb") as written:  # no child of this process, which may look after its children
        words = (sys.executable, __file__, name, str(about), str(session))
        subprocess.run(
            ["/bin/sh", "-c", 'setsid "$@" &', "sh", *words],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            check=True,
        )
    deadline = time.monotonic() + START_S
    while not about.exists():
        assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
        time.sleep(0.05)


def _check_installed(name: str) -> None:
    needed = {"docker": ("dockerd", "docker"), "podman": ("podman", "runc")}[name]
    if not all(map(shutil.which, needed)):
        missing(name, f"apt-get install {' '.join(PACKAGES[name])}")
    if not Path(BUSYBOX).exists():
        missing("busybox", "apt-get install busybox-static")
    if os.geteuid() != 0:
        missing(f"a root who can start {name}", "run the tests as root")


def keep(name: str, about: Path, session: int) -> None:
    """Run it as long as the test session's process is there."""
    with {"docker": running_docker, "podman": ready_podman}[name]() as runtime:
        written = about.with_suffix(".new")
        written.write_text(json.dumps([dict(runtime.environment), str(runtime.folder), runtime.pid]))
        written.rename(about)
        while Path(f"/proc/{session}").exists():
            time.sleep(0.2)


def set_environment(runtime: TestRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in runtime.environment.items():
        monkeypatch.setenv(name, value)


@contextmanager
def running_docker() -> Iterator[TestRuntime]:
    with folder_for("docker") as folder, docker_in(folder) as runtime:
        yield runtime


@contextmanager
def docker_in(folder: Path) -> Iterator[TestRuntime]:
    """One that is started in the folder of an earlier one goes on with what it had."""
    socket = folder / "docker.sock"
    words = ["dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/run", "-p", f"{folder}/pid"]
    words += ["-H", f"unix://{socket}", "--iptables=false", "--ip6tables=false", "--bridge=none"]
    log = folder / "dockerd.log"
    environment = {"DOCKER_HOST": f"unix://{socket}", "DOCKER_CONFIG": f"{folder}/config"}
    with log.open("wb") as written:
        daemon = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *words], stdout=written, stderr=written, start_new_session=True
        )
    runtime = TestRuntime("docker", environment, folder, daemon.pid)
    try:
        _wait_until_ready(runtime, daemon, log)
        if not runtime.call("images", "--quiet", IMAGE).strip():
            runtime.call("import", "--change", f"VOLUME {VOLUME}", "-", IMAGE, stdin=busybox_archive())
        yield runtime
    finally:
        _stop(daemon)


@contextmanager
def ready_podman() -> Iterator[TestRuntime]:
    with folder_for("podman") as folder:
        (folder / "containers.conf").write_text(
            '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
            f'tmp_dir = "{folder}/libpod"\n[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n'
            f'[network]\nnetwork_config_dir = "{folder}/networks"\n'
        )
        (folder / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/data"\nrunroot = "{folder}/run"\n'
        )
        runtime = TestRuntime(
            "podman",
            {
                "CONTAINERS_CONF": f"{folder}/containers.conf",
                "CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf",
                "DOCKER_HOST": f"unix://{folder}/none.sock",
            },
            folder,
        )
        runtime.call("import", "--change", f"VOLUME {VOLUME}", "-", IMAGE, stdin=busybox_archive())
        yield runtime


def busybox_archive(scripts: Mapping[str, str] | None = None) -> bytes:
    """A root file system: static busybox under the names of its programs, and executable scripts."""
    listed = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split()
    programs: dict[str, bytes | str | None] = {f"bin/{name}": "busybox" for name in listed}
    files = {"bin/busybox": Path(BUSYBOX).read_bytes(), "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n"}
    own = {name: text.encode() for name, text in (scripts or {}).items()}
    return archive_of({**dict.fromkeys(("bin", "etc", "tmp", "root", "proc", "sys")), **programs, **files, **own})


def archive_of(entries: Mapping[str, bytes | str | None]) -> bytes:
    """Executable files by their content, links by what they point to, and folders."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)
            entry.mode = 0o1777 if name == "tmp" else 0o755
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
            elif content is None:
                entry.type = tarfile.DIRTYPE
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content) if isinstance(content, bytes) else None)
    return written.getvalue()


@contextmanager
def folder_for(name: str) -> Iterator[Path]:
    """Short, since a socket's path has at most 107 characters; unmounted and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"eh-{name}-", dir="/tmp"))
    try:
        yield folder
    finally:
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            place = line.split()[1]
            if place.startswith(f"{folder}/"):
                subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(runtime: TestRuntime, daemon: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while not runtime.call("info", "--format", "{{.ServerVersion}}", check=False).strip():
        said = log.read_text(errors="replace")[-2000:]
        assert daemon.poll() is None and time.monotonic() < deadline, f"dockerd did not start: {said}"
        time.sleep(0.05)


def _stop(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(daemon.pid, signal.SIGKILL)
        daemon.wait()


if __name__ == "__main__":
    keep(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
