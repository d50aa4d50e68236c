from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalharness.values.variables import (
    escape,
    escape_matchers,
    fill,
    has_braces,
    has_matcher,
    literal,
    needed,
)

VALUES = {"name": "Ada", "base.url": "https://example.com", "n": "5", "sly": "{{name}}"}
TEXTS = (
    st.lists(st.sampled_from(["{{", "}}", "{", "}", "\\", " ", "name", "any_x", "\n", "é"])).map("".join) | st.text()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_filling_what_was_escaped_gives_it_back(value: Any) -> None:
    assert fill(escape(value), VALUES) == value


@given(JSON)
def test_what_was_escaped_needs_no_variable(value: Any) -> None:
    assert needed(escape(value)) == set()


@given(JSON)
def test_without_braces_there_is_nothing_to_do(value: Any) -> None:
    if not has_braces(value):
        assert fill(value, VALUES) == escape(value) == value
        assert needed(value) == set()


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Hello {{name}}!", "Hello Ada!"),
        ("{{ name }}", "Ada"),
        ("{{NAME}} {{Name}}", "Ada Ada"),
        ("{{base.url}}/v1", "https://example.com/v1"),
        ("{{n}}{{n}}", "55"),
        ('{"a": {{n}}}', '{"a": 5}'),
        (r"\{{name}}", "{{name}}"),
        (r"\\{{name}}", r"\{{name}}"),
        ("{{unknown}}", "{{unknown}}"),
        ("{{sly}}", "{{name}}"),
        ("{{any_string}}", "{{any_string}}"),
        ("{{ANY_NUMBER}}", "{{ANY_NUMBER}}"),
        ("{{ 5 }}", "{{ 5 }}"),
        ("{{", "{{"),
        ("{{}}", "{{}}"),
        ("{name}", "{name}"),
        ("{{na me}}", "{{na me}}"),
    ],
)
def test_filling_a_text(text: str, filled: str) -> None:
    assert fill(text, VALUES) == filled


def test_filling_reaches_keys_lists_and_mappings_and_leaves_the_rest() -> None:
    written = {"{{name}}": ["{{n}}", ({"deep": "{{n}}"},), 5, None, True], 7: "{{n}}"}
    assert fill(written, VALUES) == {"Ada": ["5", [{"deep": "5"}], 5, None, True], 7: "5"}


def test_needed_names_are_lower_case_and_without_matchers_and_escapes() -> None:
    written = {"{{Key}}": ["{{other}} {{OTHER}}", {"x": "{{any_thing}} {{Any_Thing}}"}], "y": r"\{{escaped}}"}
    assert needed(written) == {"key", "other"}


@pytest.mark.parametrize(
    ("value", "found"),
    [("{{", True), (r"\{{", True), ({"{{a}}": 1}, True), ([("{{a}}",)], True), ("{a}", False), (5, False), ({}, False)],
    ids=str,
)
def test_the_quick_look(value: Any, found: bool) -> None:
    assert has_braces(value) is found


@given(TEXTS)
@example("{{any_number}}")
@example(r"\{{any_number}} \\{{ ANY_uuid }}b{{any_string}}")
def test_what_only_looks_like_a_matcher_can_be_written_so_that_it_is_none(text: str) -> None:
    written = escape_matchers({"a": [text]})["a"][0]
    assert not has_matcher(written)
    assert literal(written) == text
    assert fill(escape(written), {}) == written, "variables are filled in before"
