"""`--grader-type`: one type of grader alone, and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import drive, drive_run, write

from evalharness import load_suite

MODEL = 'grader: {type: model, config: {rubric: "Is it good? (0-5)"}}'
HUMAN = "{type: human, config: {}}"
COMPARED = f"""
name: compared
target: echo
eval_type: capability
test_cases:
  - {{id: exact, input: olleh, expected: {{type: exact, value: olleh}}, {MODEL}}}
  - {{id: wrong, input: hello, expected: {{type: exact, value: olleh}}, {MODEL}}}
  - {{id: text, input: olleh, expected: olleh, {MODEL}}}
  - {{id: part, input: say olleh, expected: {{type: contains, value: olleh}}, {MODEL}}}
  - {{id: named, input: say olleh, expected: {{ends_with: olleh}}, {MODEL}}}
  - {{id: pattern, input: "a1", expected: {{type: pattern, value: "^a[0-9]$"}}, {MODEL}}}
  - {{id: either, input: b, expected: {{type: exact, value: a, alternatives: [b]}}, grader: {HUMAN}}}
  - {{id: listed, input: PG 14, expected: {{type: semantic, value: {{must_include: [PG 14]}}}}, {MODEL}}}
  - id: baseline
    baseline: {{output: {{a: 1}}}}
    current: {{input: '{{"a": 1}}'}}
    comparison: {{type: structural}}
    {MODEL}
"""
TESTED = "{input: [5], output: 120}"
FREE = f"""
  - {{id: free, input: olleh, expected: {{type: semantic, value: something nice}}, {MODEL}}}
  - {{id: unnamed, input: x, expected: {{type: functional, value: {{test_cases: [{TESTED}]}}}}, {MODEL}}}
"""
SKIPPED = "2 cases skipped, because no code grader can grade them: free, unnamed"


def test_code_compares_with_what_is_expected_in_place_of_a_judge(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=COMPARED)
    done = drive_run(tmp_path, "--grader-type", "code")

    passed = ("exact", "text", "part", "named", "pattern", "either", "listed", "baseline")
    assert done.states() == {**{name: ["passed"] for name in passed}, "wrong": ["failed"]}
    assert done.report["summary"]["by_grader"].keys() == {"code"}
    assert done.report["not_graded"] is None


def test_what_code_cannot_grade_is_skipped_and_named_beside_the_verdict(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=COMPARED.replace("hello", "olleh") + FREE)
    done = drive_run(tmp_path, "--grader-type", "code")
    assert (done.code, done.report["verdict"], done.report["summary"]["skipped"]) == (0, "PASSED", 2)
    assert done.report["not_graded"]["text"] == SKIPPED
    shown = drive(tmp_path, "show", done.run_name)
    assert f"\n         {SKIPPED}\n" in shown.out


@pytest.mark.parametrize("gate", ["pass_rate: 0.5", "pass_rate: 1.0"])
def test_a_gate_does_not_hide_what_was_skipped(tmp_path: Path, gate: str) -> None:
    write(tmp_path, suite_yaml=f"gate: {{thresholds: {{{gate}}}}}\n{COMPARED}{FREE}")
    done = drive(tmp_path, "run", "suite.yaml", "--grader-type", "code")
    assert f"; {SKIPPED}\n" in done.out


def test_without_the_flag_a_judge_grades_as_before(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=COMPARED)
    done = drive_run(tmp_path, "--judge-model", "none")
    assert (done.code, {state for states in done.states().values() for state in states}) == (4, {"awaiting"})


def test_a_suite_that_is_written_again_compares_by_code_as_before(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml=COMPARED + FREE)
    assert drive(tmp_path, "import", "suite.yaml", "-o", "again.yaml").code == 0
    assert load_suite(tmp_path / "again.yaml") == load_suite(tmp_path / "suite.yaml")


def test_what_only_the_harness_writes_is_no_key_of_a_file(tmp_path: Path) -> None:
    write(tmp_path, suite_yaml="test_cases: [{id: a, input: x, expected: x, code_check: {exact: x}}]")
    done = drive(tmp_path, "validate", "suite.yaml")
    assert done.code == 2 and "unknown key 'code_check'" in done.both
