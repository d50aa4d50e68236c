"""The oracle as a run uses it: its answers must satisfy the graders that they were built from."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness import Case, Suite, evaluate
from evalharness.domain.trial import Trial

WRITES_A_GREETER = {
    "graders": [
        {"expected_patterns": ["contains:greet", "regex:def\\s+greet", "not_contains:TODO", "hello"]},
        {"files": [{"path": "greet.py", "shouldContain": "def greet"}]},
        {"exit_code": 0},
        {"tool_sequence": ["write_file", {"tool": "run_shell", "arguments": {"line": "python greet.py"}}]},
    ],
    "max_rounds": 1,
    "required_tools": ("write_file", "run_shell"),
}


def asked(**case: Any) -> Trial:
    run = evaluate(Suite(name="s", cases=(Case(id="a", input="?", **case),)), "oracle", store=":memory:")
    [trial] = run.trials
    return trial


@pytest.mark.parametrize(
    "case",
    [
        WRITES_A_GREETER,
        {"graders": [{"expected_patterns": [r"regex:\b8080\b"]}]},
        {"graders": [{"expected_patterns": []}]},
        {"graders": [{"files": ["made.txt"]}]},
        {"graders": [{"tool_sequence": ["a", "b", "a"], "mode": "exact"}], "max_rounds": 1},
        {"graders": [{"regex": r"^\d+ of \d+$"}, {"max_length": 10}]},
        {"graders": [{"contains": "Ada"}, {"regex": "^Hello"}, {"regex": "!$"}]},
        {"graders": [{"exit_code": 3}, {"contains": "no"}]},
    ],
    ids=str,
)
def test_what_it_does_passes(case: dict[str, Any]) -> None:
    trial = asked(**case)
    assert trial.state == "passed", trial.reason


def test_a_reference_settles_the_output_and_the_graders_the_rest() -> None:
    trial = asked(**WRITES_A_GREETER, reference="Made greet.py: def greet(name), which says hello.")
    assert trial.state == "passed", trial.reason
    assert trial.output == "Made greet.py: def greet(name), which says hello."


def test_a_reference_that_displeases_a_grader_fails() -> None:
    assert asked(graders=[{"files": ["a.txt"]}, {"exact": "yes"}], reference="no").state == "failed"


@pytest.mark.parametrize(
    "graders",
    [[], [{"not_contains": "x"}], [{"regex": r"(?=\d)a"}], [{"files": ["a.txt"]}, {"json_schema": {}}]],
    ids=str,
)
def test_where_it_does_not_know_an_answer_it_is_skipped(graders: list[Any]) -> None:
    trial = asked(graders=graders)
    assert trial.state == "skipped"
    assert trial.reason.startswith("no reference")
