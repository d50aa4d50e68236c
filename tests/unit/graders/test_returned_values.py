from __future__ import annotations

import math
from typing import Any

import pytest

from evalharness.graders.returned_values import (
    NoResult,
    Unordered,
    approximately,
    as_value,
    is_equal,
    read_reply,
    same_members,
    storable,
)

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (0, False, False),
        (True, True, True),
        (None, None, True),
        (None, 0, False),
        ("1", 1, False),
        ([1, [2.0]], (1, [2]), True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ([True], [1], False),
        ({"a": [1]}, {"a": [1.0]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1}, [1], False),
        (2**53 + 1, float(2**53), False),
        (10**400, 1.0, False),
        (NAN, NAN, True),
        ([NAN], [NAN], True),
        (NAN, 1, False),
        (INF, INF, True),
        (INF, -INF, False),
        (Unordered((2, 1)), [1, 2], True),
        (Unordered((2, 1)), [1, 2, 2], False),
        (Unordered((2, 1)), [1, 1], False),
        (Unordered((1,)), [True], False),
        (Unordered(()), [], True),
        (Unordered((1,)), 1, False),
        ({"a": Unordered(("y", "x"))}, {"a": ["x", "y"]}, True),
    ],
)
def test_equals(value: Any, expected: Any, same: bool) -> None:
    assert is_equal(value, expected) is same


@pytest.mark.parametrize(
    ("value", "expected", "tolerances", "same"),
    [
        (0.1 + 0.2, 0.3, (1e-12, 1e-6), True),
        ([1.0, {"a": 2.0000001}], [1, {"a": 2}], (1e-12, 1e-6), True),
        (1.1, 1, (0.1000001, 0), True),
        (1.2, 1, (0.1, 0), False),
        (99.0, 100, (0, 0.01), True),
        (98.9, 100, (0, 0.01), False),
        ("1", 1, (9, 9), False),
        (True, 1, (9, 9), False),
        (10**400, 1.0, (1, 1), False),
        (NAN, 1.0, (9, 9), False),
        (INF, INF, (0, 0), True),
        (INF, 1e308, (1e300, 0.5), False),
        (Unordered((2.05, 1.05)), [1, 2], (0.1, 0), True),
        (Unordered((2.05, 3.05)), [1, 2], (0.1, 0), False),
    ],
)
def test_approx(value: Any, expected: Any, tolerances: tuple[float, float], same: bool) -> None:
    absolute, relative = tolerances
    assert approximately(value, expected, absolute=absolute, relative=relative) is same


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        ([3, 1, 1], [1, 3], True),
        (Unordered((3, 1)), [1, 3, 3], True),
        ([1], [1, 3], False),
        ([[1, 2], {"a": [1]}], [{"a": [1.0]}, [1, 2]], True),
        ([True], [1], False),
        ([NAN], [NAN], True),
        ("ab", ["a", "b"], False),
        ({"a": 1}, ["a"], False),
        (None, [], False),
    ],
)
def test_set(value: Any, expected: Any, same: bool) -> None:
    assert same_members(value, expected) is same


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('{"value": [1, null, {"dict": {"a": {"set": [1]}}}]}', [1, None, {"a": Unordered((1,))}]),
        ('{"value": {"float": "-inf"}}', -INF),
        ('{"value": {"int": "12345678901234567890"}}', 12345678901234567890),
    ],
)
def test_a_reply_is_read(reply: str, value: Any) -> None:
    assert read_reply(reply) == value


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ('{"error": "oh"}', "oh"),
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "cannot be read"),
        ('{"value": {"dict": 3}}', "cannot be read"),
        ('{"value": {"dict": {}, "set": []}}', "cannot be read"),
        ('{"value": {"spell": 3}}', "cannot be read"),
        ('{"value": {"float": []}}', "cannot be read"),
        ('{"value": ' + "1" * 5000 + "}", "cannot be read"),
        ('{"value": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"value": ' + "[" * 102 + "]" * 102 + "}", "nested too deeply"),
    ],
)
def test_a_reply_may_be_anything(reply: str, told: str) -> None:
    with pytest.raises(NoResult, match=told):
        read_reply(reply)


def test_what_a_shell_prints_is_json_where_it_can_be() -> None:
    assert as_value("[1, 2]") == [1, 2]
    assert as_value("1, 2") == "1, 2"
    assert as_value("[" * 100_000) == "[" * 100_000


def test_what_is_kept_is_json() -> None:
    assert storable([NAN, INF, Unordered((1,)), {"a": 2**70}, True]) == ["nan", "inf", [1], {"a": str(2**70)}, True]
