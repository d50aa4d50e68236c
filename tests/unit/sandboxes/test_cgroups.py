"""Reading the kernel's files, in both versions of the interface, and finding leftover groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalharness.contracts.sandbox import Limits
from evalharness.sandboxes import process_tree
from evalharness.sandboxes.cgroups import Cgroup, Cgroups

V1_MEMORY = "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n"
V2_MEMORY = "low 0\nhigh 0\nmax 17\noom 3\noom_kill {}\noom_group_kill 0\n"


@pytest.mark.parametrize(("file", "text"), [("memory.oom_control", V1_MEMORY), ("memory.events", V2_MEMORY)])
@pytest.mark.parametrize(
    ("killed", "refused", "expected"), [(0, 0, None), (1, 0, "memory"), (0, 5, "processes"), (2, 5, "memory")]
)
def test_the_limit_that_was_passed(
    file: str, text: str, killed: int, refused: int, expected: str | None, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text.format(killed))
    (tmp_path / "pids.events").write_text(f"max {refused}\n")
    assert Cgroup(tmp_path, tmp_path).passed() == expected


def test_a_group_that_is_gone_has_passed_nothing(tmp_path: Path) -> None:
    assert Cgroup(tmp_path / "gone", tmp_path / "gone").passed() is None


def test_limits_in_version_2(tmp_path: Path) -> None:
    Cgroup(tmp_path, tmp_path).limit(Limits(memory_bytes=1000, processes=7), more_processes=2)
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {"pids.max": "9", "memory.max": "1000", "memory.swap.max": "0", "memory.oom.group": "1"}


def test_limits_in_version_1(tmp_path: Path) -> None:
    group = Cgroup(tmp_path / "pids", tmp_path / "memory")
    group.make()
    group.limit(Limits(memory_bytes=1000, processes=7), more_processes=0)
    assert (tmp_path / "pids/pids.max").read_text() == "7"
    written = {path.name: path.read_text() for path in (tmp_path / "memory").iterdir()}
    assert written == {"memory.limit_in_bytes": "1000", "memory.memsw.limit_in_bytes": "1000"}


def test_a_group_for_processors_comes_and_goes_with_the_others(tmp_path: Path) -> None:
    for name in ("pids", "memory", "cpu"):
        (tmp_path / name).mkdir()
    group = Cgroup(tmp_path / "pids/g", tmp_path / "memory/g", tmp_path / "cpu/g")
    group.make()
    assert group.folders == tuple(tmp_path / name / "g" for name in ("pids", "memory", "cpu"))
    assert group.try_remove()
    (tmp_path / "cpu/evalharness-999999999-1-cc").mkdir()
    Cgroups(tmp_path / "pids", tmp_path / "memory", tmp_path / "cpu").remove_leftovers()
    assert list((tmp_path / "cpu").iterdir()) == []


@pytest.mark.usefixtures("proc")
def test_only_groups_whose_harness_is_gone_are_left_over(tmp_path: Path) -> None:
    me, started = os.getpid(), process_tree.started_ticks(os.getpid())
    mine, reused, gone = f"evalharness-{me}-{started}-aa", f"evalharness-{me}-1-bb", "evalharness-999999999-1-cc"
    for name in (mine, reused, gone, "evalharness-other", "user.slice"):
        (tmp_path / name).mkdir()
    (tmp_path / "evalharness-999999998-1-dd").mkdir()
    (tmp_path / "evalharness-999999998-1-dd/busy").write_text("")  # like one that still contains a process
    Cgroups(tmp_path, tmp_path).remove_leftovers()
    assert {path.name for path in tmp_path.iterdir()} == {
        mine,
        "evalharness-other",
        "user.slice",
        "evalharness-999999998-1-dd",
    }
