"""Which targets a suite is run on, and what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalharness.actions.choose_targets import WrittenTarget, choose_targets
from evalharness.domain.case import Case
from evalharness.domain.suite import Suite

SUITE = Suite(name="s", cases=(Case(id="a", input="?"),))


def names(*asked: WrittenTarget) -> list[str]:
    return [variant.name for variant in choose_targets(SUITE, asked, "suite.yaml")[1]]


def test_the_same_target_twice_is_one() -> None:
    assert names("oracle", "null", "oracle") == ["oracle", "null"]


def test_files_of_one_name_in_two_folders_are_two_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "agent.yaml").write_text(f"command: echo {folder}\n")
    assert names("a/agent.yaml", "b/agent.yaml", "a/agent.yaml") == ["agent", "b/agent.yaml"]


def test_functions_of_one_name_are_told_apart() -> None:
    first, second = names(lambda _: "a", lambda _: "b")
    assert second == f"{first} (2)"
