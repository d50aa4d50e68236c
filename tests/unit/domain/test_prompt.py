"""Prompts as data: their short forms and names, what cases fill in, and which variants they make."""

from __future__ import annotations

import pytest

from evalharness.domain.case import Case
from evalharness.domain.prompt import Prompt
from evalharness.domain.suite import Suite
from evalharness.errors import InvalidValue

ASKED = Case(
    id="a", input={"Question": "Why?", "from": {"town": "Rome"}}, vars={"Who": "Ada", "times": 2, "loud": True}
)


def test_short_forms_and_names_by_position() -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "{{x}}"}]
    suite = Suite(name="s", prompts=["Say {{x}}", {"label": "polite", "text": "Please {{x}}\n"}, chat])
    assert [prompt.name for prompt in suite.prompts] == ["prompt 1", "polite", "prompt 3"]
    assert [prompt.content for prompt in suite.prompts] == ["Say {{x}}", "Please {{x}}", {"messages": chat}]
    named = Suite(name="s", prompts={"a": "{{x}}", "b": chat, "c": {"text": "{{x}}?"}, "d": Prompt(text="{{x}}!")})
    assert [prompt.name for prompt in named.prompts] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        (["  \n"], "is empty"),
        ([{"name": "nothing"}], "a prompt must be a text"),
        ([{"text": "a", "messages": [{"role": "user", "content": "b"}]}], "a prompt must be a text"),
        ([{"messages": []}], "must not be empty"),
        ([[{"role": "robot", "content": "b"}]], "role"),
        ([[{"role": "user", "content": ""}]], "is empty"),
        ([{"name": "a", "text": "x"}, {"name": "a", "text": "y"}], "prompt 'a' is used 2 times"),
    ],
)
def test_what_is_no_prompt(prompts: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Suite(name="s", prompts=prompts)


def test_what_a_case_fills_in() -> None:
    names = {"who", "times", "loud", "input", "input.question", "input.from.town", "input.lost", "elsewhere"}
    assert ASKED.values_for(names) == {
        "who": "Ada",
        "times": "2",
        "loud": "true",
        "input": '{"Question":"Why?","from":{"town":"Rome"}}',
        "input.question": "Why?",
        "input.from.town": "Rome",
    }


def test_a_case_with_variables_needs_no_input() -> None:
    case = Case(id="a", vars={"who": "Ada"})
    assert case.content == {"who": "Ada"}
    assert case.values_for({"input"}) == {"who": "Ada"}
    with pytest.raises(InvalidValue, match="input"):
        Case(id="a")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"input": "x", "vars": {"Input": "y"}}, "'input' is given twice"),
        ({"vars": {"who": "a", "WHO": "b"}}, "two names differ only in upper and lower case"),
        ({"vars": {"who": ["a"]}}, "who"),
    ],
)
def test_variables_that_a_case_cannot_have(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Case(id="a", **fields)


def test_how_many_variants_there_are() -> None:
    two = {"prompts": ["{{x}}", "{{x}}?"]}
    targets = {"targets": {"one": "echo", "other": "echo", "third": "echo"}}
    assert Suite(name="s").variant_count == 1
    assert Suite(name="s", **targets).variant_count == 1
    assert Suite(name="s", **two).variant_count == 2
    assert Suite(name="s", **two, **targets).variant_count == 6
    assert Suite(name="s", **two, **targets, target="one").variant_count == 2
    assert Suite(name="s", **two, variants={"a": "echo", "b": "echo"}).variant_count == 4


def test_a_case_with_its_own_target_cannot_be_prompted() -> None:
    with pytest.raises(InvalidValue, match="case 'a': a case cannot have its own target"):
        Suite(name="s", prompts=["{{input}}"], cases=[Case(id="a", input="x", target="echo")])
