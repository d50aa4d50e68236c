"""podman without root: an ordinary user's agents reach their models, and nothing of theirs is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from container_runtimes import IMAGE, busybox_archive, folder_for
from driving import clean_environment, wait_until
from isolating import SOURCE
from missing_parts import missing
from replayed import model_server
from test_container_targets import SUITE

from evalharness.sandboxes.nobody import NOBODY

OTHER_IMAGE, USER_IMAGE = "evalharness-test:other", "evalharness-test:user-1000"
# In a mount namespace of its own, as podman's helpers must be able to gain rights: gives the user numbers for
# containers, and in place of closed folders only what leads to the paths that follow. $1 is a folder of this test.
AS_USER = """
set -e
place=$1; shift
mount --bind "$place/numbers" /etc/subuid; mount --bind "$place/numbers" /etc/subgid
number=0
while [ "$1" != -- ]; do
  closed[number]=$1; path[number]=$2; shift 2
  mkdir -p "$place/paths/$number"; mount --bind "${path[number]}" "$place/paths/$number"; number=$((number + 1))
done
shift
for each in "${closed[@]}"; do mountpoint -q "$each" && continue; mount -t tmpfs -o mode=755 tmpfs "$each"; done
for each in "${!path[@]}"; do mkdir -p "${path[each]}"; mount --bind "$place/paths/$each" "${path[each]}"; done
exec setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
"""


@dataclass(frozen=True)
class Rootless:
    folder: Path
    environment: Mapping[str, str]

    def start(self, *words: str, stdin: Path | None = None, **env: str) -> subprocess.Popen[bytes]:
        with (stdin or Path(os.devnull)).open("rb") as read:
            return subprocess.Popen(
                [
                    "unshare",
                    "--mount",
                    "bash",
                    "-c",
                    AS_USER,
                    "bash",
                    f"{self.folder}/own",
                    *closed_folders(),
                    "--",
                    *words,
                ],
                cwd=self.folder,
                env={**self.environment, **env},
                stdin=read,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )

    def harness(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        return self.start(sys.executable, "-m", "evalharness", *words, **env)

    def podman(self, *words: str, stdin: Path | None = None) -> str:
        return finished(self.start("podman", *words, stdin=stdin), 0)

    def left(self) -> list[str]:
        """Containers, halves of them, volumes, and temporary files."""
        halves = self.podman("ps", "--all", "--external", "--quiet").split()
        volumes = self.podman("volume", "ls", "--quiet").split()
        return [*halves, *volumes, *map(str, (self.folder / "tmp").iterdir())]


def finished(process: subprocess.Popen[bytes], code: int) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == code, out.decode() + err.decode()
    return out.decode()


def closed_folders() -> list[str]:
    """Of what the harness needs: the first folder that others may not enter, and the path, one pair after the other."""
    words = []
    for path in {SOURCE, Path(sys.prefix), Path(sys.base_prefix)}:
        closed = (folder for folder in reversed(path.parents) if not folder.stat().st_mode & stat.S_IXOTH)
        if first := next(closed, None):
            words += [str(first), str(path)]
    return words


@pytest.fixture(scope="module")
def rootless() -> Iterator[Rootless]:
    if shutil.which("podman") is None or shutil.which("newuidmap") is None:
        missing("podman for ordinary users", "apt-get install podman runc catatonit uidmap")
    if os.geteuid() != 0:
        missing("a root who can become another user", "run the tests as root")
    with folder_for("rootless") as folder:
        for name in ("home", "run", "tmp", "own"):
            (folder / name).mkdir()
        (folder / "own/numbers").write_text("nobody:100000:65536\n")
        (folder / "containers.conf").write_text(
            '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
            '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n'
        )
        (folder / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/data"\nrunroot = "{folder}/run/storage"\n'
        )
        for path in (folder, *folder.iterdir()):
            if path.name != "own":
                os.chown(path, NOBODY, NOBODY)
        own = {
            "HOME": f"{folder}/home",
            "XDG_RUNTIME_DIR": f"{folder}/run",
            "TMPDIR": f"{folder}/tmp",
            "CONTAINERS_CONF": f"{folder}/containers.conf",
            "CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf",
            "DOCKER_HOST": f"unix://{folder}/none.sock",
        }
        made = Rootless(folder, clean_environment(folder, own))
        (folder / "busybox.tar").write_bytes(busybox_archive())
        for image, change in ((IMAGE, "VOLUME /data"), (OTHER_IMAGE, "ENV A=b"), (USER_IMAGE, "USER 1000:1000")):
            made.podman("import", "--change", change, "-", image, stdin=folder / "busybox.tar")
        try:
            yield made
        finally:
            wait_until(lambda: not end_processes(folder))


def end_processes(folder: Path) -> int:
    """How many there were: the one that keeps the user's namespaces, and those that clean up late, making folders."""
    ended = 0
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={folder}/tmp\0".encode() in (place / "environ").read_bytes():
                os.kill(int(place.name), signal.SIGKILL)
                ended += 1
        except OSError:  # it has ended
            continue
    return ended


