"""model: a language model judges the answer by a rubric. What counts are the criteria's scores, by their weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

from pydantic import AliasChoices, Field, field_validator, model_validator

from evalharness.contracts.grader import GradeContext
from evalharness.domain.case import as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options, Share
from evalharness.domain.record import Record
from evalharness.errors import closest
from evalharness.graders.human import GoodAnswerOptions
from evalharness.graders.judges.criteria import (
    Criterion,
    checked_criteria,
    criteria_list,
    given_criteria,
    parse_criteria,
)
from evalharness.graders.judges.judge_part import JudgeGrader, JudgeOptions, not_blank, not_empty, short_reason
from evalharness.graders.judges.prompts import Template, rubric_text, template
from evalharness.graders.judges.question import Asking, JudgeVerdict, Question, QuotedText
from evalharness.graders.judges.score_sheet import ScoreSheet, Scoring
from evalharness.stats.thresholds import reaches
from evalharness.values.json_value import Json
from evalharness.values.text import head

PLACES = ("input", "output", "expected", "rubric", "examples")
WITH_REFERENCE = "same_meaning"
WITHOUT_REFERENCE = "good_answer"
LONGEST_KEPT = 4000
MOST_KEPT = 50


class GradedExample(Record):
    """An answer with the score it deserves, to calibrate a judge."""

    input: Json = None
    output: Json
    score: bool | int | float | str
    justification: str = ""


class ModelGraderOptions(GoodAnswerOptions, JudgeOptions):
    main: ClassVar[str] = "model"

    prompt: str | None = Field(default=None, validation_alias=AliasChoices("prompt", "model_grader_prompt"))
    criteria: tuple[Criterion, ...] = ()
    scoring: Scoring | None = None
    pass_score: Share = 0.7
    examples: tuple[GradedExample, ...] = ()

    @field_validator("criteria", mode="before")
    @classmethod
    def _criteria(cls, written: Any) -> Any:
        return given_criteria(not_empty(written))

    @field_validator("rubric")
    @classmethod
    def _says_something(cls, rubric: str | None) -> str | None:
        return None if rubric is None else not_blank(rubric)

    @field_validator("prompt")
    @classmethod
    def _shows_the_answer(cls, prompt: str | None) -> str | None:
        places = {"output"} if prompt is None else Template(prompt).places
        for place in sorted(places - set(PLACES)):
            guess = f" Did you mean {{{meant}}}?" if (meant := closest(place, PLACES)) else ""
            raise ValueError(f"unknown placeholder {{{place}}}.{guess} Known: {{output}}, {_other_places()}")
        if "output" not in places:
            raise ValueError(
                f"must contain {{output}}, or the judge sees no answer; you can also use {_other_places()}"
            )
        return prompt

    @model_validator(mode="after")
    def _shows_what_is_given(self) -> ModelGraderOptions:
        """The names of criteria are part of the reply's form; what else is given must have its place."""
        places = PLACES if self.prompt is None else Template(self.prompt).places
        for place, name, is_given in (
            ("rubric", "rubric", self.rubric),
            ("rubric", "description of criteria", any(each.description for each in self.criteria)),
            ("expected", "expected answer", self.expected is not None),
            ("expected", "must_include", self.must_include),
            ("expected", "must_not_include", self.must_not_include),
        ):
            if is_given and place not in places:
                raise ValueError(f"`prompt` needs the placeholder {{{place}}} for the {name}")
        return self

    @model_validator(mode="after")
    def _adds_up(self) -> ModelGraderOptions:
        scoring = self.sheet.scoring
        for position, example in enumerate(self.examples):
            if not scoring.allows(example.score):
                text = f"examples[{position}].score {example.score!r} does not fit the scoring: {scoring.scale_text}"
                raise ValueError(text if self.scoring else f"{text}, unless `scoring` says otherwise")
        return self

    @cached_property
    def sheet(self) -> ScoreSheet:
        criteria = checked_criteria(self.criteria) or parse_criteria(rubric_text(self.rubric or ""))
        return ScoreSheet.of(criteria, self.scoring)


