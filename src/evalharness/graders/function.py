"""function: your own Python grader. It takes one context and returns a value.

True or False; a score from 0 to 1 (passes at `threshold`); a pair (passed, reason); a mapping with passed, score,
reason, evidence; or a Grade. A sync function runs on a thread, an async one on the loop.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidationError

from evalharness import registry
from evalharness.contracts import GradeContext
from evalharness.domain.digest import digest, digest_file
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.record import Json
from evalharness.domain.specification import function_source
from evalharness.errors import Unscored, UsageError
from evalharness.graders.part import CodeGrader


class FunctionOptions(Options):
    """`function` is `module:attr` or `file.py:attr`; `arguments` are passed on as keyword arguments."""

    main: ClassVar[str] = "function"

    function: str = ""
    live: str = ""
    arguments: dict[str, Json] = Field(default_factory=dict)
    threshold: Annotated[float, Field(ge=0, le=1)] = 1.0
    timeout_seconds: Annotated[float, Field(gt=0)] = 60.0


class Function(CodeGrader):
    Options: ClassVar[type[Options]] = FunctionOptions
    options: FunctionOptions

    @cached_property
    def _function(self) -> Callable[..., Any]:
        if self.spec.function is not None:
            return self.spec.function
        if not self.options.function:
            raise UsageError(
                f"the grader {self.options.live} is a Python function that only its own program has",
                hint="grade from Python, or name the grader as module:attr",
            )
        try:
            found = registry.import_reference(self.options.function, self.services.root)
        except (ImportError, SyntaxError) as error:
            raise UsageError(f"the grader {self.options.function} cannot be imported: {error}") from error
        if not callable(found):
            raise UsageError(f"the grader {self.options.function} is not callable")
        return found  # type: ignore[no-any-return]

    def digest(self) -> str:
        function = self._function
        file = registry.reference_file(self.options.function, self.services.root) if self.options.function else None
        code = digest_file(file) if file is not None else function_source(function)
        return digest([super().digest(), code])

    async def grade(self, context: GradeContext) -> Grade:
        function = self._function
        try:
            async with asyncio.timeout(self.options.timeout_seconds):
                if inspect.iscoroutinefunction(function):
                    returned = await function(context, **self.options.arguments)
                else:
                    returned = await self.services.in_thread(function, context, **self.options.arguments)
                    if inspect.isawaitable(returned):
                        returned = await returned
        except TimeoutError:
            raise Unscored(f"the grader took more than {self.options.timeout_seconds:g} s") from None
        return as_grade(returned, self.options.threshold)


def as_grade(returned: Any, threshold: float) -> Grade:
    """What a grader function returned, as a Grade; anything unclear is unscored, never guessed."""
    if isinstance(returned, Grade):
        return returned
    if isinstance(returned, bool):
        return Grade.of(returned, reason="" if returned else "the grader returned False")
    if isinstance(returned, int | float):
        if not (math.isfinite(returned) and 0 <= returned <= 1):
            raise Unscored(f"the grader returned {returned!r}: a score must be between 0 and 1")
        passed = returned >= threshold
        return Grade.of(passed, score=float(returned), reason="" if passed else f"score {returned:g} < {threshold:g}")
    if isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[0], bool | int | float):
        return as_grade(returned[0], threshold).model_copy(update={"reason": str(returned[1])})
    if isinstance(returned, Mapping):
        return _grade_from_mapping(dict(returned), threshold)
    raise Unscored(f"the grader returned {type(returned).__name__}; return True/False, a score, a mapping or a Grade")


def _grade_from_mapping(returned: dict[str, Any], threshold: float) -> Grade:
    unknown = set(returned) - {"passed", "score", "reason", "evidence", "details"}
    score, passed = returned.get("score"), returned.get("passed")
    if unknown or (score is None and passed is None):
        raise Unscored(f"the grader returned a mapping with keys {sorted(returned)}; expected passed, score, reason")
    if passed is None:
        passed = isinstance(score, int | float) and score >= threshold
    if not isinstance(passed, bool):
        raise Unscored(f"the grader returned passed={passed!r}; expected true or false")
    evidence = returned.get("evidence", returned.get("details"))
    try:
        return Grade.of(passed, score=score, reason=str(returned.get("reason") or ""), evidence=evidence)
    except ValidationError:
        raise Unscored(f"the grader returned score={score!r}: a score must be between 0 and 1") from None
