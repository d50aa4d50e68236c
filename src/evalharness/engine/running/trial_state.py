"""Trial state: from the grades of an attempt to its state, score and reason (rules: "States")."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evalharness.domain.grade import VERDICTS, Grade, GradeState
from evalharness.domain.trial import Cause, TrialState
from evalharness.stats.means import weighted_mean

_STATES: tuple[tuple[TrialState, GradeState], ...] = (
    ("error", "unscored"),
    ("failed", "fail"),
    ("awaiting", "awaiting"),
)
"""What a trial is because of a decisive grade: the first of these counts."""


def decide(grades: Sequence[Grade]) -> tuple[TrialState, float | None, str, Cause]:
    """State, score, reason and cause. All required grades pass → passed; one unscored → error; one still outstanding →
    awaiting, unless one already failed."""
    score = mean_score(grades)
    deciding = decisive_grades(grades)
    if all(grade.state == "pass" for grade in deciding):
        return "passed", score, "", ""
    if not deciding[0].required:
        due = [grade for grade in deciding if grade.state == "awaiting"]
        said = "; ".join(map(_said, due or deciding))
        if due:
            return "awaiting", score, said, _cause(due)
        return "error", score, f"no grader gave a verdict: {said}", ""
    states: tuple[tuple[TrialState, GradeState], ...] = (
        ("error", "unscored"),
        ("failed", "fail"),
        ("awaiting", "awaiting"),
    )
    for state, looked_for in states:
        found = [grade for grade in deciding if grade.state == looked_for]
        if found:
            return state, score, "; ".join(map(_said, found)), _cause(found)
    raise AssertionError("a grade is in no known state")


def _cause(decisive: Iterable[Grade]) -> Cause:
    return next((grade.cause for grade in decisive if grade.cause), "")


def decisive_grades(grades: Sequence[Grade]) -> list[Grade]:
    """The required grades. Where none is, and nobody gave a verdict, all that were to give one: none is no pass."""
    required = [grade for grade in grades if grade.required]
    if required or any(grade.is_verdict for grade in grades):
        return required
    return [grade for grade in grades if grade.state not in VERDICTS]


def mean_score(grades: Sequence[Grade]) -> float | None:
    """The weighted mean of the grades' scores. Nothing to grade scores 1.

    None when a required grade has no score, or nobody has one of those whose scores are to count. A grade that passes
    without a score has measured nothing (a scorer that is switched off): it is left out.
    """
    if len(grades) == 1 and grades[0].score is not None:
        return grades[0].score
    if any(grade.score is None for grade in grades if grade.required and grade.state != "pass"):
        return None
    scored = [(grade.score, grade.weight) for grade in grades if grade.score is not None]
    if not any(weight for _, weight in scored):
        if any(grade.state not in VERDICTS and (grade.weight or not scored) for grade in grades):
            return None
        scored = [(score, 1.0) for score, _ in scored]  # nothing has weight: all have the same
    return weighted_mean(scored) if scored else 1.0


def _said(grade: Grade) -> str:
    return f"{grade.grader}: {grade.reason}" if grade.reason else f"{grade.grader}: {grade.state}"
