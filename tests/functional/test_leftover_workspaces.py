"""Workspaces that a killed process left behind: the next run removes these and no others."""

from __future__ import annotations

from pathlib import Path

from driving import drive, start, wait_until

WORKING = """
import os, time

def answer(question, context):
    (context.workspace / "big.txt").write_text("x")
    with open("places", "a") as places:
        places.write(f"{context.workspace}\\n")
    while os.path.exists(question):
        time.sleep(0.01)
    return "yes"
"""


def test_workspaces_of_a_killed_run_are_removed_by_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(WORKING)
    for name in ("killed", "living", "quick"):
        (tmp_path / f"{name}.yaml").write_text(f"name: {name}\ntest_cases: [{{id: a, input: {name}, expected: yes}}]\n")
    (tmp_path / "killed").touch()
    (tmp_path / "living").touch()
    folders = tmp_path / "folders"
    folders.mkdir()
    places = tmp_path / "places"

    def words(name: str) -> tuple[str, ...]:
        return ("run", f"{name}.yaml", "--target", "agent.py:answer", "--store", f"{name}.db")

    env = {"TMPDIR": str(folders)}
    with start(tmp_path, *words("killed"), env=env) as killed:
        wait_until(places.exists)
        killed.kill()
        assert killed.wait().code != 0
    with start(tmp_path, *words("living"), env=env) as living:
        wait_until(lambda: len(places.read_text().splitlines()) == 2)
        of_killed, of_living = map(Path, places.read_text().splitlines())
        assert not of_killed.exists()
        assert drive(tmp_path, *words("quick"), env=env).code == 0
        assert (of_living / "big.txt").exists()
        (tmp_path / "living").unlink()
        assert living.wait().code == 0
    assert list(folders.iterdir()) == []


def test_a_run_without_workspaces_does_not_look_for_those_of_others(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("name: plain\ntest_cases: [{id: a, input: x, expected: x}]\n")
    (tmp_path / "agent.py").write_text("def answer(question, context):\n    return context.workspace and 'x'\n")
    left = tmp_path / "folders" / "evalharness-eval-1-left"
    left.mkdir(parents=True)
    env = {"TMPDIR": str(left.parent)}
    assert drive(tmp_path, "run", "suite.yaml", "--target", "echo", env=env).code == 0
    assert left.exists()
    assert drive(tmp_path, "run", "suite.yaml", "--target", "agent.py:answer", env=env).code == 0
    assert not left.exists()


def test_resume_removes_them_although_no_trial_is_pending(tmp_path: Path) -> None:
    """The process was killed after its last trial, but before it had removed everything."""
    (tmp_path / "suite.yaml").write_text("name: plain\ntest_cases: [{id: a, input: x, expected: x}]\n")
    assert drive(tmp_path, "run", "suite.yaml", "--target", "echo").code == 0
    left = tmp_path / "folders" / "evalharness-eval-1-left"
    left.mkdir(parents=True)
    assert drive(tmp_path, "resume", env={"TMPDIR": str(left.parent)}).code == 0
    assert not left.exists()
