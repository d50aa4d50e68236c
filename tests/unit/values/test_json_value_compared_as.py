"""`compared_as`: when two answers are taken to be the same."""

from __future__ import annotations

import pytest

from evalharness.values.json_value import Json, compared_as


@pytest.mark.parametrize(
    ("one", "other"),
    [("Yes", " yes\n"), ("5", "5.0"), ("5", 5), ('{"a": 1}', {"a": 1}), ('"yes"', "YES"), ("a  b", "A\nb")],
)
def test_the_same_answer(one: Json, other: Json) -> None:
    assert compared_as(one) == compared_as(other)


@pytest.mark.parametrize(("one", "other"), [("yes", "yes."), ("5", "50"), ("{}", "[]"), ("", "no"), ("", None)])
def test_other_answers(one: Json, other: Json) -> None:
    assert compared_as(one) != compared_as(other)
