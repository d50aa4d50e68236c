"""Ctrl-C, SIGTERM and SIGHUP from a user's view: finished trials are kept, and no process is left behind."""

from __future__ import annotations

import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from driving import COMMAND, clean_environment, wait_until
from held_project import Project, interrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_after_ctrl_c_nothing_is_lost_and_the_way_on_is_named(tmp_path: Path, number: signal.Signals) -> None:
    project = Project(tmp_path)
    stopped = interrupted(project, number)
    [name] = project.run_names()
    assert stopped.code == 130, stopped.err
    assert f"eval-harness resume {name}" in stopped.out
    assert "1 of 5 trials not run yet" in stopped.out
    resumed = project.call("resume", name)
    assert resumed.code == 0, resumed.err
    assert "PASSED   5 passed" in resumed.out
    assert Counter(project.executed()) == {"q0": 1, "q1": 1, "q2": 1, "q3": 1, "q4": 2}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("target", ["agent.py:answer", "agent.py:sync"])
def test_one_interrupt_is_enough_for_a_target_that_waits(tmp_path: Path, target: str, number: signal.Signals) -> None:
    project = Project(tmp_path, target=target)
    project.hold()
    with project.started("run", "suite.json", "-j", "2") as process:
        wait_until(lambda: len(project.executed()) == 2)
        process.send_signal(number)
        done = process.wait()
    assert done.code == 130
    assert "5 pending" in done.out


@pytest.mark.usefixtures("proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_command_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    project = Project(tmp_path, target={"command": "sleep 600 & setsid sleep 600 & sleep 600"})
    with project.started("run", "suite.json", "-j", "2") as process:
        wait_until(lambda: len(descendants(process.pid)) >= 8)
        family = descendants(process.pid)
        process.send_signal(number)
        assert process.wait().code == 130
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []


@pytest.mark.usefixtures("proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("target", ["agent.py:reluctant", "agent.py:blocking"])
def test_a_second_interrupt_ends_what_outlives_the_first(tmp_path: Path, target: str, number: signal.Signals) -> None:
    project = Project(tmp_path, target=target)
    with project.started("run", "suite.json", "-j", "1") as process:
        wait_until(lambda: len(project.executed()) == 1)
        process.send_signal(number)
        if target.endswith("reluctant"):
            wait_until(lambda: "tidying up" in project.executed())
        else:
            wait_until(lambda: not is_pending(number, process.pid))  # two pending signals would count as one
            time.sleep(0.5)  # there is no way to see what Python does about it
        assert process.poll() is None
        process.send_signal(number)
        done = process.wait()
    assert (done.code, "pending" in done.out) == (130, False), "it exits at once, without a report"
    assert "finished trials are kept" in done.err
    assert len(project.run_names()) == 1
    assert project.rows() == []


def is_pending(number: signal.Signals, pid: int) -> bool:
    """Whether a signal was sent and not handled yet."""
    status = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return bool((int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)) >> (number - 1) & 1)


def descendants(pid: int) -> list[int]:
    """Without `pid` itself; a process that ends meanwhile has no children."""
    found = [pid]
    for parent in found:
        found += children_of(parent)
    return found[1:]


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def test_a_run_started_with_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.hold()
    words = (*COMMAND, "run", "suite.json", "--store", "store.db")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    environment = clean_environment(tmp_path)
    with subprocess.Popen(("nohup", *words), cwd=tmp_path, env=environment, text=True, **streams) as process:
        wait_until(lambda: len(project.executed()) == 5)
        process.send_signal(signal.SIGHUP)
        (tmp_path / "hold").unlink()
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "PASSED   5 passed" in said
