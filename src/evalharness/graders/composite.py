"""Graders made of graders: all_of, any_of, not, weighted."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from evalharness import registry
from evalharness.contracts import GradeContext, Grader
from evalharness.domain.digest import digest
from evalharness.domain.example import Example, merge_examples
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.domain.specification import GraderSpec
from evalharness.graders.part import CodeGrader


class SeveralOptions(Options):
    main: ClassVar[str] = "graders"

    graders: tuple[GraderSpec, ...] = Field(min_length=1)

    @field_validator("graders")
    @classmethod
    def _parts_are_valid(cls, specs: tuple[GraderSpec, ...]) -> tuple[GraderSpec, ...]:
        for spec in specs:
            registry.parse_options("grader", spec)
        return specs


class Composite(CodeGrader):
    Options: ClassVar[type[Options]] = SeveralOptions
    options: Any

    @cached_property
    def _parts(self) -> list[tuple[GraderSpec, Grader]]:
        return [(spec, registry.build_grader(spec, self.services)) for spec in self.options.graders]

    def digest(self) -> str:
        return digest([super().digest(), [part.digest() for _, part in self._parts]])

    async def _grades(self, context: GradeContext) -> list[tuple[GraderSpec, Grade]]:
        """Every part is asked, so that the reasons are complete."""
        return [(spec, await part.grade(context)) for spec, part in self._parts]


def _reasons(grades: list[tuple[GraderSpec, Grade]]) -> str:
    return "; ".join(f"{spec.label}: {grade.reason or 'failed'}" for spec, grade in grades if not grade.passed)


def _evidence(grades: list[tuple[GraderSpec, Grade]]) -> list[dict[str, Any]]:
    return [
        {"grader": spec.label, "state": grade.state, "score": grade.score, "reason": grade.reason}
        for spec, grade in grades
    ]


def _mean_score(grades: list[tuple[GraderSpec, Grade]]) -> float:
    total = sum(spec.weight for spec, _ in grades)
    return sum(spec.weight * (grade.score or 0.0) for spec, grade in grades) / total if total else 0.0


class AllOf(Composite):
    """Every part passes; the score is the weighted mean of theirs."""

    async def grade(self, context: GradeContext) -> Grade:
        grades = await self._grades(context)
        passed = all(grade.passed for _, grade in grades)
        return Grade.of(passed, score=_mean_score(grades), reason=_reasons(grades), evidence=_evidence(grades))

    def example(self) -> Example | None:
        return merge_examples(part.example() for _, part in self._parts)


class AnyOf(Composite):
    """At least one part passes; the score is the best of theirs."""

    async def grade(self, context: GradeContext) -> Grade:
        grades = await self._grades(context)
        passed = any(grade.passed for _, grade in grades)
        score = max(grade.score or 0.0 for _, grade in grades)
        return Grade.of(passed, score=score, reason="" if passed else _reasons(grades), evidence=_evidence(grades))

    def example(self) -> Example | None:
        return next((example for _, part in self._parts if (example := part.example()) is not None), None)


class NotOptions(Options):
    main: ClassVar[str] = "grader"
    main_may_be_mapping: ClassVar[bool] = True

    grader: GraderSpec

    @field_validator("grader")
    @classmethod
    def _part_is_valid(cls, spec: GraderSpec) -> GraderSpec:
        registry.parse_options("grader", spec)
        return spec

    @property
    def graders(self) -> tuple[GraderSpec, ...]:
        return (self.grader,)


class Not(Composite):
    """The one part fails; the score is 1 minus its score."""

    Options: ClassVar[type[Options]] = NotOptions

    async def grade(self, context: GradeContext) -> Grade:
        [(spec, inner)] = await self._grades(context)
        passed = not inner.passed
        reason = "" if passed else f"{spec.label} passed and should not have"
        return Grade.of(passed, score=1.0 - (inner.score or 0.0), reason=reason, evidence=_evidence([(spec, inner)]))


class WeightedOptions(SeveralOptions):
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.7


class Weighted(Composite):
    """The weighted mean of the parts' scores reaches the threshold; no single part has to pass."""

    Options: ClassVar[type[Options]] = WeightedOptions

    async def grade(self, context: GradeContext) -> Grade:
        grades = await self._grades(context)
        score = _mean_score(grades)
        threshold = self.options.threshold
        passed = score >= threshold - 1e-9
        reason = "" if passed else f"score {score:.3f} < {threshold:g} ({_reasons(grades)})"
        return Grade.of(passed, score=score, reason=reason, evidence=_evidence(grades))
