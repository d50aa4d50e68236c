from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.errors import Unscored

Grading = Callable[..., Grade]

SCORES = {"specificity": 4.2, "actionability": 4.5, "correctness": 4.8, "tone": 4.6}
QUALITY = {"quality_scores": SCORES, "sample_comments": ["Use `const`", "Over 50 lines"]}
COUNTED = {"status": 200, "body": {"count": 10, "name": "x"}}
MAY_DROP_A_LITTLE = {"quality_scores": {"min_delta": -0.3, "max_delta": None}}


def written(value: Any, tolerance: Any = None) -> dict[str, Any]:
    return {"type": "numeric_deltas", "value": value, "tolerance": tolerance}


@pytest.mark.parametrize(
    ("value", "tolerance", "answer", "passes"),
    [
        (QUALITY, MAY_DROP_A_LITTLE, QUALITY, True),
        (QUALITY, MAY_DROP_A_LITTLE, {"quality_scores": SCORES}, True),
        (QUALITY, MAY_DROP_A_LITTLE, {"quality_scores": {**SCORES, "tone": 4.3}}, True),
        (QUALITY, MAY_DROP_A_LITTLE, {"quality_scores": {**SCORES, "tone": 4.29}}, False),
        (QUALITY, MAY_DROP_A_LITTLE, {"quality_scores": {**SCORES, "tone": 500}}, True),
        (QUALITY, {"quality_scores": {"max_delta": 0}}, {"quality_scores": {**SCORES, "tone": 0}}, True),
        (QUALITY, {"quality_scores": {"max_delta": 0}}, {"quality_scores": {**SCORES, "tone": 4.7}}, False),
        (QUALITY, {"quality_scores": {"tone": {"min_delta": -1}}}, {"quality_scores": {"tone": 3.6}}, True),
        (QUALITY, {"quality_scores.tone": {"min_delta": -1}}, {"quality_scores": {"tone": 3.6}}, True),
        (QUALITY, {"quality_scores.*": {"min_delta": -1}}, {"quality_scores": {**SCORES, "tone": 3.5}}, False),
        (
            QUALITY,
            {"quality_scores": {"min_delta": 0}, "quality_scores.tone": {"min_delta": -1}},
            {"quality_scores": {**SCORES, "tone": 4}},
            True,
        ),
        (QUALITY, {"min_delta": -1, "max_delta": 1}, {"quality_scores": {**SCORES, "tone": 5}}, True),
        (QUALITY, None, QUALITY, True),
        (QUALITY, {}, {"quality_scores": {**SCORES, "tone": 4.6 + 1e-12}}, True),
        (QUALITY, {}, {"quality_scores": {**SCORES, "tone": 4.6 + 1e-6}}, False),
        ({"a": 1, "b": 2}, {"a": {"min_delta": 0}}, {"a": 1}, True),
        ({"a": 1, "b": 2}, {"b": {"min_delta": 0}}, {"a": 1}, False),
        ({"1": 5}, {}, {1: 5}, True),
        ({"a": 1}, {}, {"a": True}, False),
        ({"a": 1}, {}, {"a": "1"}, False),
        ({"a": 1}, {}, {"a": None}, False),
        ({"a": 1}, {}, {"a": [1]}, False),
        ({"a": 1}, {}, {"a": 10**400}, False),
        ({"a": 1}, {}, '{"a": NaN}', False),
        ({"a": 2**60}, {}, {"a": 2**60 + 1}, False),
        ([1, 2, 3], {"*": {"min_delta": -1, "max_delta": 1}}, [2, 1, 3], True),
        ([1, 2, 3], {}, [1, 2], False),
        (4.5, {"min_delta": -0.5}, "about 4.1 metres", True),
        (4.5, {"min_delta": -0.5}, "4", True),
        (4.5, {"min_delta": -0.5}, 3.9, False),
        (4.5, {}, "no idea", False),
        (4.5, {}, '{"a": 4.5}', False),
        ("4.5 s", {"max_delta": 1}, 5, True),
        ('{"a": 1}', {}, {"a": 1}, True),
    ],
)
def test_what_stays_close_enough(value: Any, tolerance: Any, answer: Any, passes: bool, grade: Grading) -> None:
    verdict = grade(written(value, tolerance), answer)
    assert verdict.passed is passes, verdict.reason
    assert (verdict.score == 1.0) is passes


@pytest.mark.parametrize(
    ("ignored", "answer", "passes"),
    [
        (["at"], {"n": 1, "at": 9, "took": {"ms": 3}}, True),
        (["at"], {"n": 1, "took": {"ms": 3}}, True),
        (["at"], {"n": 2, "at": 5, "took": {"ms": 3}}, False),
        (["at", "took"], {"n": 1}, True),
        (["at", "t*k.*"], {"n": 1}, True),
        (["**.ms"], {"n": 1, "at": 5}, True),
        (["**.ms"], {"n": 1, "at": 6}, False),
    ],
)
def test_numbers_under_an_ignored_path_are_not_judged(
    ignored: list[str], answer: Any, passes: bool, grade: Grading
) -> None:
    spec = {"type": "numeric_deltas", "value": {"n": 1, "at": 5, "took": {"ms": 3}}, "ignore_fields": ignored}
    assert grade(spec, answer).passed is passes


