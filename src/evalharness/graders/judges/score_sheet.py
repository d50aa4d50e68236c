"""Score sheet: what a judge's score may be, and what it is worth from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from evalharness.domain.options import Share
from evalharness.domain.rating import Range, ascending
from evalharness.domain.record import Record
from evalharness.graders.judges.criteria import Criterion, criterion_key
from evalharness.graders.judges.reply_form import Form, Lines, NumberField, OneOf, Slot, Words, YesOrNo
from evalharness.stats.means import weighted_mean
from evalharness.values.json_value import Json

NOT_DECIDING = frozenset(("justification", "passed", "specific_feedback"))
"""What a judge says beside its scores, which alone decide."""


class Scoring(Record):
    """Numbers of a range, categories from the worst to the best, or true and false.

    `category_scores` says what categories are worth where that is not their place in the list.
    """

    type: Literal["numeric", "categorical", "boolean"] = "numeric"
    range: Range = (1.0, 5.0)
    categories: tuple[str, ...] = ()
    category_scores: dict[str, Share] = Field(default_factory=dict)

    _range = field_validator("range")(ascending)

    @model_validator(mode="before")
    @classmethod
    def _named_by_their_scores(cls, written: Any) -> Any:
        if isinstance(written, Mapping) and not written.get("categories"):
            scores = written.get("category_scores")
            return {**written, "categories": tuple(scores)} if isinstance(scores, Mapping) else written
        return written

    @model_validator(mode="after")
    def _has_categories(self) -> Scoring:
        for name, type_ in (("range", "numeric"), ("categories", "categorical")):
            if self.type != type_ and name in self.model_fields_set and getattr(self, name):
                raise ValueError(f"{name} belongs to {type_} scoring, but the type is {self.type}")
        if len(set(self.categories)) < len(self.categories):
            raise ValueError("the same category is listed twice")
        if self.type == "categorical" and len(self.categories) < 2:
            raise ValueError("categorical scoring needs at least two categories")
        if self.category_scores and self.category_scores.keys() != set(self.categories):
            raise ValueError("category_scores must have a score for each of the categories, and for nothing else")
        return self

    @property
    def slot(self) -> Slot:
        if self.type == "categorical":
            return OneOf(self.categories)
        return YesOrNo() if self.type == "boolean" else NumberField(*self.range)

    @property
    def scale_text(self) -> str:
        if self.type == "categorical":
            return ", ".join(self.categories)
        return "true or false" if self.type == "boolean" else f"{self.range[0]:g} to {self.range[1]:g}"

    @property
    def width(self) -> float:
        """Words and yes or no are compared by what they are worth, from 0 to 1."""
        return self.range[1] - self.range[0] if self.type == "numeric" else 1.0

    def allows(self, score: Json) -> bool:
        try:
            self.slot.read(score)
        except ValueError:
            return False
        return True

    def worth(self, score: Any) -> float:
        """From 0 to 1, of a score that is allowed."""
        if self.type == "boolean":
            return 1.0 if score else 0.0
        if self.type == "categorical":
            place = self.categories.index(OneOf(self.categories).read(score))
            return self.category_scores.get(self.categories[place], place / (len(self.categories) - 1))
        low, high = self.range
        return (float(score) - low) / (high - low)


@dataclass(frozen=True)
class ScoreSheet:
    """What a judge fills in: a score for each criterion, or one for the whole where no criteria are listed."""

    criteria: tuple[Criterion, ...]
    scoring: Scoring

    @classmethod
    def of(cls, criteria: tuple[Criterion, ...], scoring: Scoring | None) -> ScoreSheet:
        """Where all criteria have the same scale, the whole is scored on it, too.

        Raises ValueError where criteria have scales and `scoring` says something else.
        """
        scales = {each.range for each in criteria if each.range is not None}
        if scoring is not None:
            for low, high in sorted(scales - ({scoring.range} if scoring.type == "numeric" else set())):
                raise ValueError(f"scoring differs from the scale of a criterion, {low:g} to {high:g}: leave one out")
        usual = Scoring(range=scales.pop()) if len(scales) == 1 else Scoring()
        return cls(criteria, scoring or usual)

    @cached_property
    def form(self) -> Form:
        slot = self.scoring.slot
        each_slot: dict[str, Slot] = {each.key: self._scoring_of(each).slot for each in self.criteria}
        scores: dict[str, Slot] = {"scores": Form(each_slot, key_of=criterion_key)} if self.criteria else {}
        return Form(
            {
                "justification": Words("why, in one or two sentences"),
                **scores,
                "overall_score": slot,
                "passed": YesOrNo(),
                "specific_feedback": Lines("what to improve"),
            },
            may_lack=NOT_DECIDING,
        )

    def score(self, filled: Mapping[str, Any]) -> float:
        """The weighted mean of what the criteria got; the judge's own sum counts only where there are none."""
        if not self.criteria:
            return self.scoring.worth(filled["overall_score"])
        scores = filled["scores"]
        return weighted_mean([(self._scoring_of(each).worth(scores[each.key]), each.weight) for each in self.criteria])

    def _scoring_of(self, criterion: Criterion) -> Scoring:
        return self.scoring if criterion.range is None else Scoring(range=criterion.range)
