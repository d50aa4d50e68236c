from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalharness.domain.problem import Problem
from evalharness.errors import InvalidFile
from evalharness.syntax import limits
from evalharness.syntax.source import parse_text, read_source


def problem_of(path: Path) -> Problem:
    with pytest.raises(InvalidFile) as caught:
        read_source(path)
    problem: Problem
    (problem,) = caught.value.problems
    assert problem.file == str(path)
    return problem


@pytest.mark.parametrize(
    ("name", "text", "data"),
    [
        ("a.yaml", "x:\n  y: NO", {"x": {"y": "NO"}}),
        ("a.YML", "x:\n  y: 1", {"x": {"y": 1}}),
        ("a.json", '{"x":\n {\n"y": 1}}', {"x": {"y": 1}}),
        ("a.jsonl", "1\n2\n", [1, 2]),
        ("a.ndjson", "1\n\n2", [1, 2]),
    ],
)
def test_the_ending_decides_the_syntax(tmp_path: Path, name: str, text: str, data: object) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    source = read_source(path)
    assert source.data == data
    assert source.path == path


def test_lines_are_known_in_every_syntax() -> None:
    place = ("x", "y")
    assert parse_text("x:\n  y: 1", ".yaml", Path("a.yaml")).line_of(place) == 2
    assert parse_text('{"x":\n{\n"y": 1}}', ".json", Path("a.json")).line_of(place) == 3
    assert parse_text('\n{"x": {}}', ".jsonl", Path("a.jsonl")).line_of((0, *place)) == 2


@pytest.mark.parametrize("name", ["a.yaml", "a.json", "a.jsonl"])
def test_a_byte_order_mark_is_tolerated(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf[1]")
    assert read_source(path).data in ([1], [[1]])


@pytest.mark.parametrize("name", ["a.yaml", "a.json", "a.jsonl"])
def test_bytes_that_are_not_utf8_are_reported_with_their_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"[1,\n2,\n\xff]")
    problem = problem_of(path)
    assert problem.line == 3
    assert "0xff" in problem.message


@pytest.mark.parametrize("ending", [".yaml", ".json", ".jsonl"])
def test_a_lone_surrogate_in_text_is_reported_with_its_line(ending: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        parse_text('"a"\n"\ud800"', ending, Path("a"))
    assert caught.value.problems[0].line == 2


def test_an_unknown_ending_names_the_known_ones(tmp_path: Path) -> None:
    path = tmp_path / "suite.toml"
    path.write_text("", encoding="utf-8")
    problem = problem_of(path)
    assert "'.toml'" in problem.message
    assert ".yaml" in problem.allowed
    assert ".jsonl" in problem.allowed


def test_what_cannot_be_read_is_a_problem_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    assert problem_of(tmp_path / "missing.yaml").message == "cannot be read: No such file or directory"
    assert problem_of(tmp_path / "folder.yaml").line == 0
    assert problem_of(tmp_path / "pipe.yaml").message == "not a regular file"
    assert problem_of(tmp_path / "nul\0.yaml").line == 0
    assert "cannot be read" in problem_of(tmp_path / ("x" * 5000 + ".yaml")).message


def test_a_file_that_is_too_large_is_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as stream:
        stream.truncate(limits.MAX_CHARS + 1)
    assert problem_of(path).message == "larger than 50 MB"


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("[1]", encoding="utf-8")
    (tmp_path / "link.json").symlink_to("real.json")
    assert read_source(tmp_path / "link.json").data == [1]
