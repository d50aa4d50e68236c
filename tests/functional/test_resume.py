"""`eval-harness resume` as a user meets it: after Ctrl-C, beside a living run, after edits, after errors."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

LONGEST_WAIT_S = 60.0

# Each execution leaves a line in `log`; what `hold` names waits for as long as the file is there.
AGENT = """
import asyncio, os, time
from pathlib import Path
from evalharness import TargetUnavailable

def note(text):
    with open("log", "a") as log:
        log.write(f"{text}\\n")

async def answer(text):
    note(text)
    while os.path.exists("hold") and Path("hold").read_text() in ("", text):
        await asyncio.sleep(0.01)
    return "yes"

async def other(text):
    note(f"other {text}")
    while os.path.exists("hold-other"):
        await asyncio.sleep(0.01)
    return "yes"

def sync(text):
    note(text)
    while os.path.exists("hold"):
        time.sleep(0.01)
    return "yes"

def unsteady(text):
    note(text)
    if os.path.exists("broken") and text == "q2":
        raise TargetUnavailable("the line is down")
    return "yes"

async def reluctant(text):
    note(text)
    try:
        await asyncio.sleep(600)
    finally:
        note("tidying up")
        await asyncio.sleep(600)

async def blocking(text):
    note(text)
    time.sleep(600)

def wrong(text):
    note(text)
    return "no"
