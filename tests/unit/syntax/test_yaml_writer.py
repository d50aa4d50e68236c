"""YAML for people: what is quoted, what is on one line, what is a block. A property test checks that it reads back."""

from __future__ import annotations

from typing import Any

import pytest

from evalharness.errors import UsageError
from evalharness.syntax.yaml_writer import yaml_lines


def written(value: Any) -> str:
    [line] = yaml_lines({"k": value})
    return line.removeprefix("k: ")


@pytest.mark.parametrize(
    "text", ["hello", "two words", "a:b", "C# code", "it's", 'say "hi"', "2 eggs", "./x", ".py", "é 😀"]
)
def test_ordinary_text_is_not_quoted(text: str) -> None:
    assert written(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "No", "on", "off", "y", "N", "true", "null", "~", ""),
        *(
            "5",
            "1.0",
            "1e3",
            "0o17",
            "017",
            "0x1F",
            "1_000",
            "1:30",
            "2024-01-15",
            "2024-01-15T10:00:00Z",
            "1,234",
            ".5",
        ),
        *("- x", "? x", "a: b", "a #b", "# x", "[x]", "{x}", "&x", "*x", "!x", "|", ">", "%x", "@x", "`x", "<<", "="),
        *(" x", "x ", "x:"),
    ],
)
def test_text_that_a_reader_may_take_for_something_else_is_quoted(text: str) -> None:
    assert written(text) == f'"{text}"'


def test_backslashes_stay_readable_and_control_characters_are_escaped() -> None:
    assert written(r"^\d+ it's") == r"'^\d+ it''s'"
    assert written("a\tb\0") == r'"a\tb\u0000"'


def test_texts_of_several_lines_are_literal_blocks() -> None:
    assert yaml_lines({"k": "one\n\ntwo"}) == ["k: |-", "  one", "", "  two"]
    assert yaml_lines(["one\ntwo\n"]) == ["- |", "  one", "  two"]
    assert written(" starts with space\nx") == '" starts with space\\nx"', "a block would need an indentation hint"


def test_containers() -> None:
    assert yaml_lines(
        {"a": [], "b": {}, "c": ["x", 1, None, True, 1.5], "d": [{"e": 1, "f": 2}], "g": [["h"], [{}]]}
    ) == [
        "a: []",
        "b: {}",
        "c: [x, 1, null, true, 1.5]",
        "d:",
        "  - e: 1",
        "    f: 2",
        "g:",
        "  - [h]",
        "  - - {}",
    ]


def test_a_key_that_is_too_long_for_one_line_comes_after_a_question_mark() -> None:
    assert yaml_lines({"k" * 1000: 1}) == [f"{'k' * 1000}: 1"]
    assert yaml_lines({"k" * 1001: 1}) == [f"? {'k' * 1001}", ": 1"]


def test_long_lists_are_below_each_other() -> None:
    assert yaml_lines({"k": ["x" * 50, "y" * 50]}) == ["k:", "  - " + "x" * 50, "  - " + "y" * 50]


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 2**63, object()])
def test_what_no_file_may_contain_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        yaml_lines({"k": value})
