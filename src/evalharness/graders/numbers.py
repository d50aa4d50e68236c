"""Graders for numbers: a numeric answer within a tolerance, and the exit code of a command."""

from __future__ import annotations

import math
import re
from itertools import islice
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, Field, field_validator

from evalharness.contracts import GradeContext
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.record import Json
from evalharness.errors import Unscored
from evalharness.graders.part import CodeGrader, shown, text_of

Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]

# A number is not read out of the middle of something else: 1.2.3, 3,14, v2 and 0x1F hold none. The look-arounds also
# keep the search linear: a run of digits is entered at its first digit only.
NUMBER = re.compile(
    r"(?<![\w.])(?<!\d,)[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+|(?=\.\d))(?:\.\d+)?(?:[eE][-+]?\d+)?"
    r"(?![.,]?\d|[A-Za-z][-+]?\d)"
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
            return Grade.of(False, reason=f"{problem}: {shown(text_of(context))}")
        allowed = max(self.options.absolute, self.options.relative * abs(self.options.value))
        # Tolerances are written in decimal: 0.3 must be within 0.1 of 0.2 although binary rounding says otherwise.
        slack = 4 * math.ulp(max(abs(number), abs(self.options.value)))
        distance = abs(number - self.options.value)
        passed = distance <= allowed + (slack if allowed else 0.0)
        difference = f"{number:.15g} differs from {self.options.value:.15g} by {distance:g}, allowed {allowed:g}"
        return Grade.of(passed, reason="" if passed else difference, evidence={"actual": number})

    def example(self) -> Example:
        value = self.options.value
        return Example(whole=int(value) if value.is_integer() else value)


class ExitCodeOptions(Options):
    value: int = 0

    @field_validator("value", mode="before")
    @classmethod
    def _bare_name(cls, written: Any) -> Any:
        return 0 if written is None else written


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
    if isinstance(output, str):
        found = [match[0] for match in islice(NUMBER.finditer(output), 2)]
        if len(found) != 1:
            return None, "more than one number found" if found else "no number found"
        output = found[0].replace(",", "").replace("−", "-")
    elif not isinstance(output, int | float):
        return None, "not a number"
    try:
        number = float(output)
    except OverflowError:
        number = math.inf
    return (number, "") if math.isfinite(number) else (None, "not a finite number")