def limits_are_kept(rootless: Rootless) -> bool:
    controllers = json.loads(rootless.podman("info", "--format", "{{json .Host.CgroupControllers}}")) or []
    return {"memory", "pids"} <= set(controllers)


def write_suite(rootless: Rootless, suite: dict[str, Any]) -> None:
    (rootless.folder / "suite.json").write_text(json.dumps(suite))


def test_the_gateway_the_end_state_and_another_user(rootless: Rootless) -> None:
    good, _bad = SUITE["test_cases"]
    agent = "cat given.txt >made && chmod 600 made && mkdir -m 700 closed && echo deep >closed/file && id -u"
    again = "test $(id -u) = 1000 && cat made closed/file && echo more >>made"
    other = {
        "id": "other",
        "input": "",
        "files": {"given.txt": "given"},
        "target": {"container": {"image": USER_IMAGE, "command": ["sh", "-c", agent], "input": "none"}},
        "graders": [
            {"contains": "1000"},
            {"files": [{"path": "made", "contains": "given"}, {"path": "closed/file", "contains": "deep"}]},
            {"container_command": {"command": again, "in": "end_state"}},
        ],
    }
    write_suite(rootless, {**SUITE, "test_cases": [good, other]})
    with model_server() as server:
        process = rootless.harness("run", "suite.json", "--container-runtime", "podman", "--json", **server.environment)
        report = json.loads(finished(process, 0))["eval_report"]
    assert {trial["case_id"]: trial["state"] for trial in report["trials"]} == {"good": "passed", "other": "passed"}
    assert len(server.requests) == 1, "through the gateway"
    said = "podman cannot limit the memory" in str(report["notes"])
    assert said != limits_are_kept(rootless)
    assert rootless.left() == []


def test_untrusted_code_is_not_run_without_limits(rootless: Rootless) -> None:
    case = {"id": "a", "input": "x", "expected": "x", "setup": f"test $(id -u) = {NOBODY}"}
    write_suite(rootless, {"name": "s", "target": "echo", "test_cases": [case]})
    words = ("run", "suite.json", "--sandbox", "container", "--container-runtime", "podman", "--json")
    kept = limits_are_kept(rootless)
    printed = finished(rootless.harness(*words), 0 if kept else 3)
    assert kept or "podman cannot limit the memory and processes" in printed, printed
    assert rootless.left() == []


def test_a_killed_harness_leaves_nothing(rootless: Rootless) -> None:
    target = {"image": IMAGE, "command": ["sh", "-c", "sleep $PAUSE_S; cat"], "pass_env": ["PAUSE_S"]}
    cases = [{"id": f"c{number}", "input": "yes", "expected": "yes"} for number in range(2)]
    write_suite(rootless, {"name": "killed", "target": {"container": target}, "test_cases": cases})
    process = rootless.harness("run", "suite.json", "--container-runtime", "podman", "-j", "2", PAUSE_S="600")
    wait_until(lambda: len(rootless.podman("ps", "--quiet").split()) == 2)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: rootless.podman("ps", "--all", "--quiet") == "")
    printed = finished(rootless.harness("resume", "--json", PAUSE_S="0"), 0)
    assert [trial["state"] for trial in json.loads(printed)["eval_report"]["trials"]] == ["passed", "passed"]
    assert rootless.left() == []
