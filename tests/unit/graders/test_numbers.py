from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalharness import registry
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.graders.numbers import read_number

Grading = Callable[..., Grade]


@pytest.mark.parametrize(
    ("output", "number"),
    [
        (42, 42),
        (4.5, 4.5),
        ("The answer is 42.", 42),
        ("-1.5e3", -1500),
        ("x=-5", -5),
        ("minus: −5", -5),
        ("+7", 7),
        (".5", 0.5),
        ("$1,234,567.89 in all", 1234567.89),
        ("5kg", 5),
        ("50%", 50),
        ("(12)", 12),
        ("٣", 3),
    ],
)
def test_the_one_number_is_read(output: Any, number: float) -> None:
    assert read_number(output) == (number, "")


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("none", "no number found"),
        ("", "no number found"),
        ("NaN", "no number found"),
        ("1 or 2", "more than one number found"),
        ("3-5", "more than one number found"),
        ("1/2", "more than one number found"),
        ("1.2.3", "no number found"),
        ("3,14", "no number found"),
        ("1,2345", "no number found"),
        ("12,345.67.8", "no number found"),
        ("1,2,3", "no number found"),
        ("v2", "no number found"),
        ("0x1F", "no number found"),
        ("1e5.2", "no number found"),
        ("1e999", "not a finite number"),
        ("1" * 10**6, "not a finite number"),
        (10**400, "not a finite number"),
        (float("inf"), "not a finite number"),
        (float("nan"), "not a finite number"),
        (True, "true/false is not a number"),
        (None, "not a number"),
        ([4], "not a number"),
        ({"n": 4}, "not a number"),
    ],
    ids=lambda value: str(value)[:20] if not isinstance(value, int) else "int",
)
def test_nothing_is_guessed(output: Any, problem: str) -> None:
    assert read_number(output) == (None, problem)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_back_from_its_text(number: float) -> None:
    assert read_number(repr(number)) == (number, "")
    assert read_number(f"about {number!r}.") == (number, "")


@given(st.integers(-(10**15), 10**15))
def test_thousands_separators_change_nothing(number: int) -> None:
    assert read_number(f"{number:,}") == (float(number), "")


@pytest.mark.parametrize(
    ("options", "output", "passes"),
    [
        (42, "42", True),
        (42, "42.0", True),
        (42, "42.0000001", False),
        ({"value": 1.0, "absolute": 0.1}, "1.1", True),
        ({"value": 1.0, "tolerance": 0.1}, "1.1", True),
        ({"value": -1.0, "absolute": 0.1}, "-1.1", True),
        ({"value": 1.0, "relative": 0.1}, "1.1", True),
        ({"value": 1.0, "absolute": 0.1}, "1.100000000000001", False),
        ({"value": 1.0}, "1.0000000000000002", False),
        ({"value": 200, "relative": 0.01}, "202", True),
        ({"value": -200, "relative": 0.01}, "-203", False),
        ({"value": 0, "relative": 0.5}, "0.1", False),
        ({"value": 100, "absolute": 5, "relative": 0.01}, "105", True),
        (1e308, "-1e308", False),
    ],
)
def test_tolerance(options: Any, output: str, passes: bool, grade: Grading) -> None:
    assert grade({"numeric": options}, output).passed is passes


def test_the_reason_distinguishes_close_numbers(grade: Grading) -> None:
    assert grade({"numeric": 1000000}, "1000001").reason == "1000001 differs from 1000000 by 1, allowed 0"


@pytest.mark.parametrize(
    "options",
    ["many", None, float("nan"), float("inf"), {"value": 1, "absolute": -1}, {"value": 1, "relative": float("inf")}],
    ids=str,
)
def test_numbers_that_compare_with_nothing_are_refused(options: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="numeric", options=options))


@pytest.mark.parametrize("written", ["exit_code", {"exit_code": None}, {"exit_code": 0}], ids=str)
def test_exit_code_means_zero_unless_said_otherwise(written: Any, grade: Grading) -> None:
    assert grade(written, exit_code=0).passed
    assert grade(written, exit_code=-9).reason == "exit code -9, expected 0"


def test_a_target_without_an_exit_code_fails_and_says_why(grade: Grading) -> None:
    verdict = grade({"exit_code": 0}, "an answer", tool_calls=[{"name": "read_file", "result": {"code": 0}}])
    assert verdict.state == "fail"
    assert verdict.reason == "the target is not a command and made no shell call, expected exit code 0"


@pytest.mark.parametrize(
    "name",
    [
        "run_shell",
        "shell",
        "bash",
        "execute_command",
        "run_command",
        "terminal",
        "runShell",
        "Bash",
        "mcp__box__run-shell",
    ],
)
def test_the_last_shell_call_reports_where_there_is_no_command(name: str, grade: Grading) -> None:
    calls = [{"name": name, "result": {"exit_code": 0}}, {"name": name, "result": {"exit_code": 3}}, {"name": "read"}]
    assert grade({"exit_code": 3}, tool_calls=calls).passed
    assert grade({"exit_code": 0}, tool_calls=calls).reason == "exit code 3, expected 0"


def test_the_command_counts_for_more_than_its_shell_calls(grade: Grading) -> None:
    assert grade("exit_code", exit_code=0, tool_calls=[{"name": "bash", "result": {"exit_code": 1}}]).passed


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({"exit_code": 2}, 2),
        ({"stdout": "exit code 0", "exitCode": -9}, -9),
        ({"returncode": 2}, 2),
        ({"code": 2}, 2),
        ({"exit_code": None, "code": 2}, 2),
        ('{"stdout": "exit code 0", "exit_code": 2}', 2),
        ("no such file\nexit code 2", 2),
        ("Exit code: 2\nno such file", 2),
        ("Process exited with code 2", 2),
        ("exit code 0\nthen exit status 2.", 2),
        ("exit_code=-15", -15),
    ],
    ids=str,
)
def test_exit_codes_of_shell_calls_are_read(result: Any, code: int, grade: Grading) -> None:
    assert grade({"exit_code": code}, tool_calls=[{"name": "run_shell", "result": result}]).passed


@pytest.mark.parametrize(
    "result", [None, "done", 0, [0], {"exit_code": True}, {"exit_code": "0"}, "exit code", "[" * 9999]
)
def test_a_shell_call_that_reports_no_exit_code_fails(result: Any, grade: Grading) -> None:
    verdict = grade({"exit_code": 0}, tool_calls=[{"name": "run_shell", "result": result}])
    assert verdict.state == "fail"
    assert verdict.reason == "the last shell call, 'run_shell', has no exit code, expected exit code 0"
