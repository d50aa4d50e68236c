"""Workspaces: made when asked for, gone when the trial or the run that left them behind goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalharness import Case
from evalharness.engine.planning.planned_cases import PlannedCase
from evalharness.engine.running.trial_task import TrialTask, remove_leftovers


def task(root: Path, run_id: str) -> TrialTask:
    case = Case(id="a", input="x", files={"notes/a.txt": "hello"})  # type: ignore[dict-item]
    return TrialTask(PlannedCase(case, (), [], timeout_s=1.0, retries=0), 0, 1, root, run_id)


def test_what_a_killed_process_left_of_a_run_is_removed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = task(tmp_path, "eval-1").workspace
    others = task(tmp_path, "eval-10").workspace
    assert (left / "notes" / "a.txt").read_text() == "hello"
    remove_leftovers("eval-1")
    assert not left.exists()
    assert (others / "notes" / "a.txt").exists()
