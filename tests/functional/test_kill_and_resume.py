"""kill -9 at any moment, then resume, many times: every planned trial is counted once and never run again.

The checker is outside of the harness, as in Jepsen. Targets append a line to their own log for each execution. The
store is read from a copy of its files with plain sqlite3. At the end the two histories must agree.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from driving import COMMAND, Started, clean_environment, start, wait_until

CASES, TRIALS = 100, 3
PLANNED = {(f"case-{number:03}", index) for number in range(CASES) for index in range(TRIALS)}
START_UP_S = 0.8
COMMIT_WINDOW_S = 0.04

AGENT = """
import asyncio, os, time

def acknowledge(context):
    line = f"{context.case.id} {context.index} {os.environ['GENERATION']} {os.getpid()}\\n"
    log = os.open(os.environ["ACK_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, line.encode())
    os.close(log)

async def answer_async(text, context):
    acknowledge(context)
    await asyncio.sleep(0.008)
    return "yes"

def answer_sync(text, context):
    acknowledge(context)
    time.sleep(0.008)
    return "yes"
"""
SHELL = "echo {case_id} {index} $GENERATION $$ >> $ACK_LOG; sleep 0.008; echo yes"
TARGETS = {"async": "agent.py:answer_async", "sync": "agent.py:answer_sync", "command": {"command": SHELL}}

Key = tuple[str, int]
Rows = dict[Key, tuple[Any, ...]]


@dataclass
class Figures:
    """What `pytest -m soak -s` prints."""

    kills: int = 0
    hits: int = 0
    amid_trials: int = 0
    runs: int = 0
    executions: int = 0
    executed_twice: int = 0
    run_again_though_committed: int = 0
    lost: int = 0

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in vars(self).items())


@dataclass
class Project:
    """A suite, its store and the targets' log in one folder; `generation` counts the processes started in it."""

    folder: Path
    target: Any
    generation: int = -1
    snapshots: list[Rows] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "tmp").mkdir(parents=True)
        (self.folder / "agent.py").write_text(AGENT)
        cases = [{"id": f"case-{number:03}", "input": "well?", "expected": "yes"} for number in range(CASES)]
        suite = {"name": "killed", "target": self.target, "trials": TRIALS, "test_cases": cases}
        (self.folder / "suite.json").write_text(json.dumps(suite))
        self.log.touch()

    @property
    def log(self) -> Path:
        return self.folder / "ack.log"

    @contextmanager
    def started(self, fresh: bool = False) -> Iterator[subprocess.Popen[bytes] | Started]:
        """`run` until a run is stored, then `resume`, as a user would type it."""
        words = ["resume"] if self.has_run() else ["run", "suite.json"]
        words += ["-j", "4", "--store", "store.db", "--json"]
        self.generation += 1
        env = {"ACK_LOG": str(self.log), "GENERATION": str(self.generation), "TMPDIR": str(self.folder / "tmp")}
        with self.output("out").open("wb") as out, self.output("err").open("wb") as err:
            if not fresh:
                with start(self.folder, *words, env=env, stdout=out.fileno(), stderr=err.fileno()) as process:
                    yield process
                return
            command = [*COMMAND, *words]
            env = clean_environment(self.folder, env)
            with subprocess.Popen(command, cwd=self.folder, env=env, stdout=out, stderr=err) as starting:
                yield starting

    def output(self, stream: str) -> Path:
        return self.folder / f"{self.generation}.{stream}"

    def has_run(self) -> bool:
        with self.database() as database:
            if database is None or not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone():
                return False
            return database.execute("SELECT 1 FROM runs").fetchone() is not None

    @contextmanager
    def database(self) -> Iterator[sqlite3.Connection | None]:
        """A copy of the files as the dead process left them; reading must not repair what `resume` has to handle."""
        scene = self.folder / "scene"
        shutil.rmtree(scene, ignore_errors=True)
        scene.mkdir()
        for name in ("store.db", "store.db-wal"):
            if (self.folder / name).exists():
                shutil.copy(self.folder / name, scene / name)
        if not (scene / "store.db").exists():
            yield None
            return
        connection = sqlite3.connect(scene / "store.db")
        try:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            yield connection
        finally:
            connection.close()

    def committed(self) -> Rows:
        if not self.has_run():
            return {}
        with self.database() as database:
            assert database is not None
            assert database.execute("SELECT COUNT(*) FROM runs").fetchone() == (1,)
            rows = database.execute(
                "SELECT case_id, idx, state, seed, attempts, duration_s, body FROM trials"
            ).fetchall()
        committed = {(row[0], row[1]): row[2:] for row in rows}
        assert len(committed) == len(rows), "a trial has two rows"
        return committed

    def executions(self) -> list[tuple[Key, int]]:
        """Key and generation, in the order of execution."""
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return [((case_id, int(index)), int(generation)) for case_id, index, generation, _ in lines]


def strike(project: Project, process: subprocess.Popen[bytes] | Started, rng: Random, during_start_up: bool) -> None:
    """kill -9 during start-up, or some executions later, anywhere in the window of a group commit."""
    if during_start_up:
        time.sleep(rng.uniform(0, START_UP_S))
    else:
        wanted = project.log.read_bytes().count(b"\n") + rng.randint(1, 50)
        wait_until(lambda: process.poll() is not None or project.log.read_bytes().count(b"\n") >= wanted)
        time.sleep(rng.uniform(0, COMMIT_WINDOW_S))
    process.kill()


def finish_a_run(project: Project, figures: Figures, hits: int, rng: Random) -> None:
    """Kills and resumes until the process ends by itself; no kills any more once `hits` of them were hits."""
    code = None
    while code != 0:
        armed = figures.hits < hits
        during_start_up = armed and figures.kills % 5 == 4
        with project.started(fresh=during_start_up) as process:
            if armed:
                strike(project, process, rng, during_start_up)
            wait_until(lambda: process.poll() is not None)
        code = process.poll()
        assert code in ((0, -signal.SIGKILL) if armed else (0,)), project.output("err").read_text()
        rows = project.committed()
        project.snapshots.append(rows)
        figures.kills += armed
        if code != 0 and len(rows) < len(PLANNED):
            figures.hits += 1
            figures.amid_trials += any(generation == project.generation for _, generation in project.executions())
    figures.runs += 1


def check(project: Project, figures: Figures) -> None:
    """Compares the two histories with each other and with the harness's final report."""
    final, executions = project.snapshots[-1], project.executions()
    times = Counter(key for key, _ in executions)
    again = [(key, at) for key, at in executions if any(key in rows for rows in project.snapshots[:at])]
    lost = [key for rows in project.snapshots for key, row in rows.items() if final.get(key) != row]
    figures.executions += len(executions)
    figures.executed_twice += sum(number > 1 for number in times.values())
    figures.run_again_though_committed += len(again)
    figures.lost += len(lost)

    assert final.keys() == PLANNED
    assert times.keys() == PLANNED
    assert not again, "committed trials were run again"
    assert not lost, "committed trials were lost or changed"
    assert max(Counter(executions).values()) == 1, "one process ran a trial twice"
    report = json.loads(project.output("out").read_text())["eval_report"]
    counts = report["summary"]["trials"]
    assert counts.pop("planned") == sum(counts.values()) == counts["passed"] == len(PLANNED)
    assert (report["verdict"], report["exit_code"]) == ("PASSED", 0)
    assert {(trial["case_id"], trial["index"]) for trial in report["trials"]} == PLANNED
    assert len(report["trials"]) == len(PLANNED)


def kill_and_resume(folder: Path, kind: str, hits: int, seed: int) -> Figures:
    """A kill that comes after the last trial proves nothing, so only hits count."""
    print(f"seed {seed}")  # pytest shows it when the test fails
    rng = Random(seed)
    figures = Figures()
    while figures.hits < hits:
        assert figures.kills < 3 * hits, "most kills must hit a run that is under way"
        project = Project(folder / f"run-{figures.runs}", TARGETS[kind])
        finish_a_run(project, figures, hits, rng)
        check(project, figures)
    print(f"{kind}: {figures}")
    return figures


@pytest.mark.parametrize(("kind", "hits"), [("async", 9), ("sync", 8), ("command", 8)])
def test_25_kills(tmp_path: Path, kind: str, hits: int) -> None:
    figures = kill_and_resume(tmp_path, kind, hits, seed=random.getrandbits(32))
    assert figures.amid_trials >= hits / 2


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("kind", "hits"), [("async", 70), ("sync", 65), ("command", 65)])
def test_200_kills(tmp_path: Path, kind: str, hits: int) -> None:
    kill_and_resume(tmp_path, kind, hits, seed=random.getrandbits(32))


def is_alive(pid: int) -> bool:
    """A zombie is dead: the harness is not responsible for reaping it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.usefixtures("proc")
def test_no_process_of_a_killed_run_survives(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", {"command": "echo {case_id} {index} 0 $$ >> $ACK_LOG; exec sleep 600"})
    pids: list[int] = []
    try:
        with project.started() as process:
            wait_until(lambda: project.log.read_bytes().count(b"\n") == 4)
            pids = [int(line.split()[3]) for line in project.log.read_text().splitlines()]
            assert all(is_alive(pid) for pid in pids)
            process.kill()
        wait_until(lambda: not any(is_alive(pid) for pid in pids))
    finally:
        for pid in pids:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)
