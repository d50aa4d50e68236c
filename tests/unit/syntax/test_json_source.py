from __future__ import annotations

from typing import Any

import pytest

from evalharness.domain.problem import Problem
from evalharness.errors import InvalidFile
from evalharness.syntax.json_source import parse_json, parse_jsonl
from evalharness.syntax.limits import line_at


def load(text: str) -> Any:
    return parse_json(text, "s.json")[0]


def problems(text: str) -> list[Problem]:
    with pytest.raises(InvalidFile) as caught:
        parse_json(text, "s.json")
    return list(caught.value.problems)


def test_plain_values() -> None:
    text = '{"a": [1, -2, 1.5, 1e3, true, false, null, "x"], "b": {}, "c": [], "": "\\ud83d\\ude00"}'
    assert load(text) == {"a": [1, -2, 1.5, 1000.0, True, False, None, "x"], "b": {}, "c": [], "": "😀"}


def test_the_largest_whole_numbers() -> None:
    assert load("[9223372036854775807, -9223372036854775807]") == [2**63 - 1, -(2**63) + 1]


def test_all_faults_of_readable_json_are_reported_together() -> None:
    text = """\
{
  "a": 1,
  "b": [NaN, -Infinity,
        1e999],
  "a": 2,
  "c": {"big": 9223372036854775808},
  "d": "\\ud800",
  "\\udc00": -99999999999999999999999
}"""
    found = [(problem.line, problem.field) for problem in problems(text)]
    assert found[:6] == [(3, "b[0]"), (3, "b[1]"), (4, "b[2]"), (5, "a"), (6, "c.big"), (7, "d")]
    assert [line for line, _ in found[6:]] == [8, 8]
    assert problems(text)[3].message == "duplicate key 'a', first on line 2"


def test_a_number_of_thousands_of_digits_is_a_problem_not_a_crash() -> None:
    (problem,) = problems("[1,\n" + "9" * 6000 + "]")
    assert problem.line == 2
    assert len(problem.message) < 200


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ('{"a": 1,\n "b" 2}', 2),
        ("[1,\n2,\n]", 3),
        ('["a\nb"]', 1),
        ("[1]\n[2]", 2),
        ("{'a': 1}", 1),
        ('{"a": 1, // note\n}', 1),
    ],
)
def test_broken_syntax_is_reported_with_its_line(text: str, line: int) -> None:
    (problem,) = problems(text)
    assert problem.line == line
    assert "not valid JSON" in problem.message


def test_an_escaped_backslash_before_a_surrogate_does_not_hide_it() -> None:
    assert load('"\\\\ud83d"') == "\\ud83d"
    assert problems('"\\\\ud83d\\udc00"')[0].line == 1


def test_nesting_of_64_is_the_deepest() -> None:
    load("[" * 64 + "]" * 64)
    load('{"a":' * 64 + "1" + "}" * 64)
    for opening, closing in (("[\n", "]"), ('{"a":\n', "}")):
        (problem,) = problems(opening * 65 + "1" + closing * 65)
        assert (problem.line, "deeper than 64" in problem.message) == (65, True)


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_very_deep_nesting_is_refused_without_a_crash(opening: str) -> None:
    (problem,) = problems(opening * 100_000)
    assert "deeper than 64" in problem.message


def test_brackets_in_text_are_not_nesting() -> None:
    assert load('["' + "[" * 100 + '"]') == ["[" * 100]


def test_lines_of_keys_and_elements() -> None:
    text = """\
{ "name": "x",
  "cases": [
    {"id": "a", "note": "brackets ]} and \\" quotes"},
    {
      "id":
        "b",
      "limits": [1, -2.5e3,
        true, null], "empty": {}, "none": [ ]
    }
  ],
  "last": "z"
}
"""
    lines = parse_json(text, "s.json")[1]()
    places = {
        (): 1,
        ("name",): 1,
        ("cases",): 2,
        ("cases", 0): 3,
        ("cases", 0, "note"): 3,
        ("cases", 1): 4,
        ("cases", 1, "id"): 5,
        ("cases", 1, "limits", 1): 7,
        ("cases", 1, "limits", 3): 8,
        ("cases", 1, "none", 0): 8,
        ("cases", 1, "missing"): 4,
        ("last",): 11,
        ("cases", -1): 2,
    }
    assert {path: line_at(lines, path) for path in places} == places


def test_json_lines_skip_blank_lines() -> None:
    data, lines = parse_jsonl('{"a": 1}\r\n\n   \n[2]\n', "s.jsonl")
    assert data == [{"a": 1}, [2]]
    assert line_at(lines(), (0, "a")) == 1
    assert line_at(lines(), (1,)) == 4


def test_a_line_separator_inside_text_does_not_end_a_line() -> None:
    assert parse_jsonl('"a\u2028b"\n"c"', "s.jsonl")[0] == ["a\u2028b", "c"]


def test_every_broken_line_of_json_lines_is_reported() -> None:
    text = '{"a": 1}\nnonsense\n\n{"a": 1, "a": 2}\n[NaN]\n' + "[" * 70 + "]" * 70 + "\n{}\n" + "[" * 100_000
    with pytest.raises(InvalidFile) as caught:
        parse_jsonl(text, "s.jsonl")
    assert [problem.line for problem in caught.value.problems] == [2, 4, 5, 6, 8]
    assert [problem.field for problem in caught.value.problems][:3] == ["[1]", "[2].a", "[3][0]"]
