"""Whether graders fit what is expected: each mistake is found, and what is right is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.domain.case import Case
from evalharness.domain.suite import Suite
from evalharness.engine.verifying.grader_fit import grader_findings

FOX = "The quick brown fox jumps over the lazy dog"
CODE = "def add(a, b):\n    return a + b"
MISTAKES: dict[str, dict[str, Any]] = {
    "choice.no_grader": {},
    "choice.only_limits": {"graders": [{"max_length": 9}, {"latency": {"max_ms": 9}}]},
    "choice.exact_long": {"expected": FOX},
    "choice.exact_json": {"expected": '{"a": [1, 2]}'},
    "choice.exact_decimal": {"expected": "-0.5"},
    "choice.contains_number": {"expected": {"contains": ["Canberra", 12]}},
    "choice.contains_short": {"graders": [{"any_of": [{"contains": "no"}, {"exact": "never"}]}]},
    "choice.regex_any": {"graders": [{"regex": "(yes)?"}]},
    "choice.regex_none": {"graders": [{"type": "regex", "pattern": ".*", "must_match": False}]},
    "choice.code_as_text": {"expected": CODE},
    "choice.judge_for_value": {"reference": "Paris", "graders": ["model"]},
    "choice.person_for_value": {"reference": 12, "graders": ["human"]},
    "choice.judge_no_rubric": {"graders": ["model"]},
    "choice.critical_alone": {"criticality": "critical", "graders": [{"model": {"rubric": "Is it safe?"}}]},
    "choice.creative": {"tags": ["creative"], "expected": {"contains": "moon"}},
}
RIGHT: tuple[dict[str, Any], ...] = (
    {"expected": "Paris"},
    {"expected": "42"},
    {"expected": {"numeric": 0.5}},
    {"expected": {"contains": "Canberra"}},
    {"expected": {"json_equals": {"a": 1}}},
    {"graders": [{"regex": "^yes$"}]},
    {"graders": [{"regex": "^$"}]},
    {"graders": [{"not": {"contains": 12}}]},
    {"graders": [{"max_length": 9}, {"contains": "Ada Lovelace"}]},
    {
        "category": "code_generation",
        "graders": [{"function_output": {"function_name": "f", "test_cases": [{"args": [1], "expected": 1}]}}],
    },
    {"reference": FOX, "graders": ["model"]},
    {"graders": [{"model": {"rubric": "Is it polite?"}}]},
    {"criticality": "critical", "graders": [{"model": {"rubric": "Is it safe?"}}, "human"]},
    {"tags": ["creative"], "graders": [{"human": "Is it moving?"}]},
)


def codes(about: dict[str, Any]) -> list[str]:
    case = Case.model_validate({"id": "a", "input": "?", **about})
    return [found.code for found in grader_findings(case, Suite(name="s", cases=(case,)).graders_for(case))]


@pytest.mark.parametrize("code", MISTAKES)
def test_a_mistake_is_found(code: str) -> None:
    assert codes(MISTAKES[code]) == [code]


@pytest.mark.parametrize("about", RIGHT, ids=str)
def test_nothing_is_said_against_what_fits(about: dict[str, Any]) -> None:
    assert codes(about) == []


def test_code_that_a_category_promises_must_not_be_compared_as_text() -> None:
    assert codes({"category": "code_generation", "expected": {"contains": "return"}}) == ["choice.code_as_text"]


def test_each_finding_comes_once_however_many_graders_have_it() -> None:
    assert codes({"graders": [{"contains": 1}, {"contains": 2}]}) == ["choice.contains_number"]


def test_a_pattern_that_takes_forever_is_left_alone() -> None:
    assert codes({"graders": [{"regex": "(a+)+$"}]}) == []
