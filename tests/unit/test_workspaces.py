"""Which files a suite may name, and which a workspace may hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalharness.errors import UsageError
from evalharness.workspaces import confined, is_workspace_path


@pytest.mark.parametrize(
    ("name", "is_inside"),
    [
        ("a.txt", True),
        ("a/b/c.txt", True),
        ("./a", True),
        ("..a", True),
        ("/a", False),
        ("../a", False),
        ("a/../../b", False),
        ("a/..", False),
        ("", False),
        (".", False),
        ("a\0b", False),
    ],
)
def test_what_may_lie_in_a_workspace(name: str, is_inside: bool) -> None:
    assert is_workspace_path(name) is is_inside


def test_files_are_found_in_the_suites_folder_from_wherever_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("a")
    assert confined(tmp_path, "a.txt") == (tmp_path / "a.txt").resolve()
    assert confined(tmp_path, "../a.txt", start=tmp_path / "sub") == (tmp_path / "a.txt").resolve()


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("../outside.txt", "the file ../outside.txt lies outside the suite's folder"),
        ("link.txt", "the file link.txt lies outside the suite's folder"),
        ("gone.txt", "there is no file gone.txt in the suite's folder"),
        (".", "there is no file . in the suite's folder"),
        ("circle", "there is no file circle"),
        ("a\0b", "there is no file a"),
        ("x" * 5000, "there is no file x"),
    ],
)
def test_what_is_no_file_of_the_suites_folder_is_refused(tmp_path: Path, path: str, problem: str) -> None:
    root = tmp_path / "suite"
    root.mkdir()
    (tmp_path / "outside.txt").write_text("secret")
    (root / "link.txt").symlink_to("../outside.txt")
    (root / "circle").symlink_to("circle")
    with pytest.raises(UsageError) as caught:
        confined(root, path)
    assert caught.value.message.startswith(problem)