class Model(JudgeGrader):
    Options: ClassVar[type[Options]] = ModelGraderOptions
    options: ModelGraderOptions

    @cached_property
    def _template(self) -> Template:
        if self.options.prompt is None:
            return template("scores")
        own = Template(self.options.prompt, is_own=True)
        shows_examples = "examples" in own.places or not self.options.examples
        return own if shows_examples else Template(f"{own.text}\n\n{{examples}}", is_own=True)

    @cached_property
    def _examples(self) -> tuple[str | QuotedText, ...]:
        return tuple(_fenced_examples(self.options.examples))

    def wording(self) -> Json:
        usual = [rubric_text(name) for name in (WITH_REFERENCE, WITHOUT_REFERENCE)]
        rubric = self.options.rubric
        examples = [str(part) for part in self._examples]
        said = usual if rubric is None else rubric_text(rubric)
        return [self._template.digest, said, self.options.sheet.form.digest, *examples]

    async def judged(self, asking: Asking, context: GradeContext) -> Grade:
        verdict = await asking.ask(self._question(context))
        return scored(verdict, self.options.sheet.score(verdict.said), self.options.pass_score)

    def _question(self, context: GradeContext) -> Question:
        return Question(
            self._template,
            self.options.sheet.form,
            {
                "input": ("question", as_text(context.input) or None),
                "expected": ("good answer", self._expected(context) or None),
                "output": ("answer", context.text),
            },
            {"rubric": self.rubric_for(context), "examples": self._examples},
        )

    def rubric_for(self, context: GradeContext) -> str:
        """What the judge goes by: without a rubric of its own it depends on whether a good answer is known."""
        criteria = self.options.criteria
        if self.options.rubric is None and criteria:
            return criteria_list(criteria)
        rubric = rubric_text(self.options.rubric or (WITH_REFERENCE if self._expected(context) else WITHOUT_REFERENCE))
        return f"{rubric}\n\n{criteria_list(criteria)}" if any(each.description for each in criteria) else rubric

    def _expected(self, context: GradeContext) -> str:
        expected = context.reference if self.options.expected is None else self.options.expected
        return "\n\n".join(([] if expected is None else [as_text(expected)]) + self._wanted)

    @cached_property
    def _wanted(self) -> list[str]:
        options = self.options
        lists = (("It must say", options.must_include), ("It must not say", options.must_not_include))
        return [f"{title}:\n" + "\n".join(f"- {text}" for text in wanted) for title, wanted in lists if wanted]

    def example(self) -> Example | None:
        return self.options.example()


def scored(verdict: JudgeVerdict, score: float, pass_score: float | None) -> Grade:
    """The judge's own `passed` is reported and decides nothing; without a `pass_score` every score passes."""
    said: Mapping[str, Any] = verdict.said
    passed = pass_score is None or reaches(score, pass_score)
    each = ", ".join(f"{name} {_plain(value)}" for name, value in said.get("scores", {}).items())
    compared = f"score {score:.2f}" + ("" if pass_score is None else f" {'≥' if passed else '<'} {pass_score:g}")
    why = said.get("justification", "")
    reason = f"{compared}{f' ({each})' if each else ''}: {why.strip()}".rstrip(": ")
    evidence = {
        "scores": said.get("scores", {}),
        "overall_score": said["overall_score"],
        "weighted_score": score,
        "pass_score": pass_score,
        "passed": said.get("passed"),
        "justification": head(why, LONGEST_KEPT),
        "specific_feedback": [head(line, LONGEST_KEPT) for line in said.get("specific_feedback", ())[:MOST_KEPT]],
        "model": verdict.model,
    }
    return Grade.of(passed, score=score, reason=short_reason(reason), evidence=evidence)


def _plain(score: bool | float | str) -> str:
    return str(score).lower() if isinstance(score, bool) else str(score)


def _fenced_examples(examples: tuple[GradedExample, ...]) -> Iterator[str | QuotedText]:
    """Fenced like the answer itself: examples are answers, too, and no better behaved."""
    for position, example in enumerate(examples):
        if position:
            yield "\n\n"
        if example.input is not None:
            yield from (QuotedText("example question", as_text(example.input)), "\n")
        why = f" ({example.justification})" if example.justification else ""
        yield from (QuotedText("example answer", as_text(example.output)), f"\nScore: {as_text(example.score)}{why}")


def _other_places() -> str:
    return ", ".join(f"{{{place}}}" for place in PLACES if place != "output")
