"""Files in the format of well-known benchmarks, with our own problems."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from evalharness.domain.suite import Suite
from evalharness.errors import InvalidFile
from evalharness.formats.tables.presets import Preset, read_rows, suite_from_preset
from evalharness.reports.words.say import say

FIXTURES = Path(__file__).parents[2] / "fixtures" / "presets"
HUMANEVAL = FIXTURES / "humaneval.jsonl"
MBPP = FIXTURES / "mbpp.jsonl"


def problems(path: Path, preset: Preset) -> list[str]:
    rows = read_rows(path)
    assert suite_from_preset(rows, preset, name="x") is None
    return [say(problem).replace(str(path), "FILE") for problem in rows.problems]


def suite_of(path: Path, preset: Preset) -> Suite:
    rows = read_rows(path)
    suite = suite_from_preset(rows, preset, name="own")
    assert suite is not None and not rows.problems
    return suite


def test_humaneval() -> None:
    suite = suite_of(HUMANEVAL, "humaneval")
    assert [case.id for case in suite.cases] == ["Own/0", "Own/1", "Own/2"]
    case = suite.cases[1]
    assert case.expected is not None
    assert case.expected.options == {
        "test": case.expected.options["test"],
        "entry_point": "evaluate_at",
        "prefix": "prompt",
    }
    assert str(case.reference).startswith(str(case.input)), "the reference is the whole program"


def test_mbpp() -> None:
    suite = suite_of(MBPP, "mbpp")
    assert [case.id for case in suite.cases] == ["11", "12", "13"]
    case = suite.cases[0]
    assert case.expected is not None
    assert "assert sum(2, 3) == 5" in str(case.input), "only the tests name the function"
    assert "sum(-1, 1)" not in str(case.input)
    assert case.expected.options["test"] == "assert sum(2, 3) == 5\nassert sum(0, 0) == 0\nassert sum(-1, 1) == 0\n"
    assert case.expected.options["entry_point"] == "sum"


def test_a_packed_file_and_a_list_are_read_as_well(tmp_path: Path) -> None:
    packed = tmp_path / "own.jsonl.gz"
    packed.write_bytes(gzip.compress(HUMANEVAL.read_bytes()))
    listed = tmp_path / "own.json"
    listed.write_text(json.dumps([json.loads(line) for line in HUMANEVAL.read_text().splitlines()]))
    assert suite_of(packed, "humaneval") == suite_of(listed, "humaneval") == suite_of(HUMANEVAL, "humaneval")


def test_braces_are_not_variables(tmp_path: Path) -> None:
    row = json.loads(HUMANEVAL.read_text().splitlines()[0])
    path = tmp_path / "braces.jsonl"
    path.write_text(json.dumps({**row, "prompt": row["prompt"] + "    # {{name}}\n"}))
    suite = suite_of(path, "humaneval")
    assert suite.templated
    assert "\\{{name}}" in str(suite.cases[0].input)


@pytest.mark.parametrize(
    ("preset", "change", "told"),
    [
        ("humaneval", {"prompt": None}, "FILE:2: [1].prompt: is missing"),
        ("humaneval", {"test": 3}, "FILE:2: [1].test: must be text, not a number"),
        ("humaneval", {"test": "def check("}, "FILE:2: [1].test: is not valid Python"),
        ("humaneval", {"entry_point": "a b"}, "FILE:2: [1].entry_point: must be the name of a function"),
        ("humaneval", {"task_id": "Own/0"}, "FILE:2: [1].task_id: 'Own/0' appears twice"),
        ("humaneval", {"task_id": True}, "FILE:2: [1].task_id: must be text or a number"),
        ("mbpp", {"text": None, "prompt": None}, "FILE:2: [1].text: is missing"),
        ("mbpp", {"test_list": []}, "FILE:2: [1].test_list: has no tests"),
        ("mbpp", {"test_list": "assert 1"}, "FILE:2: [1].test_list: must be a list of texts"),
        ("mbpp", {"code": "def ("}, "FILE:2: [1].code: is not valid Python"),
        (
            "mbpp",
            {"test_list": ["assert f()", 3]},
            "FILE:2: [1].test_list: must be a list of texts, but contains a number",
        ),
        ("mbpp", {"code": " \n"}, "FILE:2: [1].code: is empty, so the row has no solution"),
        ("mbpp", {"test_list": ["assert True"]}, "FILE:2: [1].test: runs no test: any answer would pass"),
        ("humaneval", {"canonical_solution": ""}, "FILE:2: [1].canonical_solution: is empty"),
        ("humaneval", {"test": "def check(c):\n    pass\n"}, "FILE:2: [1].test: runs no test: any answer would pass"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(preset: Preset, change: Any, told: str, tmp_path: Path) -> None:
    first, second, *_ = (HUMANEVAL if preset == "humaneval" else MBPP).read_text().splitlines()
    path = tmp_path / "wrong.jsonl"
    path.write_text(f"{first}\n{json.dumps({**json.loads(second), **change})}\n")
    assert [found[: len(told)] for found in problems(path, preset)] == [told]


def test_everything_that_is_wrong_is_reported_at_once(tmp_path: Path) -> None:
    first, second, *_ = HUMANEVAL.read_text().splitlines()
    path = tmp_path / "wrong.jsonl"
    path.write_text(f'{first}\n{{not JSON\n{{"task_id": 3, "test": ""}}\n[1]\n{second}\n{{"task_id": ""}}\n')
    found = problems(path, "humaneval")
    assert found[0].startswith("FILE:2: "), "a line that is not JSON"
    assert found[1:4] == [
        "FILE:3: [2].prompt: is missing",
        "FILE:3: [2].canonical_solution: is missing",
        "FILE:3: [2].entry_point: is missing",
    ]
    assert found[4].startswith("FILE:4: a row must be a mapping")
    assert {line.partition(".")[0] for line in found[5:]} == {"FILE:6: [5]"}
    assert [line.partition(".")[2] for line in found[5:]] == [
        "prompt: is missing",
        "task_id: is empty",
        "canonical_solution: is missing",
        "test: is missing",
        "entry_point: is missing",
    ]


@pytest.mark.parametrize(("path", "preset", "other"), [(MBPP, "humaneval", "mbpp"), (HUMANEVAL, "mbpp", "humaneval")])
def test_rows_of_the_other_preset_are_told_as_such(path: Path, preset: Preset, other: str) -> None:
    assert problems(path, preset) == [f"FILE:1: [0]: these rows look like {other}; use --preset {other}"]


def test_a_row_of_the_other_preset_among_ours(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    path.write_text(HUMANEVAL.read_text() + MBPP.read_text())
    told = "this row looks like mbpp, and so do 2 more: a file can only contain rows of one preset"
    assert problems(path, "humaneval") == [f"FILE:4: [3]: {told}"]


def test_optional_columns_may_be_null(tmp_path: Path) -> None:
    path = tmp_path / "null.jsonl"
    optional = {"test_setup_code": None, "test_imports": None, "challenge_test_list": None}
    path.write_text(json.dumps({**json.loads(MBPP.read_text().splitlines()[0]), **optional}))
    assert len(suite_of(path, "mbpp").cases) == 1


def test_a_file_without_rows(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert "has no rows" in problems(tmp_path / "empty.jsonl", "mbpp")[0]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"not packed", "cannot be unpacked"),
        (gzip.compress(b"{}")[:-9], "cannot be unpacked"),
        (gzip.compress(b"\xff"), "not UTF-8"),
        (gzip.compress(b" " * 50_000_001), "larger than 50 MB when unpacked"),
    ],
    ids=["not-packed", "cut", "not-utf-8", "bomb"],
)
def test_a_packed_file_that_is_none(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=told):
        read_rows(path)
