"""How much space a folder uses, whatever a program does in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalharness.sandboxes import resource_use
from evalharness.sandboxes.resource_use import is_larger_than


def test_content_counts_at_every_depth(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/file").write_bytes(b"x" * 100_000)
    assert is_larger_than(tmp_path, 90_000)
    assert not is_larger_than(tmp_path, 150_000)


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_bytes(b"x" * 1_000_000)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/link").symlink_to(tmp_path / "outside")
    (tmp_path / "inside/loop").symlink_to(tmp_path / "inside")
    assert not is_larger_than(tmp_path / "inside", 100_000)


def test_empty_files_are_not_nothing(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / str(number)).touch()
    assert is_larger_than(tmp_path, 100_000)


def test_too_many_to_be_counted_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (tmp_path / str(number)).touch()
    monkeypatch.setattr(resource_use, "MOST_ENTRIES", 20)
    assert is_larger_than(tmp_path, 10**12)


def test_a_folder_that_is_gone_contains_nothing(tmp_path: Path) -> None:
    assert not is_larger_than(tmp_path / "gone", 0)
