from __future__ import annotations

from typing import Any

import pytest

from evalharness.graders.paths import fits, is_there, read_path, value_at


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("users.*.id", ("users", "0", "id"), True),
        ("users[*].id", ("users", "0", "id"), True),
        ("$.users[0].id", ("users", "0", "id"), True),
        ("users.*.id", ("users", "0"), False),
        ("users.*.id", ("users", "0", "id", "x"), False),
        ("*", ("users",), True),
        ("*", ("users", "0"), False),
        ("**", (), True),
        ("**", ("a", "b", "c"), True),
        ("**.id", ("id",), True),
        ("**.id", ("a", "0", "id"), True),
        ("**.id", ("a", "id", "b"), False),
        ("a.**.id", ("a", "id"), True),
        ("a.**.id", ("b", "a", "id"), False),
        ("a.b.c", ("a.b", "c"), True),
        ("users.*.id", ("users", "ada@example.org", "id"), True),
        ("Users", ("users",), False),
        ("created_*", ("created_at",), True),
        ("*_at", ("created_at",), True),
        ("created_*", ("created",), False),
        ("created_*", ("created_at", "x"), False),
        ("a.x*z.b", ("a", "xyz", "b"), True),
        ("a?*", ("abc",), False),
        ("a.b_*", ("a.b_c",), True),
        ("a.*", ("a.b",), False),
        ("**.**", ("a",), True),
        ("**.a.**.b", ("a", "a", "c", "b"), True),
        (".".join(["**", "a"] * 30), ("a",) * 60, True),
        (".".join(["**", "a"] * 30), (*("a",) * 60, "b"), False),
    ],
)
def test_what_a_path_means(pattern: str, path: tuple[str, ...], expected: bool) -> None:
    assert fits(read_path(pattern), path) is expected


@pytest.mark.parametrize("written", ["", "a..b", ".", "a.", "$"])
def test_what_is_not_a_path(written: str) -> None:
    with pytest.raises(ValueError, match="is not a path"):
        read_path(written)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("a.b", {"a": {"b": None}}, True),
        ("a.b", {"a": {}}, False),
        ("a.b", {"a": 5}, False),
        ("a.1", {"a": [1, 2]}, True),
        ("a.2", {"a": [1, 2]}, False),
        ("a.*.id", {"a": [{"id": 1}, {"id": 2}]}, True),
        ("a.*.id", {"a": [{"id": 1}, {}]}, False),
        ("a.*.id", {"a": []}, True),
        ("a.*.id", {"a": None}, False),
        ("**.id", {"a": [{"b": {"id": 1}}]}, True),
        ("**.id", {"a": [{"b": {}}]}, False),
        ("a.b", {"a.b": 1}, True),
        ("a.created_*", {"a": {"created_at": 1}}, True),
        ("a.created_*", {"a": {"updated_at": 1}}, False),
        (".".join(["**"] * 30), {"a": 1}, True),
        (".".join(["**"] * 30 + ["b"]), {"a": {"a": {"a": {"a": {"a": {"a": 1}}}}}}, False),
    ],
)
def test_whether_something_is_there(path: str, value: Any, expected: bool) -> None:
    assert is_there(value, read_path(path)) is expected


def test_the_value_at_a_place() -> None:
    assert value_at({"a": [{"b": 5}]}, ("a", "0", "b")) == 5
    assert value_at({"a": {1: "b"}}, ("a", "1")) == "b"
    odd = (("a", "²"), ("a", "9" * 5000))  # this used to crash
    for path in (("a", "1"), ("a", "b"), ("a", "0", "c"), ("a", "0", "b", "c"), *odd):
        with pytest.raises(LookupError):
            value_at({"a": [{"b": 5}]}, path)
