from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalharness import registry
from evalharness.contracts.grader import Grader
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.specification import GraderSpec
from evalharness.formats.suite_files import load_file
from evalharness.graders.human import HumanOptions

MODEL = {
    "model": "some-judge",
    "temperature": 0.0,
    "max_tokens": 1000,
    "rubric": "Rate the comment.",
    "prompt": "Judge {output} by {rubric} and {expected}.",
    "scoring": {"type": "numeric", "range": [1, 5], "categories": []},
    "examples": [
        {"input": "Added a print", "output": "Remove it", "score": 2, "justification": "too brief"},
        {"input": "Added a print", "output": "Use a logger, because …", "score": 5, "justification": "says why"},
    ],
    "expected": "Use a logger",
    "must_include": ["logger"],
    "must_not_include": "print",
}
LABELS = {1: "Poor", 2: "Below Average", 3: "Average", 4: "Good", 5: "Excellent"}
LIKERT = {"type": "likert", "range": [1, 5], "labels": LABELS, "criteria": ["It is accurate", "It is complete"]}
HUMAN = {
    "interface": "web",
    "evaluators": {"min_required": 2, "max_allowed": 5, "agreement_threshold": 0.8},
    "rating_scale": LIKERT,
    "rubric": "Rate the answer.",
    "time_limit_minutes": 10,
    "blind_evaluation": True,
}
YES, NO = (
    {"value": True, "label": "Pass", "description": "good"},
    {"value": False, "label": "Fail", "description": "bad"},
)


def options_of(kind: str, options: Any) -> Options:
    return registry.parse_options("grader", GraderSpec(kind=kind, options=options))


@pytest.mark.parametrize(
    ("written", "type_", "reason"),
    [
        ({"type": "model", **{key: MODEL[key] for key in MODEL if key != "model"}}, "model", "no judge is set"),
        ("model", "model", "no judge is set"),
        ({"type": "human", **HUMAN}, "human", "a person's rating is pending"),
        ("human", "human", "a person's rating is pending"),
    ],
)
@pytest.mark.parametrize("answer", ["perfect", "", None])
def test_a_grade_is_outstanding_and_never_given(
    written: Any, type_: str, reason: str, answer: Any, build: Callable[..., Grader], grade: Callable[..., Grade]
) -> None:
    verdict = grade(written, answer)
    assert (verdict.state, verdict.score, verdict.reason) == ("awaiting", None, reason)
    assert build(written).type == type_


@pytest.mark.parametrize(
    "options",
    [
        {"scoring": {"type": "boolean"}, "examples": [{"output": "x", "score": True}]},
        {
            "scoring": {"type": "categorical", "categories": ["good", "bad"]},
            "examples": [{"output": "x", "score": "bad"}],
        },
        {"examples": [{"output": "x", "score": 2.5}]},
        {"rubric": None},
    ],
)
def test_every_kind_of_scoring_is_accepted(options: Any) -> None:
    assert options_of("model", options)


@pytest.mark.parametrize(
    "scale",
    [
        {"type": "binary", "options": [YES, NO]},
        {"type": "binary"},
        {"type": "ranking", "description": "Best first", "tie_allowed": False, "min_items": 2, "max_items": 5},
        LIKERT,
        {"type": "likert"},
    ],
)
def test_every_rating_scale_is_accepted(scale: Any) -> None:
    assert options_of("human", {"rating_scale": scale})


def test_labels_mean_the_same_from_yaml_and_from_json(build: Callable[..., Grader]) -> None:
    def human(labels: dict[Any, str]) -> str:
        return build({"type": "human", "rating_scale": {**LIKERT, "labels": labels}}).digest()

    assert human(LABELS) == human({str(key): label for key, label in LABELS.items()})
    assert human(LABELS) != human({**LABELS, 1: "Bad"})


