"""Graders made of graders: all_of, any_of, not, weighted.

A part without a verdict (unscored, or awaiting one) is never taken for a failed one: the whole then has no verdict
either, unless it is an any_of that another part decides.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, ValidationError, field_validator, model_validator

from evalharness import registry
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.contracts.services import Services
from evalharness.domain.example import Example, merge_examples
from evalharness.domain.grade import Grade, added_up, mean_figures
from evalharness.domain.invalid_values import explain
from evalharness.domain.options import Options, Share
from evalharness.domain.specification import GraderSpec
from evalharness.errors import Unscored, UsageError
from evalharness.stats.means import weighted_mean
from evalharness.stats.thresholds import reaches
from evalharness.values.digest import digest


def _checked(spec: GraderSpec) -> GraderSpec:
    try:
        registry.parse_options("grader", spec)
    except ValidationError as error:
        raise ValueError(explain(error, spec.kind)) from None
    return spec


def _needs_reference(spec: GraderSpec) -> bool:
    return registry.parse_options("grader", spec).needs_reference


def _needs_expected(spec: GraderSpec) -> bool:
    return registry.parse_options("grader", spec).needs_expected


PartSpec = Annotated[GraderSpec, AfterValidator(_checked)]
Graded = Sequence[tuple[GraderSpec, Grade]]


class SeveralOptions(Options):
    main: ClassVar[str] = "graders"

    graders: tuple[PartSpec, ...]

    @property
    def parts(self) -> tuple[GraderSpec, ...]:
        return self.graders

    @property
    def needs_reference(self) -> bool:
        return any(map(_needs_reference, self.graders))

    @property
    def needs_expected(self) -> bool:
        return any(map(_needs_expected, self.graders))

    @field_validator("graders")
    @classmethod
    def _not_empty(cls, graders: tuple[GraderSpec, ...]) -> tuple[GraderSpec, ...]:
        if not graders:
            raise ValueError("is empty; list at least one grader")
        return graders


class Composite(Grader):
    Options: ClassVar[type[Options]] = SeveralOptions
    only_reads: ClassVar[bool] = True
    options: Any

    def __init__(self, options: Any, spec: GraderSpec, services: Services) -> None:
        super().__init__(options, spec, services)
        self._parts: list[tuple[GraderSpec, Grader]] = [
            (part, registry.build_grader(part, services)) for part in options.parts
        ]
        self.parts = tuple(part for _, part in self._parts)
        self.people = max((part.people for part in self.parts), default=0)
        if rankings := [part.label for part, grader in self._parts if grader.never_required]:
            raise UsageError(f"'{rankings[0]}' ranks answers, so it cannot be a part of '{spec.label}'")
        types = {part.type for part in self.parts}
        self.type = "human" if "human" in types else "model" if "model" in types else "code"
        self.needs_sandbox = any(part.needs_sandbox for part in self.parts)
        self.needs_end_state = any(part.needs_end_state for part in self.parts)
        self.is_off = all(part.is_off for part in self.parts)

    def judges(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.judges())

    def embedders(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.embedders())

    def images(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.images())

    def digest(self) -> str:
        return digest([super().digest(), [part.digest() for part in self.parts]])

    async def grade(self, context: GradeContext) -> Grade:
        grades = await self._grades(context)
        whole = self.combined(self.options, grades)
        before = context.before.judging if context.before else ()
        judging = added_up((*before, *(each for _, grade in grades for each in grade.judging)))
        figures = mean_figures(grade.figures for _, grade in grades)
        return whole.model_copy(update={"judging": judging, "figures": figures}) if judging or figures else whole

    @classmethod
    @abstractmethod
    def combined(cls, options: Any, grades: Graded) -> Grade:
        """From the grades of the parts to that of the whole."""

    async def _grades(self, context: GradeContext) -> Graded:
        """Every part is asked, so that the reasons are complete."""
        grades = []
        for place, (spec, part) in enumerate(self._parts):
            try:
                grade = await part.grade(part.handed(replace(context, before=_said_before(context, place, spec))))
            except Unscored as reason:
                grade = Grade.unscored(str(reason))
            if part.type != "code":
                grade = grade.unchecked({**vars(grade), "type": part.type, "version": part.version})
            grades.append((spec, grade))
        return grades


def _said_before(context: GradeContext, place: int, spec: GraderSpec) -> Grade | None:
    """The grade of a part, as `_evidence` recorded it."""
    reported: Any = context.before.evidence if context.before else None
    if not isinstance(reported, list) or place >= len(reported):
        return None
    if "version" not in reported[place] or reported[place]["grader"] != spec.label:
        return None
    return Grade.model_validate({name: value for name, value in reported[place].items() if name != "grader"})


def _without_verdict(deciding: Graded, grades: Graded) -> Grade | None:
    """The grade of the whole when parts that decide it have no verdict; None when all of them have one."""
    for state in ("unscored", "awaiting"):
        found = [(spec, grade) for spec, grade in deciding if grade.state == state]
        if found:
            return Grade(
                state=found[0][1].state,
                reason=_reasons(found),
                evidence=_evidence(grades),
                cause=next((grade.cause for _, grade in found if grade.cause), ""),
                is_final=all(grade.is_final for _, grade in found),
            )
    return None


def _reasons(grades: Graded) -> str:
    return "; ".join(f"{spec.label}: {grade.reason or grade.state}" for spec, grade in grades if not grade.passed)


def _evidence(grades: Graded) -> list[dict[str, Any]]:
    """What others than code have said is kept whole, so that they need not say it again."""
    return [
        {"grader": spec.label, "state": grade.state, "score": grade.score, "reason": grade.reason}
        | ({"type": grade.type, "version": grade.version, "evidence": grade.evidence} if grade.type != "code" else {})
        for spec, grade in grades
    ]


def _mean_score(grades: Graded) -> float | None:
    """None when no part weighs anything."""
    scored = [(grade.score, spec.weight) for spec, grade in grades if grade.score is not None]
    return weighted_mean(scored) if any(weight for _, weight in scored) else None


class AllOf(Composite):
    """Every required part passes; the score is the weighted mean of all of them."""

    @classmethod
    def combined(cls, options: Any, grades: Graded) -> Grade:  # noqa: ARG003
        required = [(spec, grade) for spec, grade in grades if spec.required]
        reasons = _reasons(required)
        is_judged = required or any(grade.is_verdict for _, grade in grades)
        return _without_verdict(required if is_judged else grades, grades) or Grade.of(
            not reasons, score=_mean_score(grades), reason=reasons, evidence=_evidence(grades)
        )

    def example(self) -> Example | None:
        return merge_examples(part.example() for spec, part in self._parts if spec.required)


class AnyOf(Composite):
    """At least one part passes; the score is the best of theirs."""

    @classmethod
    def combined(cls, options: Any, grades: Graded) -> Grade:  # noqa: ARG003
        evidence = _evidence(grades)
        score = max(grade.score or 0.0 for _, grade in grades)
        if any(grade.passed for _, grade in grades):
            return Grade.of(True, score=score, evidence=evidence)
        return _without_verdict(grades, grades) or Grade.of(
            False, score=score, reason=_reasons(grades), evidence=evidence
        )

    def example(self) -> Example | None:
        return next((example for _, part in self._parts if (example := part.example()) is not None), None)


class NotOptions(Options):
    main: ClassVar[str] = "grader"
    main_may_be_mapping: ClassVar[bool] = True

    grader: PartSpec

    @property
    def parts(self) -> tuple[GraderSpec, ...]:
        return (self.grader,)

    @property
    def needs_reference(self) -> bool:
        return _needs_reference(self.grader)

    @property
    def needs_expected(self) -> bool:
        return _needs_expected(self.grader)


class Not(Composite):
    """The one part fails; the score is 1 minus its score."""

    Options: ClassVar[type[Options]] = NotOptions

    @classmethod
    def combined(cls, options: Any, grades: Graded) -> Grade:  # noqa: ARG003
        [(spec, inner)] = grades
        score = None if inner.score is None else 1.0 - inner.score
        reason = f"{spec.label} passed, but should not have" if inner.passed else ""
        return _without_verdict(grades, grades) or Grade.of(
            not inner.passed, score=score, reason=reason, evidence=_evidence(grades)
        )


class WeightedOptions(SeveralOptions):
    threshold: Share = 0.7

    @model_validator(mode="after")
    def _something_weighs(self) -> WeightedOptions:
        if not any(spec.weight for spec in self.graders):
            raise ValueError("no part has a weight above 0")
        return self


class Weighted(Composite):
    """The weighted mean of the parts' scores reaches the threshold; no single part has to pass."""

    Options: ClassVar[type[Options]] = WeightedOptions

    @classmethod
    def combined(cls, options: Any, grades: Graded) -> Grade:
        score = _mean_score(grades) or 0.0
        threshold = options.threshold
        passed = reaches(score, threshold)
        details = f" ({_reasons(grades)})" if _reasons(grades) else ""
        reason = "" if passed else f"score {score:g} < {threshold:g}{details}"
        return _without_verdict(grades, grades) or Grade.of(
            passed, score=score, reason=reason, evidence=_evidence(grades)
        )