def test_ignored_paths_may_start_at_the_body(grade: Grading) -> None:
    for path in ("count", "body.count"):
        spec = {"type": "numeric_deltas", "value": COUNTED, "ignore_fields": [path]}
        assert grade(spec, {"status": 200, "body": {"count": 99}}).passed
        assert not grade(spec, {"status": 500, "body": {"count": 10}}).passed


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"ignore_fields": ["a"]}, "every number is ignored, so there is nothing to check"),
        ({"ignore_fields": ["a..b"]}, "is not a path"),
        ({"tolerance": {"a": {"min_delta": "low"}}}, "a.min_delta must be a number, not 'low'"),
        ({"tolerance": {"a": {"min_delta": True}}}, "a.min_delta must be a number, not true"),
        ({"tolerance": {"min_delta": [1]}}, "min_delta must be a number, not a list"),
        ({"tolerance": {"a": {"min_delta": 1, "maxdelta": 2}}}, "a.maxdelta is not a limit"),
        ({"tolerance": {"a": {"min_delta": 2, "max_delta": 1}}}, "a: min_delta 2 is larger than max_delta 1"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_words(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        registry.parse_options("grader", GraderSpec(kind="numeric_deltas", options={"value": {"a": 1}, **options}))
    assert problem in caught.value.errors()[0]["msg"]


class TestResponses:
    @pytest.mark.parametrize("path", ["count", "body.count", "body"])
    @pytest.mark.parametrize("whole", [True, False])
    def test_paths_may_start_at_the_body(self, path: str, whole: bool, grade: Grading) -> None:
        for count, passes in ((11, True), (13, False)):
            body = {"count": count}
            answer = {"status": 500, "body": body} if whole else body
            assert grade(written(COUNTED, {path: {"max_delta": 2}}), answer).passed is passes

    def test_a_body_is_found_in_a_response(self, grade: Grading) -> None:
        assert grade(written({"count": 10}), {"status": 200, "body": {"count": 10}}).passed

    def test_without_a_tolerance_the_status_counts_too(self, grade: Grading) -> None:
        assert grade(written(COUNTED), COUNTED).passed
        assert grade(written(COUNTED), {**COUNTED, "status": 500}).score == 0.5

    def test_a_body_alone_cannot_be_judged_by_its_status(self, grade: Grading) -> None:
        with pytest.raises(Unscored, match="body"):
            grade(written(COUNTED, {"status": {"max_delta": 0}}), {"count": 10})


def test_reasons_name_the_numbers_and_how_far_they_moved(grade: Grading) -> None:
    verdict = grade(
        written(QUALITY, MAY_DROP_A_LITTLE), {"quality_scores": {**SCORES, "tone": 4.0, "correctness": "x"}}
    )
    assert verdict.reason == (
        "quality_scores.correctness is 'x', not a number; "
        "quality_scores.tone moved by -0.6 (from 4.6 to 4), allowed -0.3 to any increase"
    )
    assert verdict.score == 0.5
    assert verdict.evidence["deltas"]["quality_scores.specificity"] == 0
    assert grade(written({"a": 1}), {}).reason == "a is missing"
    assert grade(written({"a": 1}), {"a": 2}).reason == "a moved by +1 (from 1 to 2), allowed no change"


def test_evidence_and_reason_are_bounded(grade: Grading) -> None:
    verdict = grade(written(list(range(1000))), [-1.0] * 1000)
    assert len(verdict.evidence["problems"]) == len(verdict.evidence["deltas"]) == 20
    assert verdict.reason.count(";") == 4


@pytest.mark.parametrize("value", [QUALITY, 4.5, [1, 2], "4.5 s"])
def test_the_example_is_the_known_good_answer(value: Any, build: Callable[..., Grader], grade: Grading) -> None:
    example = build(written(value)).example()
    assert example is not None
    assert grade(written(value), example.output).passed


@pytest.mark.parametrize(
    ("value", "tolerance", "told"),
    [
        ({"a": "x", "b": True}, {}, "contains no number"),
        ("words", {}, "contains no number"),
        (QUALITY, {"qualty_scores": {"min_delta": -0.3}}, "'qualty_scores' matches no number"),
        (QUALITY, {"sample_comments": {"min_delta": -0.3}}, "'sample_comments' matches no number"),
        (QUALITY, {"quality_scores": 0.3}, "must be a mapping"),
        (QUALITY, {"quality_scores": {}}, "must be a mapping"),
        (QUALITY, {"quality_scores": {"min_delta": 1, "max_delta": 0}}, "larger than max_delta"),
        (QUALITY, {"quality_scores": {"min_delta": "low"}}, "quality_scores"),
        (QUALITY, {"quality_scores": {"min_delta": float("nan")}}, "finite"),
        (QUALITY, {"quality_scores": {"mn_delta": 1}}, "must be a mapping"),
        (QUALITY, 0.3, "tolerance"),
    ],
)
def test_wrong_options_are_refused(value: Any, tolerance: Any, told: str) -> None:
    """A tolerance that means nothing would pass every answer."""
    with pytest.raises(ValidationError, match=told):
        registry.parse_options(
            "grader", GraderSpec(kind="numeric_deltas", options={"value": value, "tolerance": tolerance})
        )
