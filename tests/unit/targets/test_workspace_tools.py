"""The tools that an agent has for the files of its workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from evalharness.contracts.sandbox import Limits
from evalharness.targets import workspace_tools
from evalharness.targets.workspace_tools import (
    ToolContext,
    edit_file,
    list_files,
    read_file,
    search,
    write_file,
)


class Place:
    """The part of a task that these tools use."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    (tmp_path / "secret.txt").write_text("MAX_GUESTS = 99")
    folder = tmp_path / "workspace"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "rules.py").write_text("MIN_AGE = 18\nMAX_GUESTS = 57\n")
    (folder / "README.md").write_text("See src/rules.py for MAX_GUESTS.\r\n")
    (folder / "leak").symlink_to("..")
    return ToolContext(
        cast(Any, Place(folder)), cast(Any, None), longest_result=1000, shell_timeout_s=1.0, limits=Limits()
    )


def test_a_file_is_read_from_the_line_asked_for(context: ToolContext) -> None:
    assert read_file(context, "src/rules.py") == "MIN_AGE = 18\nMAX_GUESTS = 57\n"
    assert read_file(context, "src/rules.py", 2) == "MAX_GUESTS = 57\n"
    for number in (-5, 0, 99):
        with pytest.raises(ValueError, match=rf"src/rules\.py has \d+ lines?, so there is no line {number}"):
            read_file(context, "src/rules.py", start_line=number)
    assert read_file(context, "README.md") == "See src/rules.py for MAX_GUESTS.\r\n"


def test_a_long_file_says_where_to_read_on(context: ToolContext) -> None:
    write_file(context, "long.txt", "".join(f"{number:09}\n" for number in range(1, 301)))
    first = read_file(context, "long.txt")
    assert first.startswith("000000001\n")
    assert first.endswith("000000090\n\n[cut here: go on with start_line 91 of 300]")
    assert len(first) <= context.longest_result, "otherwise the caller would cut off where to continue reading"
    assert read_file(context, "long.txt", 91).startswith("000000091\n")
    assert read_file(context, "long.txt", 250).endswith("000000300\n")


def test_a_huge_file_says_that_the_rest_cannot_be_read(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_tools, "MOST_READ_BYTES", 10)
    assert read_file(context, "src/rules.py") == "MIN_AGE = \n[only the first 10 of 29 bytes can be read]"
    with pytest.raises(ValueError, match="too large"):
        edit_file(context, "src/rules.py", "MIN_AGE", "AGE")


def test_a_binary_file_is_not_shown(context: ToolContext) -> None:
    (context.folder / "image").write_bytes(b"\x89PNG\0\1")
    with pytest.raises(ValueError, match="binary file of 6 bytes"):
        read_file(context, "image")


def test_text_in_another_encoding_is_read_as_well_as_it_can_be(context: ToolContext) -> None:
    (context.folder / "latin.txt").write_bytes("café".encode("latin-1"))
    assert read_file(context, "latin.txt") == "caf\ufffd"


def test_a_file_is_written_as_it_was_given(context: ToolContext) -> None:
    assert write_file(context, "new/é.txt", "a\r\nb") == "wrote 4 bytes to new/é.txt"
    assert (context.folder / "new" / "é.txt").read_bytes() == b"a\r\nb"


def test_one_passage_is_replaced_and_the_rest_left_alone(context: ToolContext) -> None:
    edit_file(context, "src/rules.py", "MAX_GUESTS = 57", "MAX_GUESTS = 58")
    assert (context.folder / "src" / "rules.py").read_text() == "MIN_AGE = 18\nMAX_GUESTS = 58\n"
    (context.folder / "latin.txt").write_bytes("café A".encode("latin-1"))
    edit_file(context, "latin.txt", "A", "B")
    assert (context.folder / "latin.txt").read_bytes() == "café B".encode("latin-1")


@pytest.mark.parametrize(("old", "times"), [("M", "2"), ("nowhere", "0"), ("", "0")])
def test_a_passage_that_is_not_there_once_is_refused(context: ToolContext, old: str, times: str) -> None:
    with pytest.raises(ValueError, match=f"but it occurs {times} times"):
        edit_file(context, "src/rules.py", old, "X")
    assert (context.folder / "src" / "rules.py").read_text() == "MIN_AGE = 18\nMAX_GUESTS = 57\n"


def test_files_are_listed_and_links_are_not(context: ToolContext) -> None:
    assert list_files(context) == "README.md\nsrc/rules.py"
    assert list_files(context, "src") == "src/rules.py"
    (context.folder / "empty").mkdir()
    assert list_files(context, "empty") == "there are no files"
    with pytest.raises(ValueError):
        list_files(context, "leak")


def test_a_list_of_too_many_files_says_so(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_tools, "MAX_SEEN", 2)
    assert list_files(context).endswith("[only the first 2 files were looked at]")


def test_a_search_finds_lines_and_leads_nowhere_else(context: ToolContext) -> None:
    found = search(context, r"MAX_\w+")
    assert found.splitlines() == [
        "README.md:1: See src/rules.py for MAX_GUESTS.",
        "src/rules.py:2: MAX_GUESTS = 57",
    ]
    assert search(context, "MAX", "src") == "src/rules.py:2: MAX_GUESTS = 57"
    assert search(context, "99") == "no line matches"
    assert search(context, r"57$") == "src/rules.py:2: MAX_GUESTS = 57"
    with pytest.raises(ValueError):
        search(context, "MAX", "leak")
    with pytest.raises(ValueError, match="not a regular expression"):
        search(context, "(")


def test_a_search_that_finds_too_much_is_cut(context: ToolContext) -> None:
    write_file(context, "many.txt", "x\n" * 1000)
    lines = search(context, "^x$").splitlines()
    assert len(lines) == workspace_tools.MOST_FOUND + 1
    assert lines[-1].startswith("[more than 200 lines match")
    write_file(context, "many.txt", "x\n" * workspace_tools.MOST_FOUND)
    assert search(context, "^x$").splitlines()[-1] == "many.txt:200: x", "no more than this many match"


def test_a_search_skips_what_is_not_text_and_says_what_it_left_out(context: ToolContext) -> None:
    (context.folder / "image").write_bytes(b"MAX\0")
    with (context.folder / "huge").open("wb") as file:
        file.write(b"MAX_HUGE\n")
        file.truncate(1 << 40)
    found = search(context, "MAX")
    assert "image" not in found and "huge:" not in found
    assert "[1 file could not be read" in found


def test_a_search_that_takes_too_long_is_given_up(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_tools, "SEARCH_S", 0.05)
    write_file(context, "a.txt", "a" * 5000 + "!")
    with pytest.raises(ValueError, match="given up"):
        search(context, "(a|aa)+$")