"""
GRADER = "def judged(context):\n    return context.text == 'yes'\n"


class Project:
    """A folder with a suite of five cases, an agent and a grader; commands are run in it as processes."""

    def __init__(self, folder: Path, **suite: Any) -> None:
        self.folder = folder
        (folder / "agent.py").write_text(AGENT)
        (folder / "grader.py").write_text(GRADER)
        cases = [{"id": f"case-{n}", "input": f"q{n}", "graders": ["grader.py:judged"]} for n in range(5)]
        written = {"name": "five", "target": "agent.py:answer", "test_cases": cases, "config": {"retries": 0}, **suite}
        (folder / "suite.json").write_text(json.dumps(written))

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "evalharness", *words, "--store", "store.db"]

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), cwd=self.folder, capture_output=True, text=True, timeout=LONGEST_WAIT_S, check=False
        )

    @contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            self.command(*words), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def executed(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []

    def rows(self) -> list[tuple[Any, ...]]:
        """Run, case, index, state, attempts of every committed trial."""
        connection = sqlite3.connect(f"file:{self.folder / 'store.db'}?mode=ro", uri=True, timeout=10)
        try:
            return connection.execute(
                "SELECT run_seq, case_id, idx, state, attempts FROM trials ORDER BY 1, 2, 3"
            ).fetchall()
        finally:
            connection.close()

    def run_names(self) -> list[str]:
        connection = sqlite3.connect(f"file:{self.folder / 'store.db'}?mode=ro", uri=True, timeout=10)
        try:
            return [name for (name,) in connection.execute("SELECT name FROM runs ORDER BY seq")]
        finally:
            connection.close()

    def hold(self, text: str = "", file: str = "hold") -> None:
        (self.folder / file).write_text(text)

    def let_go(self, file: str = "hold") -> None:
        (self.folder / file).unlink()


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not happened():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)


def counts(document: str) -> dict[str, int]:
    found: dict[str, int] = json.loads(document)["eval_report"]["summary"]["trials"]
    return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def interrupted(project: Project, number: signal.Signals = signal.SIGINT, held: str = "q4") -> tuple[int, str, str]:
    """A run of which four trials are committed when the signal comes; the fifth is under way."""
    project.hold(held)
    with project.started("run", "suite.json", "-j", "2") as process:
        wait_until(lambda: len(project.executed()) == 5 and len(project.rows()) == 4)
        process.send_signal(number)
        out, err = process.communicate(timeout=LONGEST_WAIT_S)
    project.let_go()
    return process.returncode, out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_after_ctrl_c_nothing_is_lost_and_the_way_on_is_named(project: Project, number: signal.Signals) -> None:
    code, out, err = interrupted(project, number)
    [name] = project.run_names()
    assert code == 130, err
    assert f"eval-harness resume {name}" in out
    assert "5 planned = 4 passed + 1 pending" in out
    resumed = project.call("resume", name)
    assert resumed.returncode == 0, resumed.stderr
    assert "5 planned = 5 passed" in resumed.stdout
    assert Counter(project.executed()) == {"q0": 1, "q1": 1, "q2": 1, "q3": 1, "q4": 2}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("target", ["agent.py:answer", "agent.py:sync"])
def test_one_interrupt_is_enough_for_a_target_that_waits(tmp_path: Path, target: str, number: signal.Signals) -> None:
    project = Project(tmp_path, target=target)
    project.hold()
    with project.started("run", "suite.json", "-j", "2") as process:
        wait_until(lambda: len(project.executed()) == 2)
        process.send_signal(number)
        out, _ = process.communicate(timeout=LONGEST_WAIT_S)
    assert process.returncode == 130
    assert "5 planned = 5 pending" in out


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    project = Project(tmp_path, target={"command": "sleep 600 & setsid sleep 600 & sleep 600"})
    with project.started("run", "suite.json", "-j", "2") as process:
        wait_until(lambda: len(descendants(process.pid)) >= 8)
        family = descendants(process.pid)
        process.send_signal(number)
        process.communicate(timeout=LONGEST_WAIT_S)
    assert process.returncode == 130
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("target", ["agent.py:reluctant", "agent.py:blocking"])
def test_a_second_interrupt_ends_what_outlives_the_first(tmp_path: Path, target: str, number: signal.Signals) -> None:
    project = Project(tmp_path, target=target)
    with project.started("run", "suite.json", "-j", "1") as process:
        wait_until(lambda: len(project.executed()) == 1)
        process.send_signal(number)
        if target.endswith("reluctant"):
            wait_until(lambda: "tidying up" in project.executed())
        else:
            time.sleep(0.5)  # nothing can be seen of a signal that waits; two at once would count as one
        assert process.poll() is None
        process.send_signal(number)
        process.communicate(timeout=LONGEST_WAIT_S)
    assert process.returncode == 130
    assert len(project.run_names()) == 1
    assert project.rows() == []


def descendants(pid: int) -> list[int]:
    """Without `pid` itself; a process that ends while it is looked at has no children."""
    found = [pid]
    for parent in found:
        found += children_of(parent)
    return found[1:]


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def test_a_living_run_is_not_resumed(project: Project) -> None:
    project.hold("q4")
    with project.started("run", "suite.json", "-j", "2", "--json") as process:
        wait_until(lambda: len(project.executed()) == 5 and len(project.rows()) == 4)
        refused = project.call("resume")
        assert refused.returncode == 2
        assert f"run {project.run_names()[0]} is being run by another process" in refused.stderr
        assert process.poll() is None
        project.let_go()
        out, err = process.communicate(timeout=LONGEST_WAIT_S)
    assert process.returncode == 0, err
    assert counts(out)["passed"] == 5
    assert len(project.executed()) == 5
    assert project.call("resume").returncode == 0


def test_a_second_resume_is_refused_while_the_first_goes_on(project: Project) -> None:
    interrupted(project)
    project.hold()
    with project.started("resume", "--json") as first:
        wait_until(lambda: len(project.executed()) == 6)
        assert project.call("resume").returncode == 2
        project.let_go()
        out, err = first.communicate(timeout=LONGEST_WAIT_S)
    assert first.returncode == 0, err
    assert counts(out)["passed"] == 5
    again = project.call("resume")
    assert again.returncode == 0
    assert len(project.executed()) == 6


@pytest.mark.parametrize(("target", "code"), [("agent.py:answer", 0), ("agent.py:wrong", 1)])
def test_a_finished_run_says_its_verdict_again_and_runs_nothing(tmp_path: Path, target: str, code: int) -> None:
    project = Project(tmp_path, target=target)
    first = project.call("run", "suite.json", "--json")
    again = project.call("resume", "--json")
    assert (first.returncode, again.returncode) == (code, code)
    assert json.loads(again.stdout) == json.loads(first.stdout)
    assert len(project.executed()) == 5


def test_a_run_killed_between_its_last_trial_and_its_report_is_finished_by_resume(project: Project) -> None:
    """The store still says "interrupted", from the time before the resume that was killed."""
    interrupted(project)
    project.call("resume")
    connection = sqlite3.connect(project.folder / "store.db")
    with connection:
        connection.execute("UPDATE runs SET stopped = 'interrupted', report = NULL, finished_at = NULL")
    connection.close()
    resumed = project.call("resume")
    assert resumed.returncode == 0, resumed.stdout
    assert "PASSED" in resumed.stdout
    assert len(project.executed()) == 6
    connection = sqlite3.connect(project.folder / "store.db")
    assert connection.execute("SELECT finished_at IS NOT NULL, report IS NOT NULL FROM runs").fetchall() == [(1, 1)]
    connection.close()


def test_two_targets_killed_in_the_middle_are_resumed_as_a_whole(project: Project) -> None:
    project.hold("q4")
    project.hold(file="hold-other")
    words = ("run", "suite.json", "--target", "agent.py:answer", "--target", "agent.py:other", "-j", "2")
    with project.started(*words) as process:
        wait_until(lambda: len(project.executed()) == 5 and len(project.rows()) == 4)
        process.kill()
    project.let_go()
    project.let_go("hold-other")
    resumed = project.call("resume", project.run_names()[0], "--json")
    assert resumed.returncode == 0, resumed.stderr
    reports = json.loads(resumed.stdout)["eval_reports"]
    assert [report["summary"]["trials"]["passed"] for report in reports] == [5, 5]
    assert [report["metadata"]["variant"] for report in reports] == ["agent.py:answer", "agent.py:other"]
    assert Counter(project.executed()) == {
        **{f"q{n}": 1 for n in range(4)},
        "q4": 2,
        **{f"other q{n}": 1 for n in range(5)},
    }


@pytest.mark.parametrize(
    ("file", "named"), [("agent.py", "the target"), ("grader.py", "the graders of case-0, case-1, case-2 …")]
)
def test_edited_code_is_not_mixed_with_what_ran_before(project: Project, file: str, named: str) -> None:
    interrupted(project)
    path = project.folder / file
    before = path.read_text()
    path.write_text(before + "\n# edited\n")
    refused = project.call("resume")
    assert refused.returncode == 2
    assert f"{named} changed since it began" in refused.stderr
    assert len(project.executed()) == 5
    path.write_text(before)
    assert project.call("resume").returncode == 0


def test_errors_are_tried_again_and_their_attempts_kept(tmp_path: Path) -> None:
    project = Project(tmp_path, target="agent.py:unsteady")
    (tmp_path / "broken").touch()
    first = project.call("run", "suite.json")
    assert first.returncode == 3
    assert "INVALID" in first.stdout
    assert project.call("resume").returncode == 3
    (tmp_path / "broken").unlink()
    mended = project.call("resume", "--json")
    assert mended.returncode == 0, mended.stderr
    assert counts(mended.stdout)["passed"] == 5
    assert [row[3:] for row in project.rows()] == [("passed", 1), ("passed", 1), ("passed", 3), *[("passed", 1)] * 2]
    assert Counter(project.executed()) == {"q0": 1, "q1": 1, "q2": 3, "q3": 1, "q4": 1}


def test_secrets_are_asked_for_again(tmp_path: Path) -> None:
    secret = "correct-horse-battery"
    project = Project(tmp_path, vars={"colour": "red"})
    suite = json.loads((tmp_path / "suite.json").read_text())
    suite["test_cases"][0]["input"] = "{{api_token}} {{place}}"
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    project.hold("q4")
    given = ("--var", f"api_token={secret}", "--var", "place=Paris")
    with project.started("run", "suite.json", "-j", "2", *given) as process:
        wait_until(lambda: len(project.executed()) == 5 and len(project.rows()) == 4)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LONGEST_WAIT_S)
    project.let_go()
    assert project.executed()[0] == f"{secret} Paris"
    for path in tmp_path.glob("store.db*"):
        assert secret.encode() not in path.read_bytes()
    refused = project.call("resume")
    assert refused.returncode == 2
    assert "--var api_token=" in refused.stderr
    assert "place" not in refused.stderr
    assert len(project.executed()) == 5
    resumed = project.call("resume", "--var", f"api_token={secret}")
    assert resumed.returncode == 0, resumed.stderr
    assert project.executed()[-1] == "q4"
