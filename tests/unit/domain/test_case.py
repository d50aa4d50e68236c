from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from evalharness.domain.case import Case, CaseFile, as_text


@pytest.mark.parametrize(
    ("expected", "options"),
    [("Paris", "Paris"), (42, "42"), (4.5, "4.5"), (True, "true"), ("", ""), ("42", "42")],
)
def test_a_bare_expectation_is_exact(expected: Any, options: str) -> None:
    spec = Case(id="a", input="?", expected=expected).expected
    assert spec is not None
    assert (spec.kind, spec.options) == ("exact", options)


def test_an_expectation_may_name_its_grader() -> None:
    for written in ({"contains": "Paris"}, {"type": "contains", "value": "Paris"}):
        spec = Case.model_validate({"id": "a", "input": "?", "expected": written}).expected
        assert spec is not None
        assert spec.kind == "contains"
    assert Case(id="a", input="?").expected is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"expected": [1, 2]}, "json_equals"),
        ({"expected": {}}, "must name a grader"),
        ({"id": ""}, "id"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"timeout_seconds": float("inf")}, "timeout_seconds"),
        ({"retries": -1}, "retries"),
        ({"weight": -1}, "weight"),
        ({"criticality": "dire"}, "criticality"),
        ({"expectd": "Paris"}, "expectd"),
        ({"files": {"a.txt": {}}}, "either"),
        ({"files": {"a.txt": {"text": "a", "path": "b"}}}, "either"),
        ({"files": [1]}, "files"),
    ],
    ids=str,
)
def test_a_case_that_cannot_be_meant_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Case.model_validate({"id": "a", "input": "?", **fields})


def test_a_case_needs_an_input() -> None:
    with pytest.raises(ValidationError, match="input"):
        Case.model_validate({"id": "a"})


@pytest.mark.parametrize(
    ("written", "content", "text"),
    [
        ("hello", "hello", "hello"),
        ({"prompt": "hello"}, "hello", "hello"),
        ({"messages": [{"role": "user"}]}, [{"role": "user"}], '[{"role":"user"}]'),
        ({"type": "prompt", "content": "hello"}, "hello", "hello"),
        ({"type": "api", "content": {"n": 1}}, {"n": 1}, '{"n":1}'),
        ({"prompt": "hello", "n": 1}, {"prompt": "hello", "n": 1}, '{"prompt":"hello","n":1}'),
        ({"type": "prompt"}, {"type": "prompt"}, '{"type":"prompt"}'),
        ([1, 2], [1, 2], "[1,2]"),
        (5, 5, "5"),
    ],
    ids=str,
)
def test_what_the_target_is_given(written: Any, content: Any, text: str) -> None:
    case = Case(id="a", input=written)
    assert case.content == content
    assert case.content_text == text


def test_files_are_texts_or_are_beside_the_suite() -> None:
    written = {"id": "a", "input": "?", "files": {"a.txt": "hello", "b.txt": {"path": "data/b.txt"}}}
    assert Case.model_validate(written).files == {"a.txt": CaseFile(text="hello"), "b.txt": CaseFile(path="data/b.txt")}
    listed = Case.model_validate({"id": "a", "input": "?", "files": ["b.txt"]})
    assert listed.files == {"b.txt": CaseFile(path="b.txt")}


def test_a_case_without_a_name_is_called_by_its_id() -> None:
    assert Case(id="a", input="?").title == "a"
    assert Case(id="a", name="Ada", input="?").title == "Ada"


@pytest.mark.parametrize(
    ("value", "text"), [("ä", "ä"), ({"ä": [1, None]}, '{"ä":[1,null]}'), (True, "true"), (None, "null"), ("", "")]
)
def test_text_stays_text_and_the_rest_becomes_compact_json(value: Any, text: str) -> None:
    assert as_text(value) == text
