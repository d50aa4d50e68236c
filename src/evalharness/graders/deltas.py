"""numeric_deltas: the numbers of the answer stay close enough to those of a known-good answer.

Only the numbers under `tolerance` are judged; without a tolerance every number must stay as it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationError, field_validator, model_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.documents.http_messages import is_response
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.invalid_values import explain
from evalharness.domain.options import Options
from evalharness.domain.record import Record
from evalharness.errors import Unscored
from evalharness.graders.json_values import named, not_json, parsed
from evalharness.graders.numbers import read_number
from evalharness.graders.paths import JsonPath, children, fits, read_path, value_at
from evalharness.graders.structure import read_json_text
from evalharness.values.json_value import Json
from evalharness.values.text import shown

SLACK = 1e-9
SHOWN_PROBLEMS = 5
KEPT = 20

Delta = Annotated[float, Field(allow_inf_nan=False)]


class DeltaLimits(Record):
    """How far a number may move from where it was; None is no limit."""

    min_delta: Delta | None = None
    max_delta: Delta | None = None

    @model_validator(mode="after")
    def _ascending(self) -> DeltaLimits:
        if self.min_delta is not None and self.max_delta is not None and self.min_delta > self.max_delta:
            raise ValueError(f"min_delta {self.min_delta:g} is larger than max_delta {self.max_delta:g}")
        return self

    def allow(self, delta: float) -> bool:
        too_low = self.min_delta is not None and delta < self.min_delta - SLACK
        too_high = self.max_delta is not None and delta > self.max_delta + SLACK
        return not (too_low or too_high or math.isnan(delta))

    def __str__(self) -> str:
        if self.min_delta == self.max_delta == 0:
            return "no change"
        low = "any decrease" if self.min_delta is None else f"{self.min_delta:+g}"
        high = "any increase" if self.max_delta is None else f"{self.max_delta:+g}"
        return f"{low} to {high}"


UNCHANGED = DeltaLimits(min_delta=0.0, max_delta=0.0)
Tolerances = list[tuple[JsonPath, DeltaLimits]]


class DeltasOptions(Options):
    main_may_be_mapping: ClassVar[bool] = True

    value: Json
    tolerance: dict[str, Json] = Field(default_factory=dict)
    ignore_fields: tuple[str, ...] = ()

    @field_validator("value")
    @classmethod
    def _read(cls, value: Json) -> Json:
        """A known-good answer may have been kept as text."""
        value = read_json_text(value)
        number, _ = read_number(value) if isinstance(value, str) else (None, "")
        return value if number is None else number

    @field_validator("ignore_fields")
    @classmethod
    def _are_paths(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            read_path(path)
        return paths

    @field_validator("tolerance", mode="before")
    @classmethod
    def _none_is_empty(cls, written: Any) -> Any:
        return {} if written is None else written

    @model_validator(mode="after")
    def _there_is_something_to_judge(self) -> DeltasOptions:
        """A misspelled path would otherwise pass every answer."""
        numbers = list(numbers_in(self.value))
        if not numbers:
            raise ValueError("the value contains no number to compare")
        for pattern, _ in self.tolerances:
            if not any(self._covers(pattern, path) for path, _ in numbers):
                raise ValueError(f"tolerance '{'.'.join(pattern)}' matches no number in the value")
        if not self.judged():
            raise ValueError("every number is ignored, so there is nothing to check")
        return self

    @property
    def tolerances(self) -> Tolerances:
        """Longer paths first: they say more precisely what they mean."""
        return sorted(read_tolerances(self.tolerance, ()), key=lambda entry: -len(entry[0]))

    def judged(self) -> list[tuple[JsonPath, float, DeltaLimits]]:
        """The numbers of the value that are judged, and how far each may move."""
        tolerances, ignored = self.tolerances, [read_path(text) for text in self.ignore_fields]
        found = []
        for path, number in numbers_in(self.value):
            covering = (limits for pattern, limits in tolerances if self._covers(pattern, path))
            limits = next(covering, None) if tolerances else UNCHANGED
            if limits is not None and not any(self._covers(pattern, path) for pattern in ignored):
                found.append((path, number, limits))
        return found

    def _covers(self, pattern: JsonPath, path: JsonPath) -> bool:
        """A path covers all below it; it may also be written from the body of a response."""
        pattern = (*pattern, "**")
        in_body = is_response(self.value) and path[0] == "body"
        return fits(pattern, path) or (in_body and fits(pattern, path[1:]))


def read_tolerances(written: Mapping[str, Json], place: JsonPath) -> Iterator[tuple[JsonPath, DeltaLimits]]:
    """`{min_delta, max_delta}` for all below, or `{path or key: the same}`, nested as deep as one likes."""
    if not written.keys().isdisjoint(DeltaLimits.model_fields):
        yield place, _limits(written, place)
        return
    for key, below in written.items():
        path = (*place, *read_path(key))
        if not isinstance(below, Mapping) or not below:
            raise ValueError(f"{'.'.join(path)} must be a mapping with min_delta and max_delta")
        yield from read_tolerances(below, path)


def _limits(written: Mapping[str, Json], place: JsonPath) -> DeltaLimits:
    for key, delta in written.items():
        where = ".".join((*place, key))
        if key not in DeltaLimits.model_fields:
            raise ValueError(f"{where} is not a limit; only min_delta and max_delta are allowed here")
        if delta is not None and (isinstance(delta, bool) or not isinstance(delta, int | float)):
            raise ValueError(f"{where} must be a number, not {named(delta)}")
    try:
        return DeltaLimits.model_validate(written)
    except ValidationError as error:
        raise ValueError(explain(error, *place)) from None


def numbers_in(value: Json, path: JsonPath = ()) -> Iterator[tuple[JsonPath, float]]:
    """Every number with its path. True and false are none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value
    for step, child in children(value):
        yield from numbers_in(child, (*path, step))


