"""Grading: from the grades of an attempt to its state, score and reason (rules: "States")."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.domain.grade import Grade
from evalharness.domain.trial import TrialState


def decide(grades: Sequence[Grade]) -> tuple[TrialState, float | None, str]:
    """All required grades pass → passed; one unscored → error; one still due → awaiting, unless one already failed."""
    required = [grade for grade in grades if grade.required]
    score = mean_score(grades)
    for state, looked_for in (("error", "unscored"), ("failed", "fail"), ("awaiting", "awaiting")):
        found = [grade for grade in required if grade.state == looked_for]
        if found:
            return state, score, "; ".join(_said(grade) for grade in found)  # type: ignore[return-value]
    return "passed", score, ""


def mean_score(grades: Sequence[Grade]) -> float | None:
    """The weighted mean of the grades' scores; None when a required grade has none. Nothing to grade scores 1."""
    if any(grade.score is None for grade in grades if grade.required):
        return None
    scored = [(grade.weight, grade.score) for grade in grades if grade.score is not None]
    if not scored:
        return 1.0
    total = sum(weight for weight, _ in scored)
    if total == 0:  # nothing has weight: all have the same
        return sum(score for _, score in scored) / len(scored)
    return sum(weight * score for weight, score in scored) / total


def _said(grade: Grade) -> str:
    return f"{grade.grader}: {grade.reason}" if grade.reason else f"{grade.grader}: {grade.state}"
