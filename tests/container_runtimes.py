"""Real dockerd and podman for tests, each in a temporary folder of its own, and an image that needs no registry.

dockerd listens on a socket in that folder and makes no bridge, no firewall rules and no forwarding: such networks need
rights that a test machine may not have. What needs one is not tested here.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from missing_parts import missing

RUNTIMES = ("docker", "podman")
IMAGE = "evalharness-test:busybox"
START_S = 60.0
STOP_S = 30.0
BUSYBOX = "/bin/busybox"


@dataclass(frozen=True)
class TestRuntime:
    """A container runtime, and the environment in which its command line finds it."""

    __test__ = False

    name: str
    environment: Mapping[str, str]
    folder: Path
    pids: list[int] = field(default_factory=list)

    def call(self, *words: str, stdin: bytes = b"", check: bool = True) -> str:
        done = subprocess.run(
            [self.name, *words], input=stdin, capture_output=True, env={**os.environ, **self.environment}, check=False
        )
        assert not check or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def containers(self) -> list[str]:
        return self.call("ps", "-a", "--no-trunc", "--format", "{{.Names}}").split()

    def images(self) -> set[str]:
        return set(self.call("images", "-a", "--no-trunc", "--format", "{{.ID}}").split())

    def networks(self) -> set[str]:
        return set(self.call("network", "ls", "--format", "{{.Name}}").split())

    def volumes(self) -> list[str]:
        return self.call("volume", "ls", "--format", "{{.Name}}").split()

    def mounts(self) -> list[str]:
        """Those of containers: file systems that are mounted below the folder of the runtime."""
        lines = Path("/proc/self/mounts").read_text().splitlines()
        places = [line.split()[1] for line in lines]
        return [place for place in places if place.startswith(f"{self.folder}/") and "overlay" in place]


def set_environment(runtime: TestRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in runtime.environment.items():
        monkeypatch.setenv(name, value)


@contextmanager
def running_docker() -> Iterator[TestRuntime]:
    if shutil.which("dockerd") is None or shutil.which("docker") is None:
        missing("docker", "apt-get install docker.io")
    if os.geteuid() != 0:
        missing("a root who can start dockerd", "run the tests as root")
    with _folder("docker") as folder:
        socket = folder / "docker.sock"
        words = ["dockerd", "--data-root", f"{folder}/data", "--exec-root", f"{folder}/run", "-p", f"{folder}/pid"]
        words += ["-H", f"unix://{socket}", "--iptables=false", "--ip6tables=false", "--bridge=none"]
        log = folder / "dockerd.log"
        environment = {"DOCKER_HOST": f"unix://{socket}", "DOCKER_CONFIG": f"{folder}/config"}
        with log.open("wb") as written:
            daemon = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *words], stdout=written, stderr=written, start_new_session=True
            )
        runtime = TestRuntime("docker", environment, folder, [daemon.pid])
        try:
            _wait_until_ready(runtime, daemon, log)
            runtime.call("import", "-", IMAGE, stdin=busybox_archive())
            yield runtime
        finally:
            _stop(daemon)


@contextmanager
def ready_podman() -> Iterator[TestRuntime]:
    if shutil.which("podman") is None or shutil.which("runc") is None:
        missing("podman", "apt-get install podman runc catatonit")
    if os.geteuid() != 0:
        missing("a root who can run podman", "run the tests as root")
    with _folder("podman") as folder:
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
        runtime.call("import", "-", IMAGE, stdin=busybox_archive())
        yield runtime


def busybox_archive(extra: Mapping[str, str] | None = None) -> bytes:
    """A root file system: static busybox under the names of its programs, and executable scripts."""
    if not Path(BUSYBOX).exists():
        missing("busybox", "apt-get install busybox-static")
    listed = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split()
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name in ("bin", "etc", "tmp", "root", "proc", "dev", "sys", "run"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
            archive.addfile(folder)
        _add(archive, "bin/busybox", Path(BUSYBOX).read_bytes(), 0o755)
        for name in listed:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            if name != "busybox":
                archive.addfile(link)
        _add(archive, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n", 0o644)
        for name, text in (extra or {}).items():
            _add(archive, name, text.encode(), 0o755)
    return written.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


@contextmanager
def _folder(name: str) -> Iterator[Path]:
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
