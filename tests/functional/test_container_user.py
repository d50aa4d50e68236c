"""A harness that is not root but may use docker's socket can read and remove what containers leave as root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from container_runtimes import IMAGE, TestRuntime, busybox_archive
from driving import clean_environment
from isolating import user_command

from evalharness.sandboxes.nobody import NOBODY

AGENT = """
id -u; mkdir -m 700 closed; echo deep >closed/file; chmod 600 closed/file; echo mine >own; chmod 600 own
cp given.txt copy; chown -R 5:5 .
"""
TARGET = {"container": {"image": IMAGE, "command": ["sh", "-c", AGENT], "input": "none"}}
LOOKED_AT: list[Any] = [
    {"contains": "0"},
    {"files": [{"path": "own", "contains": "mine"}, {"path": "closed/file", "contains": "deep"}, "copy"]},
    {"container_command": "cat /state/working_dir/closed/file && test $(id -u) = 0"},
    {"container_command": {"command": "cat own && mkdir closed/more && chown -R 6:6 .", "in": "end_state"}},
]


@pytest.fixture
def project(use_runtime: Callable[[str], TestRuntime]) -> Iterator[tuple[TestRuntime, Path]]:
    """A docker whose socket the user's group may use, and a folder that the user owns."""
    runtime = use_runtime("docker")
    socket = runtime.folder / "docker.sock"
    os.chown(socket, 0, NOBODY)
    socket.chmod(0o660)
    folder = Path(tempfile.mkdtemp(prefix="eh-user-", dir="/tmp"))
    (folder / "tmp").mkdir()
    try:
        yield runtime, folder
    finally:
        os.chown(socket, 0, 0)
        subprocess.run(["rm", "-rf", folder], check=True)


def run(project: tuple[TestRuntime, Path], suite: dict[str, Any], *words: str) -> dict[str, Any]:
    runtime, folder = project
    (folder / "suite.json").write_text(json.dumps({"name": "user", **suite}))
    for path in (folder, folder / "tmp", folder / "suite.json"):
        os.chown(path, NOBODY, NOBODY)
    own = {"TMPDIR": str(folder / "tmp"), "DOCKER_CONFIG": str(folder / "config")}
    command = [*user_command(folder, runtime.folder / "docker.sock"), sys.executable, "-m", "evalharness"]
    done = subprocess.run(
        [*command, "run", "suite.json", "--container-runtime", "docker", "--json", *words],
        cwd=folder,
        env=clean_environment(folder, {**runtime.environment, **own}),
        capture_output=True,
        check=False,
    )
    assert done.stdout, done.stderr.decode()
    report: dict[str, Any] = json.loads(done.stdout)["eval_report"]
    return report


def test_what_containers_leave_is_the_users(project: tuple[TestRuntime, Path]) -> None:
    case = {"id": "one", "input": "", "files": {"given.txt": "given"}, "graders": LOOKED_AT}
    report = run(project, {"target": TARGET, "test_cases": [case]})
    [trial] = report["trials"]
    assert trial["state"] == "passed", trial
    runtime, folder = project
    assert list((folder / "tmp").iterdir()) == []
    assert (runtime.containers(), runtime.volumes()) == ([], [])


def test_an_agent_of_another_user_and_its_end_state(project: tuple[TestRuntime, Path]) -> None:
    """Neither the harness nor root: its files are given to the harness, and in the end state they are its own again."""
    runtime, folder = project
    image = "evalharness-test:user-1000"
    if not runtime.call("images", "--quiet", image).strip():
        runtime.call("import", "--change", "USER 1000:1000", "-", image, stdin=busybox_archive())
    agent = "cat given.txt >made && chmod 600 made && mkdir -m 700 closed && echo deep >closed/file && id -u"
    agent += "; echo x >shut; chmod 000 shut; mkdir -m 000 locked"
    again = "test $(id -u) = 1000 && cat made closed/file && echo more >>made && rm -r closed && touch given.txt"
    looked_at: list[Any] = [
        {"contains": "1000"},
        {"files": [{"path": "made", "contains": "given"}, {"path": "closed/file", "contains": "deep"}]},
        {"container_command": "cat /state/working_dir/closed/file && test $(id -u) = 0"},
        {"container_command": {"command": again, "in": "end_state"}},
    ]
    target = {"container": {"image": image, "command": ["sh", "-c", agent], "input": "none"}}
    case = {"id": "one", "input": "", "files": {"given.txt": "given"}, "graders": looked_at}
    report = run(project, {"target": target, "test_cases": [case]})
    [trial] = report["trials"]
    assert trial["state"] == "passed", trial
    assert list((folder / "tmp").iterdir()) == []
    assert (runtime.containers(), runtime.volumes()) == ([], [])


def test_the_sandbox_is_the_user(project: tuple[TestRuntime, Path]) -> None:
    case = {"id": "one", "input": "x", "expected": "x", "setup": f"test $(id -u) = {NOBODY} && mkdir -p closed/deep"}
    report = run(project, {"target": "echo", "test_cases": [case]}, "--sandbox", "container")
    assert [trial["state"] for trial in report["trials"]] == ["passed"], report["trials"]
    runtime, folder = project
    assert list((folder / "tmp").iterdir()) == []
    assert runtime.containers() == []


def test_only_root_can_connect_a_container_of_docker_to_the_gateway(project: tuple[TestRuntime, Path]) -> None:
    case = {"id": "one", "input": "x", "expected": "x"}
    report = run(project, {"target": TARGET, "gateway": True, "test_cases": [case]})
    [trial] = report["trials"]
    assert trial["state"] == "error" and "only root may enter its network" in trial["reason"], trial
    runtime, folder = project
    assert list((folder / "tmp").iterdir()) == []
    assert runtime.containers() == []
