"""scorer: your own scorer, in Python. It takes the artifact of a run and returns a score.

A function, a class, or an object with a method `score`. It returns a number from 0 to 1, a Score, or a mapping with
value and, if it likes, name, raw_value and metadata.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, cast

from pydantic import Field, ValidationError, model_validator

from evalharness.documents.artifact import EvalArtifact
from evalharness.documents.scores import Score
from evalharness.domain.grade import kept_evidence
from evalharness.domain.invalid_values import explain
from evalharness.domain.options import Number, Options
from evalharness.errors import Unscored, UsageError
from evalharness.graders.scorers import ScorerGrader, ScorerOptions
from evalharness.references import call_function, code_of, function_source, import_reference, only_its_program_has
from evalharness.values.digest import digest


class OwnScorerOptions(ScorerOptions):
    """`scorer` is `module:attr` or `file.py:attr`; `live` names one that was handed in from Python."""

    main: ClassVar[str] = "scorer"

    scorer: str = ""
    live: str = ""
    timeout_seconds: Annotated[Number, Field(gt=0)] = 60.0

    @model_validator(mode="after")
    def _names_a_scorer(self) -> OwnScorerOptions:
        if not self.scorer and not self.live:
            raise ValueError("must name a scorer: write module:attr or file.py:attr")
        return self


class OwnScorer(ScorerGrader):
    Options: ClassVar[type[Options]] = OwnScorerOptions
    options: OwnScorerOptions

    @cached_property
    def _scorer(self) -> Any:
        if self.spec.function is not None:
            return self.spec.function
        reference = self.options.scorer
        if not reference:
            hint = "score from Python, or name the scorer as module:attr"
            raise UsageError(only_its_program_has("scorer", self.options.live), hint=hint)
        try:
            found = import_reference(reference, self.services.root, self.services.modules)
        except UsageError as error:
            raise UsageError(f"the scorer {reference} cannot be imported: {error.message}", hint=error.hint) from error
        if not inspect.isclass(found):
            _method_of(found, reference)
        return found

    @cached_property
    def _function(self) -> Callable[..., Any]:
        return _method_of(self._scorer() if inspect.isclass(self._scorer) else self._scorer, self._reference)

    @property
    def _reference(self) -> str:
        return self.options.scorer or self.options.live

    def digest(self) -> str:
        scorer = self._scorer  # a scorer that cannot be had is refused before anything runs
        code = code_of(self.spec.function, self.options.scorer, self.services.root)
        return digest([super().digest(), code or function_source(scorer)])

    async def score(self, artifact: EvalArtifact) -> Score:
        limit = asyncio.timeout(self.options.timeout_seconds)
        read = partial(as_score, name=self.spec.name or self._reference.rpartition(":")[2])
        try:
            async with limit:
                return await call_function(self.services.in_thread, read, self._function, artifact)
        except TimeoutError:
            if not limit.expired():  # the scorer's own
                raise
            raise Unscored(f"the scorer took more than {self.options.timeout_seconds:g} s") from None


def _method_of(scorer: Any, reference: str) -> Callable[..., Any]:
    function = getattr(scorer, "score", scorer)
    if not callable(function):
        raise UsageError(f"the scorer {reference} is neither a function nor an object with a method score")
    return cast(Callable[..., Any], function)


def as_score(returned: Any, name: str) -> Score:
    """What a scorer returned, as a Score; anything unclear is unscored, never guessed."""
    if isinstance(returned, Score):
        return _kept(returned)
    if isinstance(returned, bool | int | float):
        returned = {"value": float(returned)}
    if not isinstance(returned, Mapping):
        raise Unscored(f"the scorer returned {type(returned).__name__}; return a number, a Score or a mapping")
    try:
        return _kept(Score.model_validate({"name": name, **returned}))
    except ValidationError as error:
        raise Unscored(f"the scorer did not return a score from 0 to 1: {explain(error)}") from None


def _kept(score: Score) -> Score:
    """The scorer may use its mappings again for the next score."""
    metadata = kept_evidence(score.metadata)
    return score.model_copy(
        update={
            "raw_value": kept_evidence(score.raw_value),
            "metadata": metadata if isinstance(metadata, dict) else {"metadata": metadata},
        }
    )
