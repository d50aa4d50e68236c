"""Rating: how people rate: the scale with its criteria, what one rating may be, and how many people are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, field_validator, model_validator

from evalharness.domain.case import as_text
from evalharness.domain.options import Number, Share, Whole
from evalharness.domain.record import Record
from evalharness.errors import UnknownName, UsageError
from evalharness.stats.means import weighted_mean
from evalharness.values.json_value import Json

Range = tuple[Number, Number]
Tiers: TypeAlias = tuple[tuple[str, ...], ...]
"""Answers by their letters, the best first; those in one tier are tied."""
Rating: TypeAlias = bool | dict[str, int] | Tiers
"""On a binary scale a truth value, on a Likert scale a number for each criterion, and for a ranking its tiers."""
OVERALL = "overall"
"""The criterion of a Likert scale that names none."""
PASS_SCORE = 0.7
AGREEMENT = 0.8
MOST_PEOPLE = 5


def ascending(bounds: Range) -> Range:
    if bounds[0] >= bounds[1]:
        raise ValueError(f"must ascend, as in [1, 5], not [{bounds[0]:g}, {bounds[1]:g}]")
    return bounds


class Evaluators(Record):
    """How many people rate one answer, and how far they must agree."""

    min_required: Annotated[Whole, Field(ge=1)] = 1
    max_allowed: Annotated[Whole, Field(ge=1)] | None = None
    agreement_threshold: Share | None = None

    @model_validator(mode="after")
    def _enough_are_allowed(self) -> Evaluators:
        if self.max_allowed is not None and self.min_required > self.max_allowed:
            raise ValueError(f"min_required {self.min_required} is larger than max_allowed {self.max_allowed}")
        return self

    @property
    def most(self) -> int:
        return max(MOST_PEOPLE, self.min_required) if self.max_allowed is None else self.max_allowed

    @property
    def threshold(self) -> float:
        return AGREEMENT if self.agreement_threshold is None else self.agreement_threshold


class Choice(Record):
    value: bool
    label: str
    description: str = ""


PASS_OR_FAIL = (Choice(value=True, label="Pass"), Choice(value=False, label="Fail"))


class Criterion(Record):
    """What is rated: a text, or a name with what to look for."""

    name: Annotated[str, Field(min_length=1)]
    description: str = ""
    indicators: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    weight: Annotated[Number, Field(ge=0)] = 1.0

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        return {"name": written} if isinstance(written, str) else written

    @field_validator("indicators", "issues", mode="before")
    @classmethod
    def _one_or_several(cls, written: Any) -> Any:
        return (written,) if isinstance(written, str) else written


class RatingScale(Record):
    """A scale of agreement, yes or no, or an order of several answers."""

    type: Literal["likert", "binary", "ranking"]
    range: tuple[int, int] = (1, 5)
    labels: dict[str, str] = Field(default_factory=dict)
    options: tuple[Choice, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    description: str = ""
    tie_allowed: bool = False
    min_items: Annotated[Whole, Field(ge=2)] = 2
    max_items: Annotated[Whole, Field(ge=2)] = 5
    over: Literal["variants", "trials", "runs"] | None = None
    """What is ranked; without it the variants of a matrix, else the trials of a case, else the newest runs."""

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
        self._check_criteria()
        return self

    def _check_criteria(self) -> None:
        names = [criterion.name for criterion in self.criteria]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"criterion '{twice}' is there twice")
        if self.criteria and not any(criterion.weight for criterion in self.criteria):
            raise ValueError("no criterion has a weight above 0")

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Of a binary scale: pass first."""
        return tuple(sorted(self.options or PASS_OR_FAIL, key=lambda choice: not choice.value))

    @property
    def rated(self) -> tuple[Criterion, ...]:
        """Of a Likert scale: its criteria, or the one that stands for the whole answer."""
        return self.criteria or (Criterion(name=OVERALL, description=self.description),)

    def score(self, rating: Rating | Mapping[str, float]) -> float:
        """Of one rating or of medians, from 0 to 1; a ranking has none."""
        if isinstance(rating, bool):
            return float(rating)
        assert isinstance(rating, Mapping), "a ranking has no score"
        low, high = self.range
        return weighted_mean([((rating[each.name] - low) / (high - low), each.weight) for each in self.rated])

    def read(self, written: Json, answers: Sequence[str] = ()) -> Rating:
        """A rating as somebody gave it; raises UsageError that names what it may be. `answers` are the letters."""
        if self.type == "binary":
            return self._truth(written)
        return self._order(written, answers) if self.type == "ranking" else self._numbers(written)

    def _truth(self, written: Json) -> bool:
        if isinstance(written, bool):
            return written
        said = written.strip().casefold() if isinstance(written, str) else None
        for choice in self.choices:
            if said in (choice.label.casefold(), str(choice.value).lower()):
                return choice.value
        labels = " or ".join(f"'{choice.label}'" for choice in self.choices)
        raise UsageError(f"the rating must be {labels}, not {_shown(written)}")

    def _numbers(self, written: Json) -> dict[str, int]:
        names = [criterion.name for criterion in self.rated]
        given = {names[0]: written} if len(names) == 1 and not isinstance(written, Mapping) else written
        if not isinstance(given, Mapping):
            raise UsageError(f"the rating needs a number for each of: {', '.join(names)}")
        for name in given:
            if name not in names:
                raise UnknownName("criterion", str(name), names)
        if missing := [name for name in names if name not in given]:
            raise UsageError(f"a number for '{missing[0]}' is missing")
        return {name: self._number(name, given[name]) for name in names}

    def _number(self, name: str, written: Json) -> int:
        low, high = self.range
        whole = int(written) if isinstance(written, str) and written.strip().lstrip("-").isdecimal() else written
        if isinstance(whole, float) and whole.is_integer():
            whole = int(whole)
        if isinstance(whole, bool) or not isinstance(whole, int) or not low <= whole <= high:
            raise UsageError(f"'{name}' must be a whole number from {low} to {high}, not {_shown(written)}")
        return whole

    def _order(self, written: Json, answers: Sequence[str]) -> Tiers:
        """`[B, A, C]`, with ties `[B, [A, C]]`."""
        if not isinstance(written, list | tuple):
            raise UsageError(f"a ranking is a list of letters, the best first, such as {list(answers)}")
        tiers = tuple(tuple(map(str, tier)) if isinstance(tier, list | tuple) else (str(tier),) for tier in written)
        if sorted(letter for tier in tiers for letter in tier) != sorted(answers):
            raise UsageError(f"a ranking names each of {', '.join(answers)} once")
        if not self.tie_allowed and any(len(tier) != 1 for tier in tiers):
            raise UsageError("ties are not allowed here: put every answer in a place of its own")
        return tuple(tier for tier in tiers if tier)


def _shown(written: Json) -> str:
    text = f"{written!r}"
    return text if len(text) <= 40 else f"{text[:40]}…"
