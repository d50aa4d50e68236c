"""Reviewed trial: a stored trial with the grades that people have given, and what follows from them for its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalharness import registry
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.run import Run
from evalharness.domain.specification import GraderSpec
from evalharness.domain.trial import Trial
from evalharness.engine.planning.planned_cases import filled_case, filled_suite
from evalharness.engine.running.attempt import decide

Place = tuple[int, ...]
_ABOUT = ("grader", "kind", "type", "version", "required", "weight", "judging", "figures")
"""What a grade keeps when people change its verdict."""


def reviewed_trial(trial: Trial, run: Run, case: Case, said: Mapping[Place, Grade]) -> Trial:
    """The trial with these grades in these places; graders made of graders follow from their parts."""
    specs = _specs(run, case)
    grades = tuple(
        _changed(grade, next((spec for spec in specs if _made(grade, spec)), None), _below(place, said))
        for place, grade in enumerate(trial.grades)
    )
    state, score, reason, cause = decide(grades)
    decided = {"state": state, "score": score, "reason": reason, "cause": cause, "grades": grades}
    last = trial.last.unchecked({**vars(trial.last), **decided})
    return trial.unchecked({**vars(trial), "attempts": (*trial.attempts[:-1], last)})


def _specs(run: Run, case: Case) -> tuple[GraderSpec, ...]:
    values = {**run.public_values, **case.own_values}
    return filled_suite(run.suite, values).graders_for(filled_case(case, run.suite, values))


def _made(grade: Grade, spec: GraderSpec) -> bool:
    return (spec.label, spec.kind) == (grade.grader, grade.kind)


def _below(place: int, said: Mapping[Place, Grade]) -> dict[Place, Grade]:
    return {path[1:]: grade for path, grade in said.items() if path[0] == place}


def _changed(grade: Grade, spec: GraderSpec | None, said: Mapping[Place, Grade]) -> Grade:
    if not said:
        return grade
    kept = {name: getattr(grade, name) for name in _ABOUT}
    if () in said:
        return grade.unchecked({**vars(said[()]), **kept})
    if spec is None or not isinstance(grade.evidence, list):  # another version of the harness graded it
        return grade
    options = registry.parse_options("grader", spec)
    parts = [
        (part, _changed(_part(row), part, _below(number, said)))
        for number, (part, row) in enumerate(zip(options.parts, grade.evidence, strict=True))
    ]
    combined: Grade = registry.load("grader", spec.kind).combined(options, parts)
    return combined.unchecked({**vars(combined), **kept})


def _part(row: Any) -> Grade:
    """The grade of a part, as the evidence of the whole has it."""
    return Grade.model_validate({name: value for name, value in row.items() if name != "grader"})
