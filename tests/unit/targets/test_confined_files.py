"""Files of a workspace: no path leads out of it, and only regular files are opened."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from evalharness.targets import confined_files
from evalharness.targets.confined_files import Content


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """There is a secret beside it; inside are paths that seem to lead there."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("hunter2")
    folder = tmp_path / "workspace"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a.txt").write_text("hello")
    (folder / "file-link").symlink_to(tmp_path / "secret" / "key.txt")
    (folder / "folder-link").symlink_to(tmp_path / "secret")
    (folder / "inner" / "up").symlink_to("../..")
    (folder / "circle").symlink_to("circle")
    (folder / "new-link").symlink_to(tmp_path / "secret" / "made.txt")
    os.mkfifo(folder / "pipe")
    return folder


LEADING_OUT = [
    "../secret/key.txt",
    "inner/../../secret/key.txt",
    "./../secret/key.txt",
    "/etc/passwd",
    "//etc/passwd",
    "{workspace}/../secret/key.txt",
    "{workspace}-2/key.txt",
    "file-link",
    "folder-link/key.txt",
    "inner/up/secret/key.txt",
    "new-link",
    "circle",
    "circle/a.txt",
    "pipe",
    "/proc/self/environ",
    "inner/a.txt\0.png",
    "\ud800",
    "x" * 300,
    "x/" * 3000,
    "..",
    "",
    ".",
    "inner",
    "inner/a.txt/b.txt",
]


@pytest.mark.parametrize("name", LEADING_OUT)
def test_nothing_is_read_or_written_outside_of_the_workspace(workspace: Path, name: str) -> None:
    name = name.replace("{workspace}", str(workspace))
    with pytest.raises(ValueError):
        confined_files.read(workspace, name, 100)
    with pytest.raises(ValueError):
        confined_files.write(workspace, name, b"pwned")
    secret = workspace.parent / "secret"
    assert [file.name for file in secret.iterdir()] == ["key.txt"]
    assert (secret / "key.txt").read_text() == "hunter2"
    assert (workspace / "inner" / "a.txt").read_text() == "hello"


@pytest.mark.parametrize("name", ["folder-link", "inner/up", "..", "/etc", "pipe", "inner/a.txt", "none", "circle"])
def test_no_folder_outside_of_the_workspace_is_entered(workspace: Path, name: str) -> None:
    with pytest.raises(ValueError):
        confined_files.folder_inside(workspace, name)


@pytest.mark.parametrize(
    ("name", "which"), [("file-link", "file-link"), ("folder-link/key.txt", "folder-link"), ("inner/up/x", "up")]
)
def test_a_link_is_called_one(workspace: Path, name: str, which: str) -> None:
    with pytest.raises(ValueError, match=f"^{which} is a link, which is not followed$"):
        confined_files.read(workspace, name, 10)


def test_what_is_wrong_with_a_path_that_contains_no_link_is_reported_without_links(workspace: Path) -> None:
    with pytest.raises(ValueError, match=r"^inner/a\.txt/b: not a directory$"):
        confined_files.read(workspace, "inner/a.txt/b", 10)


def test_a_socket_is_not_a_file(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("door")
        with pytest.raises(ValueError):
            confined_files.read(workspace, "door", 100)


@pytest.mark.parametrize("name", ["inner/a.txt", "./inner//a.txt", "{workspace}/inner/a.txt"])
def test_a_file_inside_is_read_whatever_way_it_is_named(workspace: Path, name: str) -> None:
    content = confined_files.read(workspace, name.replace("{workspace}", str(workspace)), 100)
    assert content == Content(b"hello", 5)
    assert content.is_whole


@pytest.mark.parametrize("name", [".", "", "./", "{workspace}"])
def test_the_workspace_itself_is_a_folder(workspace: Path, name: str) -> None:
    assert confined_files.folder_inside(workspace, name.replace("{workspace}", str(workspace))) == workspace


def test_of_a_huge_file_only_the_beginning_is_read(workspace: Path) -> None:
    with (workspace / "huge").open("wb") as file:
        file.truncate(1 << 40)
    content = confined_files.read(workspace, "huge", 10)
    assert content == Content(b"\0" * 10, 1 << 40)
    assert not content.is_whole


def test_writing_makes_folders_and_leaves_permissions(workspace: Path) -> None:
    confined_files.write(workspace, "x/y/z.txt", b"new")
    assert (workspace / "x" / "y" / "z.txt").read_bytes() == b"new"
    script = workspace / "run.sh"
    script.write_text("echo something long")
    script.chmod(0o755)
    confined_files.write(workspace, "run.sh", b"echo hi")
    assert script.read_text() == "echo hi"
    assert script.stat().st_mode & 0o777 == 0o755


def test_no_descriptor_is_left_open(workspace: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for name in (*LEADING_OUT, "inner/a.txt"):
        for _ in range(3):
            try:
                confined_files.read(workspace, name, 10)
            except ValueError:
                continue
    assert len(list(Path("/dev/fd").iterdir())) == before
