"""Named files and searched folders: which files are suites, and what is reported about the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from eval_files import put

from evalharness.formats.suite_files import load_file, load_paths, survey_paths

GOOD = "[{id: a, input: x, expected_output: x}]"
PASSED_OVER: dict[str, tuple[str | bytes, str, str]] = {
    "typo.yaml": (
        "capabilty_eval: {id: x, input: hi}",
        ":1: note: capabilty_eval: is not a suite",
        "capability_eval",
    ),
    "typo2.yaml": ("id: x\ninputs: hi\nexpected_out: hi", ":3: note: expected_out: is not a suite", "expected_output"),
    "typo3.yaml": ("eval_suit: {name: x}", ":1: note: eval_suit: is not a suite", "eval_suite"),
    "r.json": ('{"eval_type": "regression", "baselin": {}}', ":1: note: baselin: is not a suite", "baseline"),
    "settings.json": ('{"a": 1}', ": note: is not a suite, so it is skipped", ""),
    "empty.yaml": ("", ": note: is empty, so it is skipped", ""),
    "half.json": ('{"a": ', ":1: warning: not valid JSON", ""),
    "torn.yaml": ("a: [", ":1: warning: not valid YAML", ""),
    "binary.yaml": (b"\xff", ":1: warning: not UTF-8 text", ""),
}


def told(paths: list[Path], folder: Path, format_name: str | None = None) -> list[str]:
    met = survey_paths(paths, format_name)
    rest = [problem for file in met if file.is_passed_over for problem in file.problems]
    return [str(problem).replace(f"{folder}/", "") for problem in rest]


def test_every_file_of_a_folder_is_a_suite_a_part_of_one_or_reported(tmp_path: Path) -> None:
    put(tmp_path, {"good.yaml": GOOD, "notes.txt": "eval_suite", ".hidden.yaml": "a: 1"})
    put(tmp_path, {"suite.yaml": "eval_suite: {name: s, evals: [{$ref: parts/r.yaml}]}"})
    put(tmp_path, {"parts/r.yaml": "{id: r, baseline: {$ref: base.json}, current: {input: x}}", "parts/base.json": "1"})
    put(tmp_path, {"config/graders.yaml": "a: exact", "config/thresholds.yaml": "default: {score: 0}"})
    for name, (content, _, _) in PASSED_OVER.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    loaded = load_paths([tmp_path])
    assert [file.path.name for file in loaded] == ["good.yaml", "suite.yaml"]
    assert not any(problem.severity == "error" for file in loaded for problem in file.problems)
    lines = told([tmp_path], tmp_path)
    assert [line.partition(":")[0] for line in lines] == sorted(PASSED_OVER)
    for line in lines:
        _, start, meant = PASSED_OVER[line.partition(":")[0]]
        assert start in line
        assert line.endswith(f"did you mean '{meant}'?") == bool(meant)


def test_a_broken_file_that_speaks_of_evals_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, {"half.json": '{"eval_suite": ', "twice.yaml": "id: a\nid: b\ninput: x\nexpected: x\n"})
    loaded = load_paths([tmp_path])
    assert [(file.path.name, file.suite) for file in loaded] == [("half.json", None), ("twice.yaml", None)]
    assert all(problem.severity == "error" for file in loaded for problem in file.problems)


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    put(tmp_path, {"good.yaml": GOOD})
    os.mkfifo(tmp_path / "pipe.yaml")
    assert [file.path.name for file in load_paths([tmp_path])] == ["good.yaml"]
    assert told([tmp_path], tmp_path) == ["pipe.yaml: warning: not a regular file"]


def test_suites_of_another_format_than_the_one_asked_for_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path, {"good.yaml": GOOD, "native.yaml": "test_cases: [{id: a, input: x, expected: x}]"})
    assert [file.format for file in load_paths([tmp_path], "native")] == ["native"]
    assert told([tmp_path], tmp_path, "native") == ["good.yaml: note: is in the format eval-harness, so it is skipped"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "foo: 1", "a.yaml: its format is not recognised: a native file needs test_cases, an eval-harness"),
        (
            "a.yaml",
            "nmae: x\ntest_casess: []",
            "a.yaml:2: test_casess: its format is not recognised; did you mean 'test_cases'?",
        ),
        ("a.yaml", "", "a.yaml: is empty"),
        ("a.yaml", "5", "a.yaml: its format is not recognised"),
        ("config/graders.yaml", "a: exact", "config/graders.yaml: contains named graders, not a suite"),
        ("config/thresholds.yaml", "default: {score: 1}", "config/thresholds.yaml: contains thresholds for evals"),
    ],
)
def test_a_file_that_is_named_outright_and_is_not_a_suite_is_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    put(tmp_path, {name: text})
    [problem] = load_file(tmp_path / name).problems
    assert str(problem).replace(f"{tmp_path}/", "").startswith(message)
    assert problem.severity == "error"


def test_a_folder_without_suites_is_an_error_and_its_files_are_reported(tmp_path: Path) -> None:
    put(tmp_path, {"a.yaml": "eval_suit: {}"})
    [file] = load_paths([tmp_path])
    assert [problem.message for problem in file.problems] == ["no suite was found in this folder"]
    assert len(told([tmp_path], tmp_path)) == 1


def test_a_list_of_cases_is_a_suite_in_every_syntax(tmp_path: Path) -> None:
    rows = '{"input": "x", "expected": "x"}'
    put(tmp_path, {"a.json": f"[{rows}]", "b.yaml": f"- {rows}", "c.jsonl": rows})
    loaded = load_paths([tmp_path])
    assert [(file.format, [case.id for case in file.suite.cases]) for file in loaded if file.suite] == [
        ("native", ["case-1"])
    ] * 3
