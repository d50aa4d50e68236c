"""Structural comparison of arbitrary JSON values: equal values match, scores are shares, options only allow more."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalharness.graders.json_values import first_difference
from evalharness.graders.structure import StructuralOptions, StructureComparison

LEAVES = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "x", "{{any_number}}", "a{{any_string}}"])
)
KEYS = st.sampled_from(["a", "b", "a.b", "status", "body", "headers"])
JSON = st.recursive(
    LEAVES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
    max_leaves=12,
)
PATHS = st.lists(st.sampled_from(["a", "*", "**", "a.b", "body.a", "headers.a", "**.b", "0"]), max_size=2)


def compared(expected: Any, actual: Any, **options: Any) -> StructureComparison:
    comparison = StructureComparison(StructuralOptions(value=expected, **options))
    comparison.compare_answers(expected, actual)
    return comparison


def without_placeholders(value: Any) -> Any:
    return json.loads(json.dumps(value).replace("{{", "[["))


@given(JSON, PATHS, PATHS)
def test_every_value_matches_itself_however_strictly(value: Any, ignored: list[str], free: list[str]) -> None:
    plain = without_placeholders(value)
    assert not compared(plain, plain, strict=True, ignore_fields=ignored, ignore_values=free).wrong


@given(JSON, JSON)
def test_a_score_is_a_share_and_full_only_for_a_pass(expected: Any, actual: Any) -> None:
    comparison = compared(expected, actual)
    grade = comparison.grade()
    assert 0 <= comparison.wrong <= comparison.compared
    assert grade.passed == (grade.score == 1.0) == (not comparison.differences)


@given(JSON, JSON, PATHS, PATHS, st.booleans())
def test_the_answer_that_is_shown_as_expected_passes(
    expected: Any, actual: Any, ignored: list[str], free: list[str], is_open: bool
) -> None:
    plain = without_placeholders(expected)
    options: dict[str, Any] = {"ignore_fields": ignored, "ignore_values": free, "allow_additional_fields": is_open}
    comparison = compared(plain, actual, **options)
    if comparison.wrong:
        assert not compared(plain, comparison.compared_values["expected"], **options).wrong


@given(JSON, JSON)
def test_equal_json_matches_and_unequal_lists_of_plain_values_do_not(expected: Any, actual: Any) -> None:
    plain, other = [without_placeholders(expected)], [without_placeholders(actual)]
    exact = compared(plain, other, allow_additional_fields=False)
    assert (exact.wrong == 0) == (first_difference(plain, other, "$") is None)


@given(JSON, JSON, PATHS, PATHS)
def test_what_is_ignored_never_makes_an_answer_worse(
    expected: Any, actual: Any, ignored: list[str], free: list[str]
) -> None:
    if not compared(expected, actual, strict=True).wrong:
        assert not compared(expected, actual, strict=True, ignore_fields=ignored, ignore_values=free).wrong
