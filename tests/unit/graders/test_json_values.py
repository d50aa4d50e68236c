from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.graders.json_values import first_difference, parsed

Grading = Callable[..., Grade]
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('\n```JSON\r\n{"a":\n1}\r\n```\n', {"a": 1}),
        ("```\n[1]```", [1]),
        ('```json\n"``` inside"\n```', "``` inside"),
        ('Here it is:\n```json\n{"a": 1}\n```', None),
        ('```json\n{"a": 1}\n```\nThat is all.', None),
        ('```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', None),
        ("```python\n[1]\n```", None),
        ("```json [1]```", None),
        ("```json\nnot JSON\n```", None),
    ],
)
def test_a_fence_around_the_whole_answer_is_not_part_of_it(text: str, value: Any, grade: Grading) -> None:
    if value is None:
        assert grade({"json_equals": {"value": {"a": 1}}}, text).reason.startswith("not JSON (")
    else:
        assert grade({"json_equals": {"value": value}}, text).passed
        assert grade({"json_schema": {"const": value}}, text).passed


@pytest.mark.parametrize(
    ("value", "output", "difference"),
    [
        ({"a": 1, "b": 2}, '{"b": 2, "a": 1.0}', ""),
        ([1, 2], [1, 2], ""),
        (None, "null", ""),
        ("x", '"x"', ""),
        ("5", "5", "$ is 5, expected '5'"),
        (True, "1", "$ is 1, expected true"),
        (1, "true", "$ is true, expected 1"),
        ({"a": [0]}, {"a": [False]}, "$.a[0] is false, expected 0"),
        ({"a": {"b": 1}}, {"a": {}}, "$.a.b is missing"),
        ({}, {"a": 1}, "$.a is not expected"),
        ([1, 2], [1], "$ has 1 elements, expected 2"),
        ([1, 2], [2, 1], "$[0] is 2, expected 1"),
        ({"a": 1}, [1], "$ is a list, expected an object"),
        (1, {"a": 1}, "$ is an object, expected 1"),
        (None, "0", "$ is 0, expected null"),
    ],
)
def test_equality_and_where_it_ends(value: Any, output: Any, difference: str, grade: Grading) -> None:
    verdict = grade({"type": "json_equals", "value": value}, output)
    assert verdict.passed is (difference == "")
    assert verdict.reason == difference


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("Ada", "Expecting value"),
        ("", "Expecting value"),
        ("NaN", "NaN is not JSON"),
        ("[Infinity]", "Infinity is not JSON"),
        ("1e999", "1e999 is not JSON"),
        ('{"a": 1, "a": 1}', "the key 'a' appears twice"),
        ('{"a": 1} {"a": 1}', "Extra data"),
        ("[" * 100_000, "nested too deeply"),
        (float("nan"), "JSON compliant"),
        ({"a": {1, 2}}, "not JSON serializable"),
    ],
    ids=lambda value: str(value)[:20],
)
@pytest.mark.parametrize("written", [{"json_equals": {"a": 1}}, {"json_schema": True}], ids=["equals", "schema"])
def test_what_is_not_json_fails_and_says_why(written: Any, output: Any, why: str, grade: Grading) -> None:
    verdict = grade(written, output)
    assert verdict.state == "fail"
    assert verdict.reason.startswith("not JSON (")
    assert why in verdict.reason


@given(JSON)
def test_a_value_equals_itself_as_a_value_and_as_text(value: Any) -> None:
    assert first_difference(value, parsed(json.dumps(value)), "$") is None
    assert first_difference(value, value, "$") is None


@given(JSON, JSON)
def test_difference_is_symmetric(one: Any, other: Any) -> None:
    assert (first_difference(one, other, "$") is None) == (first_difference(other, one, "$") is None)


@pytest.mark.parametrize("value", [None, "x", "5", "", 0, False, [], {}, {"a": None}], ids=str)
def test_the_example_of_any_value_is_equal_to_it(value: Any, build: Callable[..., Grader], grade: Grading) -> None:
    written = {"type": "json_equals", "value": value}
    example = build(written).example()
    assert example is not None
    assert example.output is not None
    assert grade(written, example.output).passed


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        ({"a": 1}, {"a": 1}),
        ({"value": 1}, 1),
        ({"value": {"value": 1, "unit": "kg"}}, {"value": 1, "unit": "kg"}),
        ({}, {}),
        (None, None),
    ],
    ids=str,
)
def test_a_mapping_is_the_value_unless_it_names_it(options: Any, meant: Any) -> None:
    assert registry.parse_options("grader", GraderSpec(kind="json_equals", options=options)).value == meant  # type: ignore[attr-defined]


def test_a_mapping_that_is_half_options_is_refused() -> None:
    with pytest.raises(ValidationError, match="unit"):
        registry.parse_options("grader", GraderSpec(kind="json_equals", options={"value": 1, "unit": "kg"}))


@pytest.mark.parametrize("key", ["schema", "value"])
def test_a_schema_may_be_called_schema_or_value(key: str, grade: Grading) -> None:
    assert grade({"type": "json_schema", key: {"type": "object"}}, "{}").passed
    assert not grade({"type": "json_schema", key: {"type": "object"}}, "[]").passed


def test_schema_problems_are_placed_and_few(grade: Grading) -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    verdict = grade({"json_schema": schema}, [{"n": "one"}, *["x"] * 100])
    assert verdict.reason.startswith('$[0].n: "one" is not of type "integer"; $[1]: ')
    assert len(verdict.evidence["problems"]) == 5


def test_a_huge_answer_is_not_quoted_in_full(grade: Grading) -> None:
    reason = grade({"json_schema": {"type": "object"}}, json.dumps("x" * 10**6)).reason
    assert len(reason) < 1000
    assert reason.endswith('… is not of type "object"')


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "no-such-type"},
        {"pattern": "("},
        {"$ref": "#/nowhere"},
        {"$ref": "#"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "file:///etc/hostname"},
        "text",
        None,
    ],
    ids=str,
)
def test_what_is_not_a_schema_is_refused_and_nothing_is_fetched(schema: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec(kind="json_schema", options=schema))