class NumericDeltas(Grader):
    """The score is the share of the judged numbers that moved no further than allowed."""

    Options: ClassVar[type[Options]] = DeltasOptions
    options: DeltasOptions

    @cached_property
    def _judged(self) -> list[tuple[JsonPath, float, DeltaLimits]]:
        return self.options.judged()

    async def grade(self, context: GradeContext) -> Grade:
        try:
            actual = self._read(context.output)
        except ValueError as problem:
            return not_json(context.output, problem)
        judged = self._judged_in(actual)
        if not judged:
            raise Unscored("the answer is only the body of a response, and none of its numbers is checked")
        problems, deltas = [], {}
        for path, before, limits in judged:
            place = shown(".".join(path), 120)[1:-1] or "the answer"
            after, why = _number_at(actual, path)
            if after is None:
                problems.append(f"{place} is {why}")
                continue
            deltas[place] = after - before
            if not limits.allow(after - before):
                moved = f"{place} moved by {after - before:+.6g} (from {before:.10g} to {after:.10g})"
                problems.append(f"{moved}, allowed {limits}")
        evidence = {"deltas": dict(islice(deltas.items(), KEPT)), "problems": problems[:KEPT]}
        score = 1 - len(problems) / len(judged)
        return Grade.of(not problems, score=score, reason="; ".join(problems[:SHOWN_PROBLEMS]), evidence=evidence)

    def _read(self, output: Json) -> Json:
        """JSON, or words around a number where one number is all that is compared."""
        try:
            return parsed(output)
        except ValueError:
            number, _ = read_number(output) if isinstance(output, str) else (None, "")
            if number is None or not isinstance(self.options.value, int | float):
                raise
            return number

    def _judged_in(self, actual: Json) -> list[tuple[JsonPath, float, DeltaLimits]]:
        """Where only one of the two is a whole HTTP response, its body is what the other is."""
        if is_response(self.options.value) and not is_response(actual):
            return [(path[1:], number, limits) for path, number, limits in self._judged if path[0] == "body"]
        if is_response(actual) and not is_response(self.options.value):
            return [(("body", *path), number, limits) for path, number, limits in self._judged]
        return self._judged

    def example(self) -> Example:
        return Example(whole=self.options.value)


def _number_at(answer: Json, path: JsonPath) -> tuple[float | None, str]:
    try:
        value = value_at(answer, path)
    except LookupError:
        return None, "missing"
    is_number = not isinstance(value, str) and read_number(value)[0] is not None
    return (value, "") if is_number else (None, f"{named(value)}, not a number")
