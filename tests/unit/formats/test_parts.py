"""What is checked in addition to the shape of a file: parts that exist, and names that the suite has."""

from __future__ import annotations

from pathlib import Path

import pytest
from eval_files import told

HELD = "reason: r, owner: o, expires: 2999-01-01"


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("graders: [{all_of: [{exat: y}]}]", "graders[0].all_of: unknown grader 'exat'; did you mean 'exact'?"),
        ("expected: {exat: y}", "expected: unknown grader 'exat'; did you mean 'exact'?"),
        ("expected: {}", "expected: must name a grader: write {grader-name: options}"),
        ("graders: [{function: 5}]", "graders[0].function: must be text, not 5"),
        ("graders: [{function: {function: 5}}]", "graders[0].function.function: must be text, not 5"),
    ],
)
def test_parts_of_a_case_that_do_not_exist(case: str, problem: str, tmp_path: Path) -> None:
    assert told(tmp_path, f"test_cases: [{{id: a, input: x, {case}}}]") == [f"evals.yaml:1: test_cases[0].{problem}"]


def test_an_id_must_be_text(tmp_path: Path) -> None:
    text = "test_cases: [{id: [a], input: x, expected: y}]"
    assert told(tmp_path, text) == ["evals.yaml:1: test_cases[0].id: must be text"]


@pytest.mark.parametrize(
    ("gate", "problem"),
    [
        ("required_cases: [b]", "warning: gate.required_cases[0]: the suite has no case 'b'"),
        ("required_cases: ['{{b}}']", ""),
        (f"quarantine: [{{case: c, {HELD}}}]", "warning: gate.quarantine[0].case: the suite has no case 'c'"),
        (
            f"quarantine: [{{case: a, {HELD}}}, {{case: a, {HELD}}}]",
            "gate.quarantine[1].case: 'a' is already in quarantine (entry 1): list it only once",
        ),
        (
            "thresholds: {categories: {meths: {pass_rate: 1}}}",
            "warning: gate.thresholds.categories.meths: the suite has no category 'meths'; did you mean 'maths'?",
        ),
        ("thresholds: {categories: {maths: {pass_rate: 1}}}", ""),
    ],
)
def test_cases_and_categories_that_a_gate_names(gate: str, problem: str, tmp_path: Path) -> None:
    cases = "test_cases: [{id: a, input: x, expected: y, category: maths}]"
    assert told(tmp_path, f"gate: {{{gate}}}\n{cases}") == ([f"evals.yaml:1: {problem}"] if problem else [])


@pytest.mark.parametrize(
    ("execution", "problem"),
    [("5", "must be a mapping, not 5"), ("{}", "must name a target: write {target-name: options}")],
)
def test_an_execution_that_is_none(execution: str, problem: str, tmp_path: Path) -> None:
    current = f"{{input: x, execution: {execution}}}"
    text = f"eval_suite: {{name: s, evals: [{{id: a, baseline: {{output: y}}, current: {current}}}]}}"
    assert told(tmp_path, text) == [f"evals.yaml:1: eval_suite.evals[0].current.execution: {problem}"]


def test_a_regression_without_a_baseline(tmp_path: Path) -> None:
    text = "eval_suite: {name: s, evals: [{id: a, eval_type: regression, current: {input: x}}]}"
    place = "evals.yaml:1: eval_suite.evals[0].baseline"
    assert told(tmp_path, text) == [f"{place}: is missing: a regression eval compares the answer with it"]
