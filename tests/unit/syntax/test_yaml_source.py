from __future__ import annotations

from typing import Any

import pytest
import yaml
from missing_parts import missing

from evalharness.domain.problem import Problem
from evalharness.errors import InvalidFile
from evalharness.syntax.limits import line_at
from evalharness.syntax.yaml_source import MAX_ALIASES, parse_yaml


@pytest.fixture(params=[False, True], ids=["c", "pure"])
def pure(request: pytest.FixtureRequest) -> bool:
    if not request.param and not yaml.__with_libyaml__:
        missing("the C parser of PyYAML", "pip install --force-reinstall PyYAML")
    return bool(request.param)


def load(text: str, pure: bool) -> Any:
    return parse_yaml(text, "s.yaml", pure=pure)[0]


def problems(text: str, pure: bool) -> list[Problem]:
    with pytest.raises(InvalidFile) as caught:
        parse_yaml(text, "s.yaml", pure=pure)
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NO", "NO"),
        ("yes", "yes"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("2024-01-15", "2024-01-15"),
        ("1_000", "1_000"),
        ("-0x1F", "-0x1F"),
        ("0b11", "0b11"),
        ("null", None),
        ("~", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("true", True),
        ("True", True),
        ("TRUE", True),
        ("false", False),
        ("tRUE", "tRUE"),
        ("17", 17),
        ("-5", -5),
        ("+5", 5),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("0" * 6000 + "1", 1),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775807", -(2**63) + 1),
        ("0x7fffffffffffffff", 2**63 - 1),
        ("0o777777777777777777777", 2**63 - 1),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1.5E-3", -0.0015),
        (".", "."),
        ("1.2.3", "1.2.3"),
        ("'true'", "true"),
        ('"12"', "12"),
        ("'.nan'", ".nan"),
        ("'~'", "~"),
        ("''", ""),
    ],
)
def test_scalars_follow_the_core_schema(text: str, value: Any, pure: bool) -> None:
    found = load(f"key: {text}", pure)["key"]
    assert found == value
    assert type(found) is type(value)


def test_nothing_at_all_is_none(pure: bool) -> None:
    assert load("", pure) is None
    assert load("# only a comment\n", pure) is None
    assert load("a:\nb: x", pure) == {"a": None, "b": "x"}


@pytest.mark.parametrize(
    "text",
    [".inf", "-.Inf", ".NaN", "1e999", "9223372036854775808", "-9223372036854775808", "9" * 5000, "0x" + "f" * 17],
)
def test_numbers_out_of_range_are_refused_with_their_line(text: str, pure: bool) -> None:
    (problem,) = problems(f"name: x\nlimits:\n  - 1\n  - {text}\n", pure)
    assert (problem.line, problem.field) == (4, "limits[1]")
    assert len(problem.message) < 200


def test_numbers_as_keys_become_their_text(pure: bool) -> None:
    assert load("{1: Poor, 2.50: Fair, true: Good}", pure) == {"1": "Poor", "2.50": "Fair", "true": "Good"}


def test_all_faults_of_a_readable_file_are_reported_together(pure: bool) -> None:
    text = """\
threshold: 1
run: !function tasks.run
load: !!python/object/apply:os.system [ls]
? [complex]
: value
threshold: 2
include: !include other.yaml
limit: .inf
set: !!set {a, b}
alias: *nowhere
"""
    found = problems(text, pure)
    assert [problem.line for problem in found] == [2, 3, 4, 6, 7, 8, 9, 10]
    by_line = {problem.line: problem.message for problem in found}
    assert by_line[6] == "duplicate key 'threshold', first on line 1"
    for line, tag in ((2, "!function"), (3, "!!python/object/apply:os.system"), (7, "!include"), (9, "!!set")):
        assert "tags are not supported" in by_line[line]
        assert tag in by_line[line]
    assert "key must be text" in by_line[4]
    assert "*nowhere" in by_line[10]


def test_a_duplicate_inside_a_list_names_its_place(pure: bool) -> None:
    (problem,) = problems("cases:\n- id: a\n- id: b\n  '1': x\n  1: y\n", pure)
    assert (problem.line, problem.field) == (5, "cases[1].1")
    assert "first on line 4" in problem.message


def test_a_missing_key_is_a_problem(pure: bool) -> None:
    (problem,) = problems("a: 1\n? \n: 2\n", pure)
    assert "key is missing" in problem.message


def test_an_anchored_key_is_a_key_and_may_be_named_again(pure: bool) -> None:
    assert load("&k size: 1\nother: {*k : 2}", pure) == {"size": 1, "other": {"size": 2}}


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("a: 1\nb:\n\t- x\n", 3, "tab"),
        ("a: 1\nb: c: d\n", 2, "unexpected ':'"),
        ("a: 1\nb: @x\n", 2, "cannot start with '@'"),
        ("a: 1\nb: 'open\nc: 2\n", 3, "starts on line 2"),
        ("a: 1\nb: [1, 2\n", 2, "bracket"),
        ("a: 1\nb: [", 2, "a bracket is not closed"),
        ("a: 1\nb: {", 2, "a bracket is not closed"),
        ("a: 1\nb: {c: [", 2, "a bracket is not closed"),
        ("- a\nb: c\n", 2, "indentation"),
        ("a: 1\nb: \x07\n", 2, r"'\x07'"),
        ('a: 1\nb: "\\ud800"\n', 2, ""),
        ('a: 1\nb: "\\Uffffffff"\n', 2, ""),
        ("a: 1\nb: !other!tag x\n", 2, "tag"),
        ("%YAML 99999999999999999999.1\n---\na: 1\n", 1, ""),
    ],
)
def test_broken_syntax_is_reported_with_its_line(text: str, line: int, part: str, pure: bool) -> None:
    (problem,) = problems(text, pure)
    assert problem.line == line
    assert part in problem.message


