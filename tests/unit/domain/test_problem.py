from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from evalharness.domain.problem import Problem, field_text, quoted, without_repeats


def test_a_problem_reads_as_one_line_with_everything_a_user_needs() -> None:
    problem = Problem(
        "suite.yaml",
        12,
        "test_cases[3].graders[0]",
        "unknown grader 'exat'",
        allowed="exact, contains",
        suggestion="exact",
    )
    assert str(problem) == ("suite.yaml:12: test_cases[3].graders[0]: unknown grader 'exat'; did you mean 'exact'?"), (
        "a suggestion makes the list unnecessary"
    )
    assert str(replace(problem, suggestion="")).endswith("unknown grader 'exat'; allowed: exact, contains")


def test_of_many_problems_alike_only_the_first_are_shown() -> None:
    missing = [Problem("a.json", line, f"[{line}].input", "is missing") for line in range(1, 1013)]
    wrong = [Problem("a.json", line, "x", f"must be text, not {line}", severity="warning") for line in range(12)]
    others = [Problem(f"{name}.json", 1, "", "is missing") for name in "bcdefghijklm"]
    shown = list(map(str, without_repeats([*missing, *wrong, *others])))
    assert len(shown) == 10 + 10 + 12 + 2, "those of other files are not alike"
    assert shown[:2] == ["a.json:1: [1].input: is missing", "a.json:2: [2].input: is missing"]
    assert shown[-2:] == [
        "a.json: … and 1,002 more like this: is missing",
        "a.json: warning: … and 2 more like this: must be text, not 0",
    ]
    assert without_repeats(missing[:10]) == missing[:10]


def test_parts_that_are_missing_leave_no_trace() -> None:
    assert str(Problem("a.json", 2, "", "not valid JSON")) == "a.json:2: not valid JSON"


def test_a_problem_of_the_whole_file_shows_no_line() -> None:
    assert str(Problem("a.json", 0, "", "larger than 50 MB")) == "a.json: larger than 50 MB"


def test_what_is_not_an_error_says_so() -> None:
    assert str(Problem("a.yaml", 3, "x", "unused", severity="warning")) == "a.yaml:3: warning: x: unused"


def test_a_long_list_of_choices_is_kept_whole() -> None:
    choices = ", ".join(f"grader_{number}" for number in range(200))
    assert choices in str(Problem("a.yaml", 1, "", "unknown", allowed=choices))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("name",), "name"),
        (("test_cases", 3, "graders", 0), "test_cases[3].graders[0]"),
        ((4, "id"), "[4].id"),
        (("vars", "a.b"), 'vars["a.b"]'),
        (("", "x"), '[""].x'),
        (("\x1b[2J",), '["\\u001b[2J"]'),
        (("größe", "日本"), "größe.日本"),
    ],
)
def test_field_text(path: tuple[str | int, ...], text: str) -> None:
    assert field_text(path) == text


def test_quoted_text_is_short_and_cannot_steer_a_terminal() -> None:
    assert quoted("exat") == "'exat'"
    assert "\x1b" not in quoted("\x1b[31mred")
    assert len(quoted("x" * 10_000)) < 80
    assert quoted(f"the key is {'s3cret' * 12}") == "'the key is…'"


def test_problems_need_no_pydantic() -> None:
    code = "import sys, evalharness.domain.problem; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
