"""What pydantic found wrong is said in plain words, wherever Python code or an answer is the one that is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from evalharness import Answer, Case, Gate, Grade, GraderSpec, Suite, evaluate
from evalharness.domain.invalid_values import explain
from evalharness.errors import InvalidValue, UsageError
from evalharness.sessions import Session
from evalharness.tasks import EvalTask

PYDANTIC = re.compile(r"validation error|Input should|Field required|errors.pydantic|\[type=")
SUITE = Suite(name="s", cases=(Case(id="a", input="hi", expected="hi"),))


class Shape(BaseModel):
    size: int = Field(ge=1)
    kind: Literal["round", "square"]
    corners: list[int | str] = []
    name: str = Field(default="x", min_length=1)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"size": "big", "kind": "round"}, "size: must be a whole number, not 'big'"),
        ({"size": 0, "kind": "round"}, "size: must be at least 1, not 0"),
        ({"size": 1}, "kind: is missing"),
        ({"size": 1, "kind": "oval"}, "kind: 'oval' is not allowed (allowed: round, square)"),
        ({"size": 1, "kind": "round", "corners": [{}]}, "corners[0]: must be a whole number or text"),
        ({"size": 1, "kind": "round", "name": ""}, "name: must not be empty"),
        ({}, "size: is missing; kind: is missing"),
    ],
)
def test_every_problem_has_its_place_and_plain_words(written: Any, said: str) -> None:
    with pytest.raises(ValidationError) as error:
        Shape.model_validate(written)
    assert explain(error.value) == said
    assert explain(error.value, "answer", 3).startswith("answer[3].")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Case(id=3), "Case: id: must be text, not 3; input: is missing"),
        (lambda: Case(id="a", input="", inptu=""), "Case: inptu: is not a known key"),
        (lambda: Gate(preset="x"), "Gate: preset: 'x' is not allowed (allowed: development, staging,"),
        (lambda: Grade(state="fine"), "Grade: state: 'fine' is not allowed"),
        (lambda: EvalTask(id="a", category="x"), "EvalTask: category: "),
        (lambda: Session(id=3), "Session: id: must be text, not 3"),
    ],
)
def test_records_made_in_python_are_refused_in_plain_words(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        make()
    assert isinstance(refused.value, UsageError)
    assert str(refused.value).startswith(said)
    assert not PYDANTIC.search(str(refused.value))


@pytest.mark.parametrize(
    "options",
    [
        {"trials": "x"},
        {"trials": 1.5},
        {"trials": True},
        {"max_concurrency": "x"},
        {"max_concurrency": 1.5},
        {"max_cost_usd": "x"},
        {"max_tokens": 1.5},
        {"judge_model": 3},
        {"use_cache": "maybe"},
        {"sandbox": 3},
    ],
)
def test_options_of_evaluate_are_refused_in_plain_words(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"^{next(iter(options))}.* must be") as refused:
        evaluate(SUITE, lambda text: text, store=":memory:", **options)
    assert not PYDANTIC.search(str(refused.value))


def test_a_part_of_a_grader_is_refused_in_plain_words() -> None:
    grader = GraderSpec(kind="all_of", options=[{"regex": 3}])
    suite = SUITE.model_copy(update={"graders": (grader,)})
    with pytest.raises(UsageError, match=r"all_of.graders\[0\]: regex.pattern: must be text, not 3$"):
        evaluate(suite, lambda text: text, store=":memory:")


class Own(BaseModel):
    size: int


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (lambda text: Answer(output=text, messages="dear"), "Answer: messages: must be a list, not 'dear'"),
        (lambda text: Own(size=text), "ValidationError: Own: size: must be a whole number, not 'hi'"),
        (lambda text: Answer(output=text).model_copy(update={"files": {"a": 3}}), "files.a: must be text, not 3"),
    ],
)
def test_an_answer_that_is_wrong_is_a_reason_in_plain_words(target: Callable[[str], Any], reason: str) -> None:
    [trial] = evaluate(SUITE, target, store=":memory:").trials
    assert trial.state == "failed"
    assert reason in trial.reason
    assert not PYDANTIC.search(trial.reason)


def test_the_words_of_pydantic_are_read_in_one_place() -> None:
    source = Path(__file__).parents[3] / "src" / "evalharness"
    readers = [path.name for path in source.rglob("*.py") if re.search(r"\[[\"']msg[\"']\]", path.read_text())]
    assert readers == ["invalid_values.py"]


def test_an_answer_needs_no_name_for_its_output_and_others_say_which_name_they_need() -> None:
    assert Answer("yes", cost_usd=0.1) == Answer(output="yes", cost_usd=0.1)
    unnamed: list[tuple[Callable[..., Any], str]] = [(Case, "Case(input=…)"), (Suite, "Suite(name=…)")]
    for kind, named in unnamed:
        with pytest.raises(InvalidValue, match=re.escape(named)):
            kind("peru")
    with pytest.raises(InvalidValue, match="Answer"):
        Answer("yes", "no")
