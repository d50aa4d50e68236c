"""Files in the shape of well-known benchmarks, with problems of our own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from evalharness.errors import InvalidFile
from evalharness.formats.tables.presets import Preset, read_rows, suite_from_preset

FIXTURES = Path(__file__).parents[2] / "fixtures" / "presets"
HUMANEVAL = FIXTURES / "humaneval.jsonl"
MBPP = FIXTURES / "mbpp.jsonl"


def problems(path: Path, preset: Preset) -> list[str]:
    _, findings = suite_from_preset(read_rows(path), preset, name="x")
    return [str(problem).replace(str(path), "FILE") for problem in findings.problems]


def test_humaneval() -> None:
    suite, findings = suite_from_preset(read_rows(HUMANEVAL), "humaneval", name="own")
    assert suite is not None and not findings.problems
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
    suite, findings = suite_from_preset(read_rows(MBPP), "mbpp", name="own")
    assert suite is not None and not findings.problems
    assert [case.id for case in suite.cases] == ["11", "12", "13"]
    case = suite.cases[0]
    assert case.expected is not None
    assert "assert sum(2, 3) == 5" in str(case.input), "only the tests tell the function's name"
    assert "sum(-1, 1)" not in str(case.input)
    assert case.expected.options["test"] == "assert sum(2, 3) == 5\nassert sum(0, 0) == 0\nassert sum(-1, 1) == 0\n"
    assert case.expected.options["entry_point"] == "sum"


def test_a_packed_file_and_a_list_are_read_as_well(tmp_path: Path) -> None:
    packed = tmp_path / "own.jsonl.gz"
    packed.write_bytes(gzip.compress(HUMANEVAL.read_bytes()))
    listed = tmp_path / "own.json"
    listed.write_text(json.dumps([json.loads(line) for line in HUMANEVAL.read_text().splitlines()]))
    assert read_rows(packed).data == read_rows(listed).data == read_rows(HUMANEVAL).data


def test_braces_are_no_variables(tmp_path: Path) -> None:
    row = json.loads(HUMANEVAL.read_text().splitlines()[0])
    path = tmp_path / "braces.jsonl"
    path.write_text(json.dumps({**row, "prompt": row["prompt"] + "    # {{name}}\n"}))
    suite, _ = suite_from_preset(read_rows(path), "humaneval", name="own")
    assert suite is not None and suite.templated
    assert "\\{{name}}" in str(suite.cases[0].input)


@pytest.mark.parametrize(
    ("preset", "change", "told"),
    [
        ("humaneval", {"prompt": None}, "FILE:2: [1].prompt: is missing"),
        ("humaneval", {"test": 3}, "FILE:2: [1].test: must be text, not a number"),
        ("humaneval", {"test": "def check("}, "FILE:2: [1].test: is not Python"),
        ("humaneval", {"entry_point": "a b"}, "FILE:2: [1].entry_point: must be the name of a function"),
        ("humaneval", {"task_id": "Own/0"}, "FILE:2: [1].task_id: 'Own/0' comes twice"),
        ("humaneval", {"task_id": True}, "FILE:2: [1].task_id: must be text or a number"),
        ("mbpp", {"text": None, "prompt": None}, "FILE:2: [1].text: is missing"),
        ("mbpp", {"test_list": []}, "FILE:2: [1].test_list: has no tests"),
        ("mbpp", {"test_list": "assert 1"}, "FILE:2: [1].test_list: must be a list of texts"),
        ("mbpp", {"code": "def ("}, "FILE:2: [1].code: or the first test is not Python"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(preset: Preset, change: Any, told: str, tmp_path: Path) -> None:
    first, second, *_ = (HUMANEVAL if preset == "humaneval" else MBPP).read_text().splitlines()
    path = tmp_path / "wrong.jsonl"
    path.write_text(f"{first}\n{json.dumps({**json.loads(second), **change})}\n")
    assert [found[: len(told)] for found in problems(path, preset)] == [told]


def test_a_file_of_another_kind_is_told_from_its_first_lines(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"task_id": 1}\n' * 100)
    found = problems(path, "humaneval")
    assert found[0] == "FILE:1: [0].prompt: is missing"
    assert "stopped after 20 problems" in found[-1]
    (tmp_path / "empty.jsonl").write_text("")
    assert "has no rows" in problems(tmp_path / "empty.jsonl", "mbpp")[0]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"not packed", "cannot be unpacked"),
        (gzip.compress(b"{}")[:-9], "cannot be unpacked"),
        (gzip.compress(b"\xff"), "not UTF-8"),
        (gzip.compress(b" " * 50_000_001), "larger than 50 MB when unpacked"),
        (gzip.compress(b"[]"), "a row is a mapping"),
    ],
    ids=["not-packed", "cut", "not-utf-8", "bomb", "no-row"],
)
def test_a_packed_file_that_is_none(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(InvalidFile, match=told):
        read_rows(path)
