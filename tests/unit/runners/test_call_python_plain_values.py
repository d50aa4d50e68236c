from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalharness.graders.returned_values import Unordered, is_equal, read_reply
from evalharness.runners.call_python import NotPlain, to_plain


class Array:
    def tolist(self) -> list[Any]:
        return [1, (2,)]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, [2.5, None]), [1, [2.5, None]]),
        (True, True),
        ({2: "a", None: "b", True: "c", 1.5: ()}, {"dict": {"2": "a", "null": "b", "true": "c", "1.5": []}}),
        (frozenset([1]), {"set": [1]}),
        (math.inf, {"float": "inf"}),
        (Array(), [1, [2]]),
        ({"set": 1}, {"dict": {"set": 1}}),
    ],
)
def test_what_a_function_returned_as_json(value: Any, plain: Any) -> None:
    assert to_plain(value) == plain


@pytest.mark.parametrize("value", [object(), b"x", 1j, {b"x": 1}, [lambda: 1], (n for n in ())])
def test_what_json_cannot_represent_is_named(value: Any) -> None:
    with pytest.raises(NotPlain, match="which JSON does not support"):
        to_plain(value)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_the_harness_reads_what_was_returned(value: Any) -> None:
    assert is_equal(read_reply(json.dumps({"value": to_plain(value)})), value)


def test_a_set_is_read_as_one() -> None:
    assert read_reply(json.dumps({"value": to_plain({1})})) == Unordered((1,))
