"""Values sent between two processes: data arrives as equal values of built-in types; objects are not moved."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalharness.runners.crossing import decode, encode


def crossed(value: Any) -> Any:
    lent: list[Any] = []

    def lend(thing: Any) -> int:
        lent.append(thing)
        return len(lent) - 1

    return decode(json.loads(json.dumps(encode(value, lend))), lambda number: ("lent", type(lent[number]).__name__))


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
hashable = scalars | st.tuples(scalars, scalars) | st.frozensets(scalars)
values = st.recursive(
    hashable | st.complex_numbers(allow_nan=False) | st.decimals(allow_nan=False) | st.fractions(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(hashable, inner) | st.sets(hashable),
)


@given(values)
def test_data_arrives_as_it_was(value: Any) -> None:
    arrived = crossed(value)
    assert arrived == value
    assert type(arrived) is type(value)


class Liar(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Level(IntEnum):
    LOW = 1


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "arrived"),
    [
        (Liar(3), 3),
        (Level.LOW, 1),
        (Point(1, 2), (1, 2)),
        (Counter("aab"), Counter("aab")),
        (OrderedDict(a=1), OrderedDict(a=1)),
        (defaultdict(list, {1: [2]}), defaultdict(list, {1: [2]})),
        (defaultdict(lambda: 1, {1: 2}), {1: 2}),
        (deque([1, 2], 5), deque([1, 2], 5)),
        (range(1, 9, 2), range(1, 9, 2)),
        (Path("a/b"), Path("a/b")),
        ([-(10**9000)], [-(10**9000)]),
        (bytearray(b"x"), b"x"),
        (Decimal("0.10"), Decimal("0.10")),
        (Fraction(1, 3), Fraction(1, 3)),
        (date(2024, 2, 29), date(2024, 2, 29)),
        (datetime(2024, 2, 29, 1, 2, 3, 4, UTC), datetime(2024, 2, 29, 1, 2, 3, 4, UTC)),
        (time(1, 2, 3), time(1, 2, 3)),
        (timedelta(-1, 2, 3), timedelta(-1, 2, 3)),
        (math, ("lent", "module")),
        (object(), ("lent", "object")),
        ([print], [("lent", "builtin_function_or_method")]),
    ],
)
def test_classes_are_left_behind(value: Any, arrived: Any) -> None:
    found = crossed(value)
    assert found == arrived
    assert type(found) is type(arrived)


def test_not_a_number_stays_none() -> None:
    assert math.isnan(crossed(float("nan")))


@pytest.mark.parametrize("written", [{"module": "evalharness"}, {"spell": 1}, {"module": "math"}])
def test_no_module_is_imported_for_the_other_side(written: Any) -> None:
    assert decode(written, lambda held: ("not imported", held))[0] == "not imported"