def test_faults_before_broken_syntax_are_reported_too(pure: bool) -> None:
    assert [problem.line for problem in problems("a: 1\na: 2\nb: [\n", pure)] == [2, 3]


def test_a_second_document_is_refused(pure: bool) -> None:
    (problem,) = problems("a: 1\n---\nb: 2\n", pure)
    assert problem.line == 2
    assert load("--- \na: 1\n...\n", pure) == {"a": 1}


def test_aliases_give_equal_but_separate_data(pure: bool) -> None:
    data = load("base: &b {tags: [x]}\none: *b\ntwo: *b\n", pure)
    data["one"]["tags"].append("y")
    assert data["base"] == data["two"] == {"tags": ["x"]}


def test_an_anchor_may_be_given_again(pure: bool) -> None:
    assert load("[&a 1, *a, &a 2, *a]", pure) == [1, 1, 2, 2]


def test_merge_keys_fill_in_what_is_not_given(pure: bool) -> None:
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\none: {<<: *a, y: 9}\nmany: {<<: [*a, *b]}\n"
    data = load(text, pure)
    assert data["one"] == {"x": 1, "y": 9}
    assert data["many"] == {"x": 1, "y": 1, "z": 2}


def test_a_quoted_merge_key_is_an_ordinary_key(pure: bool) -> None:
    assert load("{'<<': 1}", pure) == {"<<": 1}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: &a {x: 1}\nb: &b {<<: *a}\nc: {<<: *b}\n", "no merge-of-merge"),
        ("a: &a {x: 1}\nb: 1\nc: {<<: {<<: *a}}\n", "no merge-of-merge"),
        ("a: 1\nb: 2\nc: {<<: 3}\n", "a mapping or a list of mappings"),
        ("a: &a [1]\nb: 2\nc: {<<: *a}\n", "a mapping or a list of mappings"),
        ("a: &a {}\nb: 2\nc: {<<: *a, <<: *a}\n", "duplicate key"),
        ("a: 1\nb: 2\nc: &c [*c]\n", "is inside the value it refers to"),
    ],
)
def test_merges_and_aliases_that_cannot_be_followed(text: str, part: str, pure: bool) -> None:
    (problem,) = problems(text, pure)
    assert problem.line == 3
    assert part in problem.message


def test_the_number_of_aliases_is_bounded(pure: bool) -> None:
    assert len(load("a: &a 1\nb: [" + "*a, " * MAX_ALIASES + "]", pure)["b"]) == MAX_ALIASES
    (problem,) = problems("a: &a 1\nb:\n" + "- *a\n" * (MAX_ALIASES + 1), pure)
    assert problem.line == MAX_ALIASES + 3
    assert "aliases" in problem.message


def test_a_bomb_of_aliases_is_refused(pure: bool) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    (problem,) = problems("\n".join(levels), pure)
    assert "expand to more than" in problem.message
    assert problem.line > 1


def test_a_bomb_of_merges_is_refused(pure: bool) -> None:
    levels = ["a0: &a0 {k: 1}"] + [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 25)]
    found = problems("\n".join(levels), pure)
    assert found[0].line == 3
    assert "no merge-of-merge" in found[0].message


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "? ", "[\n"])
def test_deep_nesting_is_refused_without_a_crash(opening: str, pure: bool) -> None:
    assert "deeper than 64" in problems(opening * 100_000, pure)[-1].message


def test_nesting_of_64_is_the_deepest(pure: bool) -> None:
    load("[" * 64 + "]" * 64, pure)
    (problem,) = problems("[\n" * 65 + "]" * 65, pure)
    assert problem.line == 65


def test_aliases_cannot_hide_deep_nesting(pure: bool) -> None:
    text = "a: &a " + "[" * 40 + "]" * 40 + "\nb: " + "[" * 30 + "*a" + "]" * 30
    (problem,) = problems(text, pure)
    assert (problem.line, "deeper than 64" in problem.message) == (2, True)


def test_lines_of_keys_elements_aliases_and_merged_keys(pure: bool) -> None:
    text = """\
# comment
base: &b
  x: 1
  y:
    - 1
    - 2
cases:
  - id: a
    options: *b
  -
    id: b
    <<: *b
"""
    lines = parse_yaml(text, "s.yaml", pure=pure)[1]()
    places = {
        (): 2,
        ("base",): 2,
        ("base", "y", 1): 6,
        ("cases",): 7,
        ("cases", 0): 8,
        ("cases", 0, "options"): 9,
        ("cases", 0, "options", "y"): 4,
        ("cases", 1, "id"): 11,
        ("cases", 1, "x"): 3,
        ("cases", 1, "missing"): 11,
        ("cases", 7, "id"): 7,
        ("cases", 0, "id", "deeper"): 8,
        ("nothing",): 2,
    }
    assert {path: line_at(lines, path) for path in places} == places
