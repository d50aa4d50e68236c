"""Lines that show where an answer differs from what was expected."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from evalharness.domain.report import Difference, Failure
from evalharness.reports.terminal.answer_difference import difference_lines, failure_lines
from evalharness.reports.terminal.screen import Part


def plain(lines: list[tuple[Part, ...]]) -> list[str]:
    return ["".join(part if isinstance(part, str) else part[0] for part in line) for line in lines]


def shown(expected: object, actual: object, *, width: int = 60, most: int = 20) -> list[str]:
    return plain(difference_lines(expected, actual, width=width, most=most))


def test_short_texts_are_shown_whole() -> None:
    assert shown("Canberra", "Sydney") == ["- Canberra", "+ Sydney"]


def test_an_empty_answer_is_said_to_be_empty() -> None:
    assert shown("Canberra", "") == ["- Canberra", "+ (empty)"]


def test_white_space_alone_becomes_visible() -> None:
    assert shown("a b", "a\tb") == ["- 'a b'", r"+ 'a\tb'"]


@pytest.mark.parametrize(
    ("expected", "actual", "seen"),
    [
        ("Paris", "Par\u200bis", ["- 'Paris'", r"+ 'Par\u200bis'"]),
        ("caf\u00e9", "cafe\u0301", ["- 'caf\u00e9'", r"+ 'cafe\u0301'"]),
    ],
    ids=["zero width", "combining accent"],
)
def test_texts_that_look_the_same_are_never_shown_as_equal_lines(expected: str, actual: str, seen: list[str]) -> None:
    assert shown(expected, actual) == seen


def test_wide_characters_take_two_columns_each() -> None:
    same = "東京は日本の首都です。" * 10
    one_line = shown(f"{same}甲", f"{same}乙", width=40)
    several = shown(f"{same}\n甲\n{same}", f"{same}\n乙\n{same}", width=40)
    assert "甲" in one_line[0] and "乙" in one_line[1]
    assert max(map(cell_len, one_line + several)) <= 40


def test_long_lines_are_cut_around_the_spot_where_they_differ() -> None:
    long = "word " * 100
    expected, actual = shown(f"{long}alpha {long}", f"{long}beta {long}", width=40)
    assert "alpha" in expected and "beta" in actual
    assert expected.startswith("- …") and expected.endswith("…")
    assert max(map(len, (expected, actual))) <= 40
    assert expected.index("alpha") == actual.index("beta")


def test_a_long_text_that_only_ends_earlier_shows_where() -> None:
    expected, actual = shown("x " * 200 + "the end", "x " * 200, width=40)
    assert "the end" in expected
    assert expected != actual


def test_multi_line_texts_are_a_diff_with_context_around_the_first_difference() -> None:
    before = [f"line {number}" for number in range(30)]
    now = [*before[:20], "another line", *before[21:]]
    assert shown("\n".join(before), "\n".join(now)) == [
        "… 18 equal lines",
        "  line 18",
        "  line 19",
        "- line 20",
        "+ another line",
        "  line 21",
        "  line 22",
    ]


def test_more_lines_than_wanted_are_counted() -> None:
    lines = shown("\n".join("abcdef"), "\n".join("ABCDEF"), most=4)
    assert lines == ["- a", "- b", "- c", "… 9 more lines"]


def test_json_values_are_compared_by_path() -> None:
    expected = {"items": [{"price": 1}, {"price": 2}, {"price": 3}], "name": "a", "gone": True}
    actual = {"items": [{"price": 1}, {"price": 2}, {"price": 4}], "name": "a", "new key": None}
    assert shown(expected, actual) == [
        "$.items[2].price: 3 → 4",
        "$.gone: missing, expected true",
        '$["new key"]: not expected: null',
    ]


def test_true_is_not_one() -> None:
    assert shown({"a": True}, {"a": 1}) == ["$.a: true → 1"]


def test_long_values_of_json_are_shown_below_their_path() -> None:
    head, expected, actual = shown({"text": "w " * 100 + "alpha"}, {"text": "w " * 100 + "omega"}, width=40)
    assert head == "$.text:"
    assert expected.startswith("  - …") and expected.endswith("alpha")
    assert actual.startswith("  + …") and actual.endswith("omega")


def test_values_of_different_kinds_are_shown_as_they_are_written() -> None:
    assert shown({"a": 1}, "none") == ['- {"a":1}', "+ none"]


def test_a_failure_without_a_difference_gives_its_reason() -> None:
    failure = Failure(eval_id="a", name="a", state="failed", reason="contains: 'x' not in 'y'", grader="contains")
    assert plain(failure_lines(failure, width=60)) == ["contains: 'x' not in 'y'"]
    compared = failure.model_copy(update={"grader": "exact", "difference": Difference(expected="x", actual="y")})
    assert plain(failure_lines(compared, width=60)) == ["exact", "- x", "+ y"]
