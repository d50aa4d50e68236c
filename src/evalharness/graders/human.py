"""human: a grade that a person gives. Until then it is outstanding: neither a pass nor a fail.

What a person will go by is checked here, so that a file that loads today can be graded tomorrow. Grades that language
models give are the business of `judges/`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.case import as_text
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade, GraderType
from evalharness.domain.options import Number, Options, Share, Whole
from evalharness.domain.record import Record
from evalharness.domain.specification import GraderSpec
from evalharness.graders.text import as_texts
from evalharness.values.json_value import Json

Range = tuple[Number, Number]


def ascending(bounds: Range) -> Range:
    if bounds[0] >= bounds[1]:
        raise ValueError(f"must ascend, as in [1, 5], not [{bounds[0]:g}, {bounds[1]:g}]")
    return bounds


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


class Evaluators(Record):
    min_required: Annotated[Whole, Field(ge=1)] = 1
    max_allowed: Annotated[Whole, Field(ge=1)] | None = None
    agreement_threshold: Share | None = None

    @model_validator(mode="after")
    def _enough_are_allowed(self) -> Evaluators:
        if self.max_allowed is not None and self.min_required > self.max_allowed:
            raise ValueError(f"min_required {self.min_required} is larger than max_allowed {self.max_allowed}")
        return self


class Choice(Record):
    value: bool
    label: str
    description: str = ""


class RatingScale(Record):
    """How a person rates: on a scale of agreement, by yes or no, or by putting answers in order."""

    type: Literal["likert", "binary", "ranking"]
    range: tuple[int, int] = (1, 5)
    labels: dict[str, str] = Field(default_factory=dict)
    options: tuple[Choice, ...] = ()
    criteria: tuple[str, ...] = ()
    description: str = ""
    tie_allowed: bool = False
    min_items: Annotated[Whole, Field(ge=2)] = 2
    max_items: Annotated[Whole, Field(ge=2)] = 5

    _range = field_validator("range")(ascending)

    @field_validator("labels", mode="before")
    @classmethod
    def _keys_as_text(cls, written: Any) -> Any:
        """YAML has numbers for keys, JSON has texts."""
        if not isinstance(written, dict):
            return written
        return {as_text(key) if isinstance(key, bool | int) else key: label for key, label in written.items()}

    @model_validator(mode="after")
    def _adds_up(self) -> RatingScale:
        low, high = self.range
        strangers = [key for key in self.labels if not (key.lstrip("-").isdecimal() and low <= int(key) <= high)]
        if self.type == "likert" and strangers:
            raise ValueError(f"label '{strangers[0]}' is not on the scale from {low} to {high}")
        if self.type == "binary" and self.options and sorted(o.value for o in self.options) != [False, True]:
            raise ValueError("a binary scale has two options: one with the value true, one with false")
        if self.min_items > self.max_items:
            raise ValueError(f"min_items {self.min_items} is larger than max_items {self.max_items}")
        return self


class HumanOptions(GoodAnswerOptions):
    main: ClassVar[str] = "rubric"

    interface: Literal["web", "cli", "api"] = "web"
    evaluators: Evaluators = Field(default_factory=Evaluators)
    rating_scale: RatingScale | None = None
    time_limit_minutes: Annotated[Number, Field(gt=0)] | None = None
    blind_evaluation: bool = True


class Human(Grader):
    """A person rates the answer."""

    Options: ClassVar[type[Options]] = HumanOptions
    type: GraderType = "human"
    options: HumanOptions

    def __init__(self, options: HumanOptions, spec: GraderSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self.people = options.evaluators.min_required

    async def grade(self, context: GradeContext) -> Grade:  # noqa: ARG002 - whoever grades will look at it
        return Grade(state="awaiting", reason="a person's rating is pending")

    def example(self) -> Example | None:
        return self.options.example()
