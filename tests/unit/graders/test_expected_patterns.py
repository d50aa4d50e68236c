from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.errors import Unscored, UsageError
from evalharness.graders.expected_patterns import PatternCheck, check_patterns, utf16_length

Grading = Callable[..., Grade]


@pytest.mark.parametrize(
    ("output", "patterns", "score"),
    [
        ("ERROR: connection to the database lost", ["regex:error:.+database"], 1),
        ("one", ["contains:one", "contains:two"], 1 / 2),
        ("one two", ["one", "contains:TWO", "regex:thre+"], 2 / 3),
        ("Hi", [], 0),
        ("A sentence of some length.", [], 1),
        ("0123456789", [], 0),
        ("0123456789a", [], 1),
        ("😀" * 6, [], 1),
        ("😀" * 5, [], 0),
        ("there was an error here", ["not_contains:error"], 0),
        ("all well", ["not_contains:ERROR"], 1),
        ("anything", ["contains:"], 1),
        ("anything", ["not_contains:"], 0),
        ("anything", [""], 1),
        ("Contains:x", ["Contains:x"], 1),
        ("x", ["Contains:x"], 0),
        ("a b", ["contains: b"], 1),
        ("ab", ["contains: b"], 0),
        ("a\n", ["regex:^a$"], 0),
    ],
)
def test_score_is_the_share_that_matches_and_all_must(
    output: str, patterns: list[str], score: float, grade: Grading
) -> None:
    verdict = grade({"expected_patterns": patterns}, output)
    assert verdict.score == pytest.approx(score)
    assert verdict.passed is (score == 1)
    assert bool(verdict.reason) is not verdict.passed


@pytest.mark.parametrize(
    ("output", "pattern", "passed", "actual"),
    [
        ("Error 7", r"regex:error \d", True, "matched"),
        ("Error", r"regex:error \d", False, "no match"),
        ("Error", "contains:ERR", True, "found"),
        ("Error", "contains:warning", False, "not found"),
        ("Error", "err", True, "found"),
        ("Error", "warning", False, "not found"),
        ("Error", "not_contains:warning", True, "correctly absent"),
        ("Error", "not_contains:ERROR", False, "found forbidden: error"),
    ],
)
def test_a_check_says_what_was_found(output: str, pattern: str, passed: bool, actual: str, grade: Grading) -> None:
    assert check_patterns(output, [pattern]) == [PatternCheck(pattern, passed, pattern, actual)]
    evidence = grade({"expected_patterns": [pattern]}, output).evidence
    assert evidence == [{"check": pattern, "passed": passed, "expected": pattern, "actual": actual}]


def test_without_patterns_the_length_is_what_is_checked() -> None:
    [check] = check_patterns("Hi", [])
    assert (check.passed, check.expected, check.actual) == (False, "more than 10 characters", "2 characters")


@pytest.mark.parametrize(("text", "length"), [("", 0), ("aé", 2), ("a😀", 3), ("\ud800", 1)])
def test_length_is_counted_as_javascript_counts(text: str, length: int) -> None:
    assert utf16_length(text) == length


@pytest.mark.parametrize("pattern", ["regex:(", "regex:[a-", "regex:a++", "regex:" + "(?:" * 3000 + ")" * 3000])
def test_an_invalid_regex_is_a_problem_of_the_file_that_names_it(pattern: str) -> None:
    spec = GraderSpec(kind="expected_patterns", options=["fine", pattern])
    with pytest.raises(ValidationError) as raised:
        registry.parse_options("grader", spec)
    assert f"'{pattern}' is not a regular expression: " in raised.value.errors()[0]["msg"]
    with pytest.raises(UsageError, match="is not a regular expression"):
        check_patterns("x", [pattern])


@pytest.mark.parametrize("written", [5, [5], {"patterns": ["a"], "flags": ["i"]}], ids=str)
def test_what_is_not_a_list_of_patterns_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="expected_patterns", options=written))


def test_one_pattern_needs_no_list_and_none_needs_nothing(grade: Grading) -> None:
    assert grade({"expected_patterns": "regex:^ada$"}, "Ada").passed
    assert grade("expected_patterns", "eleven chars").passed


def test_a_pattern_that_takes_too_long_is_unscored(grade: Grading) -> None:
    with pytest.raises(Unscored, match=r"regex time limit: /\(x\+x\+\)\+y/"):
        grade({"expected_patterns": ["x", "regex:(x+x+)+y"]}, "x" * 5000)


@pytest.mark.parametrize(
    "patterns",
    [
        [],
        ["contains:greet", "regex:def\\s+greet", "not_contains:TODO", "hello"],
        [r"regex:\b8080\b"],
        [r"regex:^total: \d+$"],
        ["regex:^yes", "contains:because", r"regex:\.$"],
        ["regex:a|b", "not_contains:c"],
        ["regex:^Done 😀$"],
    ],
    ids=str,
)
def test_its_example_passes(patterns: list[str], build: Callable[..., Grader], grade: Grading) -> None:
    example = build({"expected_patterns": patterns}).example()
    assert example is not None
    assert grade({"expected_patterns": patterns}, example.output).passed


@pytest.mark.parametrize(
    "patterns",
    [[r"regex:^(?=.*\d)[a-z]+$"], ["regex:^yes$", "contains:no"], [r"regex:\w", "not_contains:a"]],
    ids=str,
)
def test_it_has_no_example_that_would_not_pass(patterns: list[str], build: Callable[..., Grader]) -> None:
    assert build({"expected_patterns": patterns}).example() is None
