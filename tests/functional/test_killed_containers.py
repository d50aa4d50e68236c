"""kill -9 of the harness at random moments, and daemons that stop: trials count once, and nothing is left."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from container_runtimes import IMAGE, TestRuntime, docker_in, folder_for, set_environment
from driving import COMMAND, clean_environment, drive, wait_until
from test_docker_agent_target import AGENT_IMAGE, make_project, session

CASES, TRIALS = 3, 2
KILLS = 100
SLEEPS = {"container": {"image": IMAGE, "command": ["sh", "-c", "echo begun >&2; sleep 0.3; cat"]}}


def project_in(folder: Path, runtime: TestRuntime, target: object = SLEEPS) -> dict[str, str]:
    """The environment of its commands; temporary files are made below the folder."""
    cases = [{"id": f"case-{number}", "input": "yes", "expected": "yes"} for number in range(CASES)]
    suite = {"name": "killed", "target": target, "trials": TRIALS, "test_cases": cases, "gateway": True}
    (folder / "suite.json").write_text(json.dumps(suite))
    (folder / "tmp").mkdir()
    return clean_environment(folder, {**runtime.environment, "TMPDIR": str(folder / "tmp")})


def words_for(folder: Path, runtime: TestRuntime) -> list[str]:
    has_run = (folder / "store.db").exists() and rows_of(folder, "SELECT COUNT(*) FROM runs")[0][0]
    flags = ["--store", "store.db", "-j", "2"]
    return ["resume", *flags] if has_run else ["run", "suite.json", *flags, "--container-runtime", runtime.name]


def rows_of(folder: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(f"file:{folder}/store.db?mode=ro", uri=True)
    try:
        return connection.execute(sql).fetchall()
    except sqlite3.OperationalError:  # its tables are not made yet
        return [(0,)]
    finally:
        connection.close()


def kill_and_resume(folder: Path, runtime: TestRuntime, kills: int, rng: random.Random) -> int:
    """How often it was killed: a harness that has finished by itself cannot be."""
    killed = 0
    images, networks = runtime.images(), runtime.networks()
    env = project_in(folder, runtime)
    for _ in range(kills):
        with (folder / "out").open("wb") as out:
            harness = subprocess.Popen(
                [*COMMAND, *words_for(folder, runtime)], cwd=folder, env=env, stdout=out, stderr=out
            )
        wait_until(lambda: bool(runtime.containers()) or harness.poll() is not None)  # noqa: B023 - called at once
        time.sleep(rng.uniform(0, 1.5))
        killed += harness.poll() is None
        harness.kill()
        harness.wait()
        wait_until(lambda: runtime.containers() == [])
    done = subprocess.run(
        [*COMMAND, *words_for(folder, runtime), "--json"], cwd=folder, env=env, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    counted = rows_of(folder, "SELECT case_id, idx, state FROM trials ORDER BY case_id, idx")
    assert counted == [(f"case-{case}", index, "passed") for case in range(CASES) for index in range(TRIALS)]
    assert (runtime.containers(), runtime.halves()) == ([], [])
    assert (runtime.images(), runtime.networks()) == (images, networks)
    assert runtime.volumes() == []
    wait_until(lambda: runtime.mounts() == [])
    assert list((folder / "tmp").iterdir()) == []
    wait_until(lambda: processes_of(folder) == [])
    return killed


def test_kills_while_images_are_made(container_runtime: TestRuntime, tmp_path: Path) -> None:
    runtime, rng = container_runtime, random.Random(25)
    make_project(runtime, tmp_path, {"count": session("How many?", working_dir="two")})
    (tmp_path / "tmp").mkdir()
    env = clean_environment(tmp_path, {**runtime.environment, "TMPDIR": str(tmp_path / "tmp")})
    images = ("--base-image", IMAGE, "--agent-image", AGENT_IMAGE, "--pull", "never")
    words = [*COMMAND, "docker-agent", "agent.yaml", "--container-runtime", runtime.name, *images]
    for number in range(3):
        (tmp_path / "evals/working_dirs/two/a.txt").write_text(f"{tmp_path} {number}")  # so another image is needed
        harness = subprocess.Popen(words, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: any((tmp_path / "tmp").iterdir()) or harness.poll() is not None)  # noqa: B023 - as above
        time.sleep(rng.uniform(0, 0.5))
        harness.kill()
        harness.wait()
    wait_until(lambda: processes_of(tmp_path) == [])
    assert (runtime.containers(), runtime.halves(), runtime.volumes()) == ([], [], [])
    done = subprocess.run([*words, "--json"], cwd=tmp_path, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert list((tmp_path / "tmp").iterdir()) == []


def processes_of(folder: Path) -> list[str]:
    """Everything that a harness of this project started has its temporary folder in its environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={folder}/tmp\0".encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_text().replace("\0", " "))
        except OSError:  # it has ended
            continue
    return found


