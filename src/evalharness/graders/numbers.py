"""Graders for numbers: a numeric answer within a tolerance, and the exit code of a command."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import regex
from pydantic import AliasChoices, Field

from evalharness.contracts import GradeContext
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.record import Json
from evalharness.errors import Unscored
from evalharness.graders.part import CodeGrader, shown

Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]

# Possessive quantifiers: a long run of digits is read once, never again from each of its places.
NUMBER = regex.compile(
    r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?(?:[eE][-+]?\d++)?|(?<![\w.])[-+]?\.\d++"
)


class NumericOptions(Options):
    value: Annotated[float, Field(allow_inf_nan=False)]
    absolute: Tolerance = Field(default=0.0, validation_alias=AliasChoices("absolute", "tolerance"))
    relative: Tolerance = 0.0


class Numeric(CodeGrader):
    """The answer is this number, give or take a tolerance. A text may hold words around exactly one number."""

    Options: ClassVar[type[Options]] = NumericOptions
    options: NumericOptions

    async def grade(self, context: GradeContext) -> Grade:
        number, problem = read_number(context.output)
        if number is None:
            return Grade.of(False, reason=f"{problem}: {shown(context.text)}")
        allowed = max(self.options.absolute, self.options.relative * abs(self.options.value))
        # Tolerances are written in decimal: 0.3 must be within 0.1 of 0.2 although binary rounding says otherwise.
        slack = 4 * math.ulp(max(abs(number), abs(self.options.value)))
        distance = abs(number - self.options.value)
        passed = distance <= allowed + (slack if allowed else 0.0)
        reason = (
            "" if passed else f"{number:g} differs from {self.options.value:g} by {distance:g}, allowed {allowed:g}"
        )
        return Grade.of(passed, reason=reason, evidence={"actual": number})

    def example(self) -> Example:
        value = self.options.value
        return Example(whole=int(value) if value.is_integer() else value)


class ExitCodeOptions(Options):
    value: int = 0


class ExitCode(CodeGrader):
    """The command ended with this exit code (0 unless said otherwise)."""

    Options: ClassVar[type[Options]] = ExitCodeOptions
    options: ExitCodeOptions

    async def grade(self, context: GradeContext) -> Grade:
        actual = context.transcript.exit_code
        if actual is None:
            raise Unscored("the target has no exit code; exit_code needs a command target")
        passed = actual == self.options.value
        return Grade.of(passed, reason="" if passed else f"exit code {actual}, expected {self.options.value}")

    def example(self) -> Example:
        return Example(exit_code=self.options.value)


def read_number(output: Json) -> tuple[float | None, str]:
    """The one number in an answer, or why there is none. Never guesses between several."""
    if isinstance(output, bool):
        return None, "true/false is not a number"
    if isinstance(output, int | float):
        return (float(output), "") if math.isfinite(output) else (None, "not a finite number")
    if not isinstance(output, str):
        return None, "not a number"
    found = NUMBER.findall(output, timeout=1.0)
    if len(found) != 1:
        return None, "no number found" if not found else f"{len(found)} numbers found, one expected"
    number = float(found[0].replace(",", ""))
    return (number, "") if math.isfinite(number) else (None, "not a finite number")
