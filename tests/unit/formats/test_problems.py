"""pydantic's errors in our words, at the place of the mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, Field, StringConstraints, ValidationError

from evalharness.domain.record import Record
from evalharness.domain.specification import GraderSpec
from evalharness.formats.parts import check_grader
from evalharness.formats.problems import Findings, problems_text
from evalharness.syntax.source import parse_text
from evalharness.values.json_value import Json


class Part(Record):
    size: int = Field(default=0, validation_alias=AliasChoices("size", "length"))


class Whole(Record):
    name: Annotated[str, StringConstraints(min_length=2, max_length=4)] = "abc"
    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+$")] = "a"
    code: Annotated[str, StringConstraints(pattern="^x")] = "x"
    parts: list[Part] = Field(default_factory=list)
    words: str | list[str] = ""
    pair: Annotated[tuple[int, ...], Field(min_length=2, max_length=2)] = (1, 2)


def told(written: Any) -> list[str]:
    findings = Findings(parse_text(json.dumps(written), ".json", Path("x.json")))
    findings.validated((), Whole, written)
    return [str(problem).removeprefix("x.json:1: ") for problem in findings.problems]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ({"name": ""}, "name: must not be empty"),
        ({"name": "a"}, "name: must have at least 2 characters"),
        ({"name": "abcde"}, "name: must have at most 4 characters"),
        ({"name": None}, "name: must be text, not null"),
        ({"words": 5}, "words: must be text or a list, not 5"),
        ({"pair": []}, "pair: must not be empty"),
        ({"pair": [1]}, "pair: must have at least 2 entries"),
        ({"pair": [1, 2, 3]}, "pair: must have at most 2 entries"),
        ({"id": "a b"}, "id: must consist of letters, digits and . _ -, not 'a b'"),
        ({"id": ""}, "id: must not be empty"),
        ({"code": "y"}, "code: must match ^x, not 'y'"),
        ({"parts": [{"size": True, "length": 1}]}, "parts[0].length: is given twice, in two spellings"),
        ({"parts": [{"sise": 1}]}, "parts[0].sise: unknown key 'sise'; did you mean 'size'?"),
        ({"parts": [{"width": 1}]}, "parts[0].width: unknown key 'width'; allowed: length, size"),
    ],
)
def test_what_is_wrong_is_reported_without_a_word_of_pydantic(written: Any, problem: str) -> None:
    lines = told(written)
    assert [line for line in lines if line.startswith(problem)], lines
    assert len(lines) == 1 or "spellings" in problem, "one mistake is reported once"


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ({"numeric": "x"}, "graders[0].numeric"),
        ({"numeric": {"value": "x"}}, "graders[0].numeric.value"),
        ({"numeric": 1, "tolerance": "x"}, "graders[0].tolerance"),
        ({"type": "numeric", "value": "x"}, "graders[0].value"),
        ({"numeric": {"value": 1, "tolerence": 1}}, "graders[0].numeric.tolerence"),
        ({"type": "numeric", "value": 1, "tolerence": 1}, "graders[0].tolerence"),
    ],
)
def test_an_option_is_reported_where_it_was_written(written: Json, place: str) -> None:
    findings = Findings(parse_text(json.dumps({"graders": [written]}), ".json", Path("x.json")))
    check_grader(findings, ("graders", 0), GraderSpec.model_validate(written))
    assert [problem.field for problem in findings.problems] == [place]


def test_what_is_in_no_file_is_reported_in_the_same_words() -> None:
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate({"name": "", "parts": [{"sise": 1}]})
    assert problems_text(caught.value, Whole) == (
        "name: must not be empty; parts[0].sise: unknown key 'sise'; did you mean 'size'?"
    )
