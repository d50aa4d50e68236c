"""function: your own Python grader. It takes one context and returns a value.

True or False; a score from 0 to 1 (passes at `threshold`); a pair (passed or score, reason); a mapping with passed,
score, reason, evidence; or a Grade. A sync function runs on a thread, an async one on the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.grade import VERDICTS, Grade, kept_evidence
from evalharness.domain.options import Number, Options, Share
from evalharness.domain.record import copied
from evalharness.errors import InvalidValue, Unscored, UsageError, raised_at
from evalharness.references import call_function, code_of, function_source, import_reference, only_its_program_has
from evalharness.stats.thresholds import reaches
from evalharness.values.digest import digest
from evalharness.values.json_value import Json

TAKES_CONTEXT = (
    f"a grader function gets a {GradeContext.__name__}: write `def check(context)` "
    "and use context.output, context.text, context.input or context.reference"
)
MAPPING_KEYS = {"passed", "score", "reason", "evidence", "details"}


class FunctionOptions(Options):
    """`function` is `module:attr` or `file.py:attr`; `arguments` are passed on as keyword arguments.

    `live` names a function that was handed in from Python.
    """

    main: ClassVar[str] = "function"

    function: str = ""
    live: str = ""
    arguments: dict[str, Json] = Field(default_factory=dict)
    threshold: Share = 1.0
    timeout_seconds: Annotated[Number, Field(gt=0)] = 60.0

    @model_validator(mode="after")
    def _names_a_function(self) -> FunctionOptions:
        if not self.function and not self.live:
            raise ValueError("must name a function: write module:attr or file.py:attr")
        return self


class Function(Grader):
    Options: ClassVar[type[Options]] = FunctionOptions
    options: FunctionOptions

    @cached_property
    def _function(self) -> Callable[..., Any]:
        if self.spec.function is not None:
            return self.spec.function
        reference = self.options.function
        if not reference:
            raise UsageError(
                only_its_program_has("grader", self.options.live),
                hint="grade from Python, or name the grader as module:attr",
            )
        try:
            found = import_reference(reference, self.services.root, self.services.modules)
        except UsageError as error:
            raise UsageError(f"the grader {reference} cannot be imported: {error.message}", hint=error.hint) from error
        if not callable(found):
            raise UsageError(f"the grader {reference} is not callable")
        return found  # type: ignore[no-any-return]

    def digest(self) -> str:
        function = self._function  # a grader that cannot be had is refused before anything runs
        code = code_of(self.spec.function, self.options.function, self.services.root)
        return digest([super().digest(), code or function_source(function)])

    async def grade(self, context: GradeContext) -> Grade:
        limit = asyncio.timeout(self.options.timeout_seconds)
        try:
            async with limit:
                return await call_function(
                    self.services.in_thread,
                    partial(as_grade, threshold=self.options.threshold),
                    self._function,
                    context,
                    **copied(self.options.arguments),
                )
        except TimeoutError:
            if not limit.expired():  # the function's own
                raise
            raise Unscored(f"the grader took more than {self.options.timeout_seconds:g} s") from None
        except (AttributeError, TypeError) as error:
            if GradeContext.__name__ not in str(error):
                raise
            place = raised_at(error)
            raised = f"the grader raised {type(error).__name__}: {error}" + (f" ({place})" if place else "")
            raise Unscored(f"{raised}; {TAKES_CONTEXT}") from error


def as_grade(returned: Any, threshold: float) -> Grade:
    """What a grader function returned, as a Grade; anything unclear is unscored, never guessed."""
    if isinstance(returned, Grade):
        return _checked(returned)
    if isinstance(returned, bool):
        return _grade(returned)
    if isinstance(returned, int | float):
        return _grade_of_score(returned, threshold)
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], bool | int | float):
        grade = as_grade(returned[0], threshold)
        return grade.model_copy(update={"reason": _as_reason(returned[1]) or grade.reason})
    if isinstance(returned, Mapping):
        return _grade_of_mapping(returned, threshold)
    raise Unscored(f"the grader returned {type(returned).__name__}; return True/False, a score, a mapping or a Grade")


def _checked(grade: Grade) -> Grade:
    """It may have been copied or put together unchecked."""
    reason = _as_reason(grade.reason)
    try:
        if grade.state in VERDICTS:
            return _grade(grade.passed, grade.score, reason, grade.evidence)
        return Grade(
            state=grade.state,
            reason=reason,
            evidence=kept_evidence(grade.evidence),
            judging=grade.judging,
            is_final=grade.is_final,
        )
    except InvalidValue as error:
        raise Unscored(f"the grader returned an invalid Grade: {error.message.removeprefix('Grade: ')}") from None


def _grade_of_score(score: Any, threshold: float, reason: Any = None, evidence: Any = None) -> Grade:
    score = _checked_score(score)
    passed = reaches(score, threshold)
    return _grade(passed, score, _as_reason(reason) or ("" if passed else f"score {score:g} < {threshold:g}"), evidence)


def _grade_of_mapping(returned: Mapping[Any, Any], threshold: float) -> Grade:
    passed, score, reason = returned.get("passed"), returned.get("score"), returned.get("reason")
    evidence = returned.get("evidence", returned.get("details"))
    if set(returned) - MAPPING_KEYS or (score is None and passed is None):
        keys = ", ".join(sorted(str(key) for key in returned)) or "no keys"
        raise Unscored(f"the grader returned a mapping with {keys}; expected passed, score, reason, evidence")
    if passed is None:
        return _grade_of_score(score, threshold, reason, evidence)
    if not isinstance(passed, bool):
        raise Unscored(f"the grader returned passed={passed!r}; expected true or false")
    return _grade(passed, None if score is None else _checked_score(score), _as_reason(reason), evidence)


def _grade(passed: bool, score: float | None = None, reason: str = "", evidence: Any = None) -> Grade:
    reason = reason or ("" if passed else "the grader gave no reason")
    return Grade.of(passed, score=score, reason=reason, evidence=kept_evidence(evidence))


def _checked_score(score: Any) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise Unscored(f"the grader returned the score {score!r}: a score is a number between 0 and 1")
    return float(score)


def _as_reason(reason: Any) -> str:
    return "" if reason is None else str(reason)
