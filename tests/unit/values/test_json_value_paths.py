"""Paths into JSON values: which steps a text means, and what a step leads to."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.targets.answers import look_up
from evalharness.values.json_value import MISSING, look_along, step_into, steps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.0.b", ("a", "0", "b")),
        ("$.a[0].b", ("a", "0", "b")),
        ("a[-1]", ("a", "-1")),
        ("$[2][3]", ("2", "3")),
        ("$", ()),
        ("", ()),
        ("$price.eur", ("$price", "eur")),
        ("a[x].²", ("a[x]", "²")),
    ],
)
def test_what_a_text_means(text: str, expected: tuple[str, ...]) -> None:
    assert steps(text) == expected


@pytest.mark.parametrize(
    ("value", "step", "found"),
    [
        ({"a": None}, "a", None),
        ({"a": 1}, "b", MISSING),
        ({1: "one", None: "nothing"}, "1", "one"),
        ({"1": "text", 1: "number"}, "1", "text"),
        (["x", "y"], "1", "y"),
        (("x", "y"), "0", "x"),
        (["x"], "1", MISSING),
        (["x"], "-1", MISSING),
        (["x"], "length", MISSING),
        (["x"], "", MISSING),
        (["x"], "²", MISSING),
        (["x"], "٠", MISSING),
        (["x"], "9" * 5000, MISSING),
        ("text", "0", MISSING),
        (None, "a", MISSING),
        (MISSING, "a", MISSING),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_behind_a_step(value: Any, step: str, found: Any) -> None:
    assert step_into(value, step) is found


def test_a_list_may_be_counted_from_its_end() -> None:
    assert step_into(["x", "y"], "-1", from_end=True) == "y"
    assert step_into(["x", "y"], "-3", from_end=True) is MISSING


def test_a_whole_way() -> None:
    assert look_along({"a": [{"b": 5}]}, ("a", "0", "b")) == 5
    assert look_along({"a": [{"b": 5}]}, ("a", "1", "b")) is MISSING
    assert look_along({"a": 1}, ()) == {"a": 1}


@pytest.mark.parametrize("path", ["$.choices[-1].text", "choices.0.text", "choices.-1.text"])
def test_the_answer_in_a_servers_reply(path: str) -> None:
    assert look_up({"choices": [{"text": "hi"}]}, path) == "hi"


@pytest.mark.parametrize("step", ["²", "٠", "9" * 5000, "-2", "a"])
def test_a_step_that_leads_nowhere_is_named(step: str) -> None:
    """Characters that Python counts as digits but not as numbers used to crash."""
    with pytest.raises(LookupError, match=f"no '{step}' on the path"):
        look_up({"choices": [{"text": "hi"}]}, f"choices.{step}.text")
