"""Which files a suite may name, and which files a workspace may contain."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from evalharness.errors import UsageError
from evalharness.workspaces import confined, descend, is_workspace_path, remove_folder


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
def test_what_may_be_in_a_workspace(name: str, is_inside: bool) -> None:
    assert is_workspace_path(name) is is_inside


def test_files_are_found_in_the_suites_folder_from_wherever_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("a")
    assert confined(tmp_path, "a.txt") == (tmp_path / "a.txt").resolve()
    assert confined(tmp_path, "../a.txt", start=tmp_path / "sub") == (tmp_path / "a.txt").resolve()


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("../outside.txt", "the file ../outside.txt is outside the suite's folder"),
        ("link.txt", "the file link.txt is outside the suite's folder"),
        ("gone.txt", "there is no file gone.txt in the suite's folder"),
        (".", "there is no file . in the suite's folder"),
        ("circle", "there is no file circle"),
        ("a\0b", "there is no file a"),
        ("x" * 5000, "there is no file x"),
    ],
)
def test_what_is_not_a_file_of_the_suites_folder_is_refused(tmp_path: Path, path: str, problem: str) -> None:
    root = tmp_path / "suite"
    root.mkdir()
    (tmp_path / "outside.txt").write_text("secret")
    (root / "link.txt").symlink_to("../outside.txt")
    (root / "circle").symlink_to("circle")
    with pytest.raises(UsageError) as caught:
        confined(root, path)
    assert caught.value.message.startswith(problem)


def nest(folder: Path, depth: int, name: str = "d" * 100) -> None:
    """Nested folders, a file in each; created step by step, since the whole path can be too long."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def names_in(descriptor: int) -> list[str]:
    with os.scandir(descriptor) as found:
        return sorted((entry.name for entry in found if entry.is_dir(follow_symlinks=False)), reverse=True)


class TestWhatAProgramLeft:
    def test_a_folder_deeper_than_any_path_is_removed(self, tmp_path: Path) -> None:
        nest(tmp_path, 2000)
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        remove_folder(tmp_path)
        assert not tmp_path.exists()
        assert len(list(Path("/proc/self/fd").iterdir())) == descriptors

    def test_links_are_removed_and_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside/file").touch()
        (tmp_path / "inside").mkdir()
        (tmp_path / "inside/link").symlink_to(tmp_path / "outside")
        remove_folder(tmp_path / "inside")
        remove_folder(tmp_path / "inside")
        assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["outside", "outside/file"]

    def test_every_folder_is_visited_once_and_left_after_what_is_in_it(self, tmp_path: Path) -> None:
        for path in ("a/b", "a/c/d", "e"):
            (tmp_path / path).mkdir(parents=True)
        visited: list[int] = []
        left: list[str] = []

        def visit(descriptor: int) -> list[str]:
            visited.append(os.fstat(descriptor).st_ino)
            return names_in(descriptor)

        descend(tmp_path, visit, lambda _, name: left.append(name))
        assert sorted(visited) == sorted(path.stat().st_ino for path in (tmp_path, *tmp_path.rglob("*")))
        assert sorted(left) == ["a", "b", "c", "d", "e"]
        assert left.index("d") < left.index("c") < left.index("a")

    def test_a_folder_that_goes_while_it_is_visited_does_no_harm(self, tmp_path: Path) -> None:
        for path in ("a/b", "c"):
            (tmp_path / path).mkdir(parents=True)
        visited = 0

        def visit(descriptor: int) -> list[str]:
            nonlocal visited
            visited += 1
            names = names_in(descriptor)
            if not names and (tmp_path / "a").exists():
                (tmp_path / "a").rename(tmp_path / "moved")
            return names

        descend(tmp_path, visit)
        assert visited == 4

    def test_far_below_it_is_reported(self, tmp_path: Path) -> None:
        nest(tmp_path, 40, "d")
        depth = 0

        def visit(descriptor: int) -> list[str]:
            nonlocal depth
            depth += 1
            names = names_in(descriptor)
            if not names:
                os.rename("../../d", tmp_path / "moved", src_dir_fd=descriptor)
            return names

        with pytest.raises(OSError) as caught:
            descend(tmp_path, visit)
        assert caught.value.errno == errno.ESTALE
