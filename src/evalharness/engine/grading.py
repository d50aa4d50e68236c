"""Grading: from the grades of an attempt to its state, score and reason (rules: "States")."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.domain.grade import Grade
from evalharness.domain.trial import TrialState
from evalharness.stats.means import weighted_mean


def decide(grades: Sequence[Grade]) -> tuple[TrialState, float | None, str]:
    """All required grades pass → passed; one unscored → error; one still due → awaiting, unless one already failed."""
    score = mean_score(grades)
    required = [grade for grade in grades if grade.required]
    if all(grade.state == "pass" for grade in required):
        return "passed", score, ""
    for state, looked_for in (("error", "unscored"), ("failed", "fail"), ("awaiting", "awaiting")):
        found = [grade for grade in required if grade.state == looked_for]
        if found:
            return state, score, "; ".join(_said(grade) for grade in found)  # type: ignore[return-value]
    raise AssertionError("a grade is in no known state")


def mean_score(grades: Sequence[Grade]) -> float | None:
    """The weighted mean of the grades' scores; None when a required grade has none. Nothing to grade scores 1.

    A grade that passes without a score has measured nothing (a scorer that is switched off): it is left out.
    """
    if len(grades) == 1 and grades[0].score is not None:
        return grades[0].score
    if any(grade.score is None for grade in grades if grade.required and grade.state != "pass"):
        return None
    scored = [(grade.score, grade.weight) for grade in grades if grade.score is not None]
    if not scored:
        return 1.0
    if not any(weight for _, weight in scored):  # nothing has weight: all have the same
        scored = [(score, 1.0) for score, _ in scored]
    return weighted_mean(scored)


def _said(grade: Grade) -> str:
    return f"{grade.grader}: {grade.reason}" if grade.reason else f"{grade.grader}: {grade.state}"
