from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.engine.running.worker_threads import Offloader
from evalharness.errors import Unscored
from evalharness.graders.expected_patterns import PatternCheck
from evalharness.graders.files import check_file
from evalharness.workspaces import changed_files

Grading = Callable[..., Grade]


@pytest.mark.parametrize(
    ("content", "needle", "check"),
    [
        ("", "", PatternCheck("file_exists:a.py", True, "a.py", "file found")),
        ("def CALCULATE_TOTAL", "calculate_total", PatternCheck("file_contains:calculate_total", True, "", "found")),
        ("pass 😀", "total", PatternCheck("file_contains:total", False, "", "content length 7")),
        (None, "total", PatternCheck("file_exists:a.py", False, "a.py", "file not found")),
        (None, "", PatternCheck("file_exists:a.py", False, "a.py", "file not found")),
    ],
)
def test_one_file(content: str | None, needle: str, check: PatternCheck) -> None:
    """The originals leave the path out of `file_exists` if it passes; here every check names it."""
    found = check_file(content, "a.py", needle)
    assert (found.check, found.passed, found.actual) == (check.check, check.passed, check.actual)
    assert "a.py" in found.expected


def test_a_missing_or_wrong_file_lowers_the_score(grade: Grading) -> None:
    """In the originals the task fails, but the score does not change."""
    wanted = ["a.py", {"path": "b.py", "contains": "def"}, {"path": "c.py", "should_contain": "def"}, "gone.py"]
    verdict = grade({"files": wanted}, files={"a.py": "", "b.py": "DEF b", "c.py": "class C"})
    assert verdict.state == "fail"
    assert verdict.score == 0.5
    assert verdict.reason == "c.py contains def: content length 7; gone.py: file not found"
    assert [check["passed"] for check in verdict.evidence] == [True, True, False, False]


@pytest.mark.parametrize("path", ["sub/a.py", "./sub/a.py", "sub//a.py"])
def test_a_path_may_be_spelled_in_several_ways(path: str, grade: Grading) -> None:
    assert grade({"files": [path]}, files={"sub/a.py": ""}).passed
    assert grade({"files": "sub/a.py"}, files={path: ""}).passed


@pytest.mark.parametrize(
    "written",
    [
        "/etc/passwd",
        "../a",
        "a/../../b",
        "",
        ".",
        "a\0",
        [],
        None,
        5,
        [{"contains": "x"}],
        [{"path": "a", "holds": "x"}],
    ],
    ids=repr,
)
def test_what_names_no_file_inside_the_workspace_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="files", options=written))


def graded(build: Callable[..., Grader], wanted: Any, files: dict[str, Any], changed: dict[str, str]) -> Grade:
    case = Case(id="a", input="?", files=files)
    context = GradeContext(case, Transcript(output="", files=changed), index=0, seed=0)

    async def ask() -> Grade:
        offloader = Offloader(1)
        try:
            return await build({"files": wanted}, offloader).grade(context)
        finally:
            offloader.close()

    return asyncio.run(ask())


def test_files_of_the_case_count_until_they_are_changed(build: Callable[..., Grader], tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("from beside the suite")
    files = {"a.txt": "as it was", "sub/b.txt": {"path": "kept.txt"}}
    wanted = [{"path": "a.txt", "contains": "as it was"}, {"path": "sub/b.txt", "contains": "BESIDE"}]
    assert graded(build, wanted, files, {}).passed
    assert graded(build, wanted, files, {"a.txt": "changed"}).score == 0.5
    assert graded(build, wanted, files, {"sub/b.txt": "changed"}).score == 0.5


@pytest.mark.parametrize(
    ("path", "reason"), [("../secret", "outside the suite's folder"), ("gone", "there is no file gone")]
)
def test_a_file_of_the_case_that_cannot_be_had_is_unscored(
    path: str, reason: str, build: Callable[..., Grader], tmp_path: Path
) -> None:
    (tmp_path.parent / "secret").write_text("secret")
    with pytest.raises(Unscored, match=reason):
        graded(build, [{"path": "a", "contains": "secret"}], {"a": {"path": path}}, {})


class TestWhatTheHarnessDidNotKeep:
    def test_of_a_long_file_the_beginning_is_kept(self, grade: Grading, tmp_path: Path) -> None:
        (tmp_path / "long.txt").write_text("start" + "x" * 200_000 + "end")
        files = changed_files(tmp_path, {})
        assert grade({"files": ["long.txt"]}, files=files).passed
        assert grade({"files": [{"path": "long.txt", "contains": "start"}]}, files=files).passed
        with pytest.raises(Unscored, match=r"only part of long.txt was kept.*100008 bytes cut"):
            grade({"files": [{"path": "long.txt", "contains": "end"}]}, files=files)

    def test_of_a_binary_file_nothing_is_kept(self, grade: Grading, tmp_path: Path) -> None:
        (tmp_path / "a.bin").write_bytes(b"\0magic")
        files = changed_files(tmp_path, {})
        assert grade({"files": ["a.bin"]}, files=files).passed
        with pytest.raises(Unscored, match="binary file of 6 bytes"):
            grade({"files": [{"path": "a.bin", "contains": "magic"}]}, files=files)

    def test_of_very_many_files_some_are_not_kept(self, grade: Grading, tmp_path: Path) -> None:
        for number in range(201):
            (tmp_path / f"{number:03}").write_text("")
        files = changed_files(tmp_path, {})
        assert grade({"files": ["199"]}, files=files).passed
        with pytest.raises(Unscored, match="200 is not one of the files that were kept"):
            grade({"files": ["200"]}, files=files)


def test_its_example_contains_all_that_one_file_must_contain(build: Callable[..., Grader], grade: Grading) -> None:
    wanted = [{"path": "a.py", "contains": "def a"}, {"path": "a.py", "contains": "def b"}, "b.py"]
    example = build({"files": wanted}).example()
    assert example is not None
    assert grade({"files": wanted}, files=example.files).passed