def test_random_kills(container_runtime: TestRuntime, tmp_path: Path) -> None:
    kills = {"docker": 3, "podman": 2}
    assert kill_and_resume(tmp_path, container_runtime, kills[container_runtime.name], random.Random(25))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_random_kills(container_runtime: TestRuntime, tmp_path_factory: pytest.TempPathFactory) -> None:
    killed = rounds = 0
    while killed < KILLS and rounds < KILLS:
        folder = tmp_path_factory.mktemp(f"soak-{rounds}")
        killed += kill_and_resume(folder, container_runtime, 5, random.Random(rounds))
        rounds += 1
        print(f"{container_runtime.name}: killed {killed} times in {rounds} runs, nothing lost, nothing left")
    assert killed >= KILLS


def test_what_a_machine_that_died_left_is_removed_by_the_next_run(
    use_runtime: Callable[[str], TestRuntime], tmp_path: Path
) -> None:
    """Its watcher died, too: nobody removes the containers until something of this store runs again."""
    runtime = use_runtime("docker")
    env = project_in(tmp_path, runtime, {"container": {"image": IMAGE, "command": ["sh", "-c", "sleep 600"]}})
    harness = subprocess.Popen(
        [*COMMAND, *words_for(tmp_path, runtime)], cwd=tmp_path, env=env, stdout=subprocess.DEVNULL
    )
    wait_until(lambda: len(runtime.containers()) == 2)
    for pid in watchers_of(harness.pid):
        os.kill(pid, signal.SIGKILL)
    os.kill(harness.pid, signal.SIGKILL)
    harness.wait()
    left = runtime.containers()
    assert len(left) == 2
    (tmp_path / "suite.json").write_text(json.dumps({"name": "other", "target": SLEEPS, "test_cases": [
        {"id": "one", "input": "yes", "expected": "yes"}]}))  # fmt: skip
    flags = ("--store", "store.db", "--container-runtime", runtime.name)
    done = drive(tmp_path, "run", "suite.json", *flags, env=dict(runtime.environment))
    assert done.code == 0, done.both
    assert runtime.containers() == []


def watchers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"container_watcher" in Path(f"/proc/{child}/cmdline").read_bytes()]


def test_a_daemon_that_stops_is_no_failure_of_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = {"image": IMAGE, "command": ["sh", "-c", "sleep $PAUSE_S; cat"], "pass_env": ["PAUSE_S"]}
    with folder_for("docker") as folder:
        with docker_in(folder) as runtime:
            set_environment(runtime, monkeypatch)
            env = project_in(tmp_path, runtime, {"container": target})
            words = [*COMMAND, *words_for(tmp_path, runtime)]
            harness = subprocess.Popen(words, cwd=tmp_path, env={**env, "PAUSE_S": "600"}, stdout=subprocess.DEVNULL)
            is_begun: Callable[[], bool] = lambda: len(runtime.call("ps", "-q").split()) == 2  # noqa: E731
            wait_until(is_begun)
            os.kill(runtime.pid, signal.SIGTERM)
            assert harness.wait(100) == 3
        assert rows_of(tmp_path, "SELECT DISTINCT state FROM trials") == [("error",)]
        with docker_in(folder) as runtime:
            words = [*COMMAND, *words_for(tmp_path, runtime)]
            resumed = subprocess.run(words, cwd=tmp_path, env={**env, "PAUSE_S": "0"}, capture_output=True, check=False)
            assert resumed.returncode == 0, resumed.stdout.decode() + resumed.stderr.decode()
            assert runtime.containers() == []
    assert rows_of(tmp_path, "SELECT state, COUNT(*) FROM trials GROUP BY state") == [("passed", CASES * TRIALS)]
