"""human: a grade that a person gives. Until then it is outstanding: neither a pass nor a fail.

What a person will go by is checked here, so that a file that loads today can be graded tomorrow, and kept with the
outstanding grade. How people are asked, and what their ratings come to, is in `engine/reviewing/`. Grades that language
models give are the business of `judges/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.case import Case, as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import VERDICTS, Grade, GraderType
from evalharness.domain.options import Number, Options, Share
from evalharness.domain.rating import PASS_SCORE, Evaluators, RatingScale
from evalharness.domain.review import EVIDENCE, PENDING, ReviewTask
from evalharness.domain.specification import GraderSpec
from evalharness.errors import closest
from evalharness.graders.gold_answers import read_gold
from evalharness.graders.text import as_texts
from evalharness.values.json_value import Json
from evalharness.values.pattern import Pattern
from evalharness.values.text import head

SUMMARY = 300
NO_DESCRIPTION = "this task"
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*|conservative/generous)\}")
_OF_CRITERION = re.compile(r"criterion_([1-9][0-9]*)_(name|description|indicators|issues)")
_OF_CASE = ("task_description", "input_summary", "requirements")
_BY_CONFIG = ("special_instructions", "lean", "conservative/generous")


class GoodAnswerOptions(Options):
    """What people and models may learn about a good answer."""

    rubric: str | None = None
    expected: Json = None
    must_include: tuple[str, ...] = ()
    must_not_include: tuple[str, ...] = ()

    @field_validator("must_include", "must_not_include", mode="before")
    @classmethod
    def _as_texts(cls, written: Any) -> Any:
        return as_texts(written)

    def example(self) -> Example | None:
        if self.expected is not None:
            return Example(whole=self.expected)
        return Example(holds=self.must_include) if self.must_include else None


class HumanOptions(GoodAnswerOptions):
    main: ClassVar[str] = "rubric"

    interface: Literal["web", "cli", "api"] = "web"
    evaluators: Evaluators = Field(default_factory=Evaluators)
    rating_scale: RatingScale | None = None
    pass_score: Share = PASS_SCORE
    time_limit_minutes: Annotated[Number, Field(gt=0)] | None = None
    blind_evaluation: bool = True
    show: Literal["answer", "transcript"] = "answer"
    mask: tuple[Pattern, ...] = ()
    gold: str | None = None
    special_instructions: str | None = None
    lean: Literal["conservative", "generous"] | None = None

    @field_validator("mask", mode="before")
    @classmethod
    def _one_or_several(cls, written: Any) -> Any:
        return (written,) if isinstance(written, str) else written

    @model_validator(mode="after")
    def _rubric_can_be_filled(self) -> HumanOptions:
        for name in self._placeholders():
            if why := self._unfilled(name):
                raise ValueError(f"the rubric has {{{name}}}, but {why}")
        if self.gold and self.scale.type == "ranking":
            raise ValueError("gold answers have a rating of their own, so they cannot be ranked")
        return self

    @property
    def scale(self) -> RatingScale:
        return self.rating_scale or RatingScale(type="binary")

    @property
    def needs_expected(self) -> bool:
        return "requirements" in self._placeholders() and not self._own_requirements()

    def _placeholders(self) -> Iterator[str]:
        return (found[1] for found in _PLACEHOLDER.finditer(self.rubric or ""))

    def _unfilled(self, name: str) -> str:
        """Why a placeholder stays empty; nothing for one that is filled, or that the case fills."""
        if name in _OF_CASE:
            return ""
        if name in _BY_CONFIG:
            option = "special_instructions" if name == "special_instructions" else "lean"
            return "" if self._values()[name] else f"`{option}` is not set"
        numbered = _OF_CRITERION.fullmatch(name)
        if numbered is None:
            known = [*_OF_CASE, *_BY_CONFIG, "criterion_1_name", "criterion_1_description"]
            guess = closest(name, known)
            return f"there is no such placeholder; {f'did you mean {{{guess}}}?' if guess else f'use one of {known}'}"
        number, count = int(numbered[1]), len(self.scale.criteria)
        if number > count:
            return f"the scale has {count or 'no'} {'criterion' if count == 1 else 'criteria'}"
        if self._values()[name]:
            return ""
        return f"criterion '{self.scale.criteria[number - 1].name}' has no {numbered[2]}"

    def _values(self) -> dict[str, str]:
        lean = self.lean or ""
        values = {"special_instructions": self.special_instructions or "", "lean": lean, "conservative/generous": lean}
        for number, criterion in enumerate(self.scale.criteria, 1):
            own = {"name": criterion.name, "description": criterion.description}
            lists = {"indicators": "; ".join(criterion.indicators), "issues": "; ".join(criterion.issues)}
            values |= {f"criterion_{number}_{name}": text for name, text in (own | lists).items()}
        return values

    def _own_requirements(self) -> str:
        words = {"include": self.must_include, "not include": self.must_not_include}
        lines = [as_text(self.expected)] if self.expected is not None else []
        lines += [f"must {what}: {', '.join(texts)}" for what, texts in words.items() if texts]
        return "; ".join(lines)

    def filled_rubric(self, case: Case) -> str:
        expected = case.expected.options if case.expected is not None else ""
        return filled_by_case(self.open_rubric(), described(case), case.content, expected)

    def open_rubric(self) -> str:
        """With all that is the same for every case."""
        own = {"requirements": requirements} if (requirements := self._own_requirements()) else {}
        return _filled(self.rubric or "", self._values() | own)


def filled_by_case(rubric: str, description: str, asked: Json, expected: Json) -> str:
    of_case = {
        "task_description": description or NO_DESCRIPTION,
        "input_summary": head(as_text(asked), SUMMARY),
        "requirements": as_text(expected),
    }
    return _filled(rubric, of_case)


def _filled(rubric: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), rubric)


def described(case: Case) -> str:
    """By its description or its name; never by its id, which says which case it is."""
    return case.description or (case.name if case.name != case.id else "") or NO_DESCRIPTION


class Human(Grader):
    """A person rates the answer."""

    Options: ClassVar[type[Options]] = HumanOptions
    type: GraderType = "human"
    options: HumanOptions
    only_reads: ClassVar[bool] = True

    def __init__(self, options: HumanOptions, spec: GraderSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self.people = options.evaluators.min_required
        if options.gold:
            read_gold(services.root, options.gold, options.scale)
        self.never_required = options.scale.type == "ranking"

    async def grade(self, context: GradeContext) -> Grade:
        if context.before is not None and context.before.state in VERDICTS:
            return context.before
        evidence = {EVIDENCE: self._task(context.case).model_dump(mode="json", exclude_defaults=True)}
        cause: Literal["", "ranking"] = "ranking" if self.never_required else ""
        return Grade(state="awaiting", reason=PENDING, evidence=evidence, cause=cause)

    def _task(self, case: Case) -> ReviewTask:
        options = self.options
        return ReviewTask(
            scale=options.scale,
            evaluators=options.evaluators,
            pass_score=options.pass_score,
            rubric=options.filled_rubric(case),
            description=described(case),
            interface=options.interface,
            time_limit_minutes=options.time_limit_minutes,
            show=options.show,
            blind=options.blind_evaluation,
            mask=options.mask,
            gold=options.gold or "",
            gold_rubric=options.open_rubric() if options.gold else "",
        )

    def example(self) -> Example | None:
        return self.options.example()
