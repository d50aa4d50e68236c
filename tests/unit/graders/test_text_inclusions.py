from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec

Grading = Callable[..., Grade]

EXTRACTION = {
    "type": "includes",
    "must_include": ["PostgreSQL 14+", "/api/v1/users", "DATABASE_URL environment variable"],
    "must_not_include": ["deprecated", "legacy"],
}


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("It needs postgresql 14+, serves /API/v1/users and reads the DATABASE_URL\n  environment variable.", 1.0),
        ("PostgreSQL 14+ and /api/v1/users", 0.8),
        ("PostgreSQL 14+, /api/v1/users, DATABASE_URL environment variable; the rest is Legacy", 0.8),
        ("A deprecated legacy system", 0.0),
        ("", 0.4),
        ({"db": "PostgreSQL 14+"}, 0.6),
    ],
)
def test_the_score_is_the_share_of_demands_met(answer: Any, score: float, grade: Grading) -> None:
    verdict = grade(EXTRACTION, answer)
    assert verdict.score == pytest.approx(score)
    assert verdict.passed is (score == 1.0)


def test_the_reason_names_what_is_missing_and_what_is_forbidden(grade: Grading) -> None:
    verdict = grade(EXTRACTION, "PostgreSQL 14+ and /api/v1/users, legacy")
    assert verdict.reason == (
        "missing: 'DATABASE_URL environment variable'; forbidden: 'legacy'; "
        "in 'PostgreSQL 14+ and /api/v1/users, legacy'"
    )
    assert verdict.evidence == {"missing": ["DATABASE_URL environment variable"], "forbidden": ["legacy"]}


def test_a_long_list_is_cut_in_the_reason_only(grade: Grading) -> None:
    verdict = grade({"includes": [f"word{i:03}" for i in range(100)]}, "nothing")
    assert "'word004' and 95 more" in verdict.reason
    assert len(verdict.evidence["missing"]) == 100


@pytest.mark.parametrize(("case_sensitive", "passes"), [(False, True), (True, False)])
def test_case_counts_on_request(case_sensitive: bool, passes: bool, grade: Grading) -> None:
    assert grade({"includes": {"must_include": "ADA", "case_sensitive": case_sensitive}}, "ada").passed is passes


def test_numbers_mean_their_text(grade: Grading) -> None:
    assert grade({"includes": [14, True]}, "14 is true").passed


def test_forbidding_alone_is_enough(build: Callable[..., Grader], grade: Grading) -> None:
    assert grade({"includes": {"must_not_include": "legacy"}}, "new").passed
    assert not grade({"includes": {"must_not_include": "legacy"}}, "LEGACY").passed


def test_the_example_contains_what_must_be_there(build: Callable[..., Grader], grade: Grading) -> None:
    example = build(EXTRACTION).example()
    assert example is not None
    assert grade(EXTRACTION, example.output).passed


@pytest.mark.parametrize(
    "options", [None, {}, [], {"must_include": []}, {"must_include": [" "]}, {"must_include": [{}]}]
)
def test_what_demands_nothing_is_refused(options: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="includes", options=options))
