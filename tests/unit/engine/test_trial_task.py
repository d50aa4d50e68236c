"""Workspaces: created on request, and removed with their trial or by the next run."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest

from evalharness import Case
from evalharness.engine.planning.planned_cases import PlannedCase
from evalharness.engine.running.trial_task import TrialTask
from evalharness.workspaces import remove_leftovers


def task(root: Path, run_id: str) -> TrialTask:
    case = Case(id="a", input="x", files={"notes/a.txt": "hello"})  # type: ignore[dict-item]
    return TrialTask(PlannedCase(case, (), [], timeout_s=1.0, retries=0), 0, 1, root, run_id)


def test_only_workspaces_without_a_lock_are_removed(temporary: Path) -> None:
    (temporary / "evalharness-eval-1-left" / "notes").mkdir(parents=True)
    (temporary / "evalharness-other").mkdir()
    (temporary / "target").mkdir()
    (temporary / "evalharness-eval-1-link").symlink_to("target")
    in_use = task(temporary, "eval-10")
    remove_leftovers()
    left = {path.name for path in temporary.iterdir()} - {in_use.workspace.name}
    assert left == {"evalharness-other", "evalharness-eval-1-link", "target"}
    assert (in_use.workspace / "notes" / "a.txt").read_text() == "hello"
    asyncio.run(in_use.end())
    assert not list(temporary.glob("evalharness-eval-10-*"))


def test_a_workspace_that_another_process_takes_for_a_leftover_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = tempfile.mkdtemp

    def removed_at_first(prefix: str) -> str:
        made.append(make(prefix=prefix))
        if len(made) == 1:
            Path(made[0]).rmdir()
        return made[-1]

    monkeypatch.setattr("tempfile.mkdtemp", removed_at_first)
    in_use = task(temporary, "eval-10")
    assert (in_use.workspace / "notes" / "a.txt").read_text() == "hello"
    assert len(made) == 2
    asyncio.run(in_use.end())