@pytest.mark.parametrize(
    ("kind", "options", "told"),
    [
        ("model", {"temperature": -1}, "temperature"),
        ("model", {"temperature": 3}, "temperature"),
        ("model", {"max_tokens": 0}, "max_tokens"),
        ("model", {"scoring": {"type": "stars"}}, "numeric"),
        ("model", {"scoring": {"range": [5, 1]}}, "must ascend"),
        ("model", {"scoring": {"range": [1]}}, "range"),
        ("model", {"scoring": {"type": "categorical"}}, "at least two categories"),
        ("model", {"scoring": {"type": "categorical", "categories": ["a", "a"]}}, "twice"),
        ("model", {"scoring": {}, "examples": [{"output": "x", "score": 6}]}, r"examples\[0\]\.score 6"),
        ("model", {"scoring": {}, "examples": [{"output": "x", "score": True}]}, "does not fit"),
        ("model", {"scoring": {"type": "boolean"}, "examples": [{"output": "x", "score": 1}]}, "does not fit"),
        ("model", {"examples": [{"input": "x", "score": 1}]}, "output"),
        ("model", {"examples": [{"output": "x", "score": 1, "why": "?"}]}, "why"),
        ("model", {"rubrik": "x"}, "rubrik"),
        ("human", {"interface": "phone"}, "interface"),
        ("human", {"evaluators": {"min_required": 3, "max_allowed": 2}}, "larger than max_allowed"),
        ("human", {"evaluators": {"min_required": 0}}, "min_required"),
        ("human", {"evaluators": {"agreement_threshold": 80}}, "agreement_threshold"),
        ("human", {"rating_scale": {"type": "stars"}}, "likert"),
        ("human", {"rating_scale": {"range": [1, 5]}}, "type"),
        ("human", {"rating_scale": {"type": "likert", "range": [5, 5]}}, "must ascend"),
        ("human", {"rating_scale": {"type": "likert", "labels": {6: "Great"}}}, "'6' is not on the scale"),
        ("human", {"rating_scale": {"type": "likert", "labels": {"good": "Great"}}}, "'good' is not on the scale"),
        ("human", {"rating_scale": {"type": "binary", "options": [YES, YES]}}, "one with the value true"),
        ("human", {"rating_scale": {"type": "ranking", "min_items": 4, "max_items": 3}}, "larger than max_items"),
        ("human", {"time_limit_minutes": 0}, "time_limit_minutes"),
        ("human", {"mask": "["}, "is not a regular expression"),
        ("human", {"show": "everything"}, "transcript"),
        ("human", {"gold": "g.jsonl", "rating_scale": {"type": "ranking"}}, "cannot be ranked"),
        ("human", {"rating_scale": {"type": "likert", "criteria": ["a", "a"]}}, "'a' is there twice"),
        ("human", {"rating_scale": {"type": "likert", "criteria": [{"name": "a", "weight": 0}]}}, "weight above 0"),
        ("human", {"rubric": "{special_instructions}"}, "`special_instructions` is not set"),
        ("human", {"rubric": "err on the {conservative/generous} side"}, "`lean` is not set"),
        ("human", {"rubric": "{task_descriptoin}"}, "did you mean {task_description}"),
        ("human", {"rubric": "{criterion_1_name}"}, "the scale has no criteria"),
        ("human", {"rubric": "{criterion_3_name}", "rating_scale": LIKERT}, "the scale has 2 criteria"),
        ("human", {"rubric": "{criterion_1_issues}", "rating_scale": LIKERT}, "'It is accurate' has no issues"),
    ],
)
def test_wrong_options_are_refused(kind: str, options: Any, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        options_of(kind, options)


@pytest.mark.parametrize("kind", ["model", "human"])
@pytest.mark.parametrize(
    ("options", "output"),
    [
        ({"expected": "Ada"}, "Ada"),
        ({"must_include": ["Ada", "Byron"]}, "Ada Byron"),
        ({"must_not_include": ["x"]}, None),
    ],
)
def test_the_example_is_what_was_said_about_a_good_answer(
    kind: str, options: Any, output: Any, build: Callable[..., Grader]
) -> None:
    example = build({"type": kind, **options}).example()
    assert (example.output if example else None) == output


@pytest.mark.parametrize(
    ("written", "people"),
    [
        ("human", 1),
        ({"type": "human", "evaluators": {"min_required": 3}}, 3),
        ({"all_of": ["human", {"not": {"type": "human", "evaluators": {"min_required": 2}}}, {"exact": "x"}]}, 2),
        ({"all_of": [{"exact": "x"}]}, 0),
        ({"contains": "x"}, 0),
    ],
)
def test_a_grader_says_how_many_people_must_rate(build: Callable[..., Grader], written: Any, people: int) -> None:
    assert build(written).people == people


TEMPLATE = """You are evaluating {task_description}.
- Input provided: {input_summary}
- Task requirements: {requirements}
1. {criterion_1_name}: {criterion_1_description} Look for: {criterion_1_indicators}. Issues: {criterion_1_issues}.
2. {criterion_2_name}
- {special_instructions} If unsure, err on the side of {conservative/generous} ratings ({lean})."""
CRITERIA = [
    {"name": "accurate", "description": "Nothing is wrong.", "indicators": ["names", "dates"], "issues": "guesses"},
    "complete",
]


def test_every_placeholder_of_the_template_is_filled() -> None:
    options = options_of(
        "human",
        {
            "rubric": TEMPLATE,
            "expected": "Lima",
            "must_not_include": "Cusco",
            "rating_scale": {"type": "likert", "criteria": CRITERIA},
            "special_instructions": "Ignore spelling.",
            "lean": "conservative",
        },
    )
    assert isinstance(options, HumanOptions)
    case = Case(id="peru", name="capitals", description="a geography test", input="What is " + 100 * "very " + "long?")
    assert options.filled_rubric(case) == (
        "You are evaluating a geography test.\n"
        f"- Input provided: What is {'very ' * 57}very…\n"
        "- Task requirements: Lima; must not include: Cusco\n"
        "1. accurate: Nothing is wrong. Look for: names; dates. Issues: guesses.\n"
        "2. complete\n"
        "- Ignore spelling. If unsure, err on the side of conservative ratings (conservative)."
    )
    assert not options.needs_expected
    unnamed = HumanOptions(rubric="{task_description}: {requirements}")
    assert unnamed.needs_expected
    assert unnamed.filled_rubric(Case(id="peru", input="?", expected="Lima")) == "this task: Lima"


def test_a_rubric_that_asks_for_requirements_needs_an_expected_answer(tmp_path: Path) -> None:
    file = tmp_path / "suite.yaml"
    human = "{human: {rubric: 'Is it {requirements}?'}}"
    cases = f"- {{id: a, input: x, graders: [{human}]}}\n  - {{id: b, input: x, expected: y, graders: [{human}]}}"
    file.write_text(f"name: s\ntest_cases:\n  {cases}\n")
    [problem] = load_file(file).problems
    assert (problem.line, "has {requirements}, but the case has no `expected`" in str(problem)) == (3, True)
