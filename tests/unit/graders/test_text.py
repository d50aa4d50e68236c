from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.values.text import shown

Grading = Callable[..., Grade]


@pytest.mark.parametrize(
    ("options", "output", "passes"),
    [
        ("olleh", " olleh\r\n", True),
        ("abc", "Abc", False),
        ({"value": "abc", "case_sensitive": False}, "ABC", True),
        ({"value": "straße", "case_sensitive": False}, "STRASSE", False),
        ("a\nb", "a\r\nb", True),
        ("a\nb", "a\rb", True),
        ({"value": "a\nb", "normalize_newlines": False}, "a\r\nb", False),
        ({"value": "a", "trim_whitespace": False}, "a ", False),
        ({"value": " a", "trim_whitespace": False}, " a", True),
        ("a b", "a  b", False),
        (42, "42", True),
        (42, 42, True),
        (True, "true", True),
        (True, True, True),
        (True, 1, False),
        (4.5, "4.5", True),
        ('{"a":1}', {"a": 1}, True),
        ("", "", True),
        ("", None, True),
        ("null", None, False),
    ],
)
def test_exact(options: Any, output: Any, passes: bool, grade: Grading) -> None:
    assert grade({"exact": options}, output).passed is passes


def test_exact_shows_what_differs_even_when_it_is_white_space(grade: Grading) -> None:
    assert grade({"exact": "a b"}, "a\nb").reason == r"expected 'a b', got 'a\nb'"


def test_exact_keeps_a_part_of_a_huge_answer_as_evidence(grade: Grading) -> None:
    evidence = grade({"exact": "a"}, "b" * 10**6).evidence
    assert evidence["expected"] == "a"
    assert set(evidence["actual"]) == {"b", "…"}
    assert len(evidence["actual"]) < 10_000


@pytest.mark.parametrize(
    ("options", "output", "score"),
    [
        ("Ada", "Ada Byron", 1.0),
        ("ada", "Ada Byron", 0.0),
        ({"value": "ada", "case_sensitive": False}, "Ada Byron", 1.0),
        (["Ada", "Eve", "Bob", "Byron"], "Ada Byron", 0.5),
        (42, "it is 42", 1.0),
        ([1, True], {"a": 1}, 0.5),
        ("", "", 1.0),
    ],
)
def test_contains_scores_the_share_found(options: Any, output: Any, score: float, grade: Grading) -> None:
    verdict = grade({"contains": options}, output)
    assert (verdict.score, verdict.passed) == (score, score == 1.0)


def test_contains_names_what_is_missing(grade: Grading) -> None:
    verdict = grade({"contains": ["Ada", "Eve"]}, "Ada")
    assert verdict.reason == "'Eve' not in 'Ada'"
    assert verdict.evidence == {"missing": ["Eve"]}


def test_not_contains_names_what_it_found(grade: Grading) -> None:
    verdict = grade({"not_contains": {"value": ["sorry", "cannot"], "case_sensitive": False}}, "Sorry!")
    assert verdict.state == "fail"
    assert verdict.reason == "forbidden: 'sorry' found in 'Sorry!'"


@pytest.mark.parametrize(
    ("kind", "value", "output", "passes"),
    [
        ("starts_with", "Yes", "\n Yes, sir", True),
        ("starts_with", "  Yes", "Yes, sir", True),
        ("starts_with", "yes", "Yes", False),
        ("starts_with", "es", "Yes", False),
        ("ends_with", "done", "all done \n", True),
        ("ends_with", "done\n", "all done", True),
        ("ends_with", "Done", "all done", False),
        ("ends_with", "don", "all done", False),
    ],
)
def test_white_space_around_the_answer_does_not_count(
    kind: str, value: str, output: str, passes: bool, grade: Grading
) -> None:
    assert grade({kind: value}, output).passed is passes


def test_ends_with_shows_the_end_of_a_long_answer(grade: Grading) -> None:
    assert grade({"ends_with": "done"}, "x" * 1000 + " the end").reason.endswith("the end'")


@pytest.mark.parametrize(("output", "passes"), [("äöü", True), ("äöüß", False), (None, True), ([1], True)])
def test_max_length_counts_characters(output: Any, passes: bool, grade: Grading) -> None:
    assert grade({"max_length": 3}, output).passed is passes


@pytest.mark.parametrize(
    "written",
    [
        "exact",
        {"exact": None},
        {"exact": ["a"]},
        {"contains": []},
        {"contains": [None]},
        {"contains": [["a"]]},
        {"max_length": -1},
        {"max_length": "long"},
        {"starts_with": ["a"]},
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(written: Any) -> None:
    with pytest.raises(ValidationError):
        registry.parse_options("grader", GraderSpec.model_validate(written))


@pytest.mark.parametrize(
    "parts",
    [
        [{"starts_with": "Hello"}, {"contains": ["Hello", "World"]}, {"ends_with": "World"}],
        [{"starts_with": "He"}, {"starts_with": "Hello"}, {"max_length": 5}],
        [{"ends_with": "."}, {"ends_with": "end."}, {"contains": "the end"}],
        [{"starts_with": "same"}, {"ends_with": "same"}, {"max_length": 4}],
        [{"contains": "b"}, {"contains": "abc"}, {"contains": "abc"}, {"max_length": 3}],
        [{"exact": "4"}, {"numeric": 4}, {"json_equals": 4}],
        [{"not_contains": "x"}, {"max_length": 0}],
    ],
    ids=str,
)
def test_graders_that_agree_have_a_common_example(
    parts: list[Any], build: Callable[..., Grader], grade: Grading
) -> None:
    example = build({"all_of": parts}).example()
    assert example is not None
    assert grade({"all_of": parts}, example.output).passed


@pytest.mark.parametrize(
    "parts",
    [[{"exact": "a"}, {"exact": "b"}], [{"json_equals": True}, {"numeric": 1}], [{"exact": "a"}, {"json_schema": {}}]],
    ids=str,
)
def test_graders_that_disagree_or_cannot_say_have_none(parts: list[Any], build: Callable[..., Grader]) -> None:
    assert build({"all_of": parts}).example() is None


def test_shown_text_is_short_visible_and_on_one_line() -> None:
    assert shown("a\tb\x1b[31m\ud800é") == r"'a\tb\x1b[31m\ud800é'"
    assert shown("many words " * 10) == f"'{('many words ' * 7).rstrip()}…'"


def test_a_cut_never_leaves_most_of_a_secret(grade: Grading) -> None:
    secret = "s3cret" * 12
    assert "s3cret" not in shown(f"the key in use is now {secret}")
    assert len(shown(secret + secret)) < len(secret) / 2
    assert "s3cret" not in grade({"ends_with": "done"}, f"{secret} is the key in use").reason


def test_a_long_answer_is_kept_around_its_first_difference(grade: Grading) -> None:
    same = "word " * 2000
    evidence = grade({"exact": f"{same}alpha {same}"}, f"{same}omega {same}").evidence
    assert isinstance(evidence, dict)
    assert "alpha" in evidence["expected"] and "omega" in evidence["actual"]
    assert max(len(text) for text in evidence.values()) < 3000


def test_the_reason_shows_where_long_texts_differ(grade: Grading) -> None:
    same = "The quick brown fox jumps over the lazy dog. " * 5
    reason = grade({"exact": f"{same}The end."}, f"{same}No end.").reason
    assert "The end." in reason and "No end." in reason
    assert len(reason) < 220
