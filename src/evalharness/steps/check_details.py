"""Details of a trial as task suites know them: what was checked, what was expected, what was found."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.domain.case import as_text
from evalharness.domain.grade import Grade
from evalharness.domain.specification import GraderSpec
from evalharness.formats.task_suites.records import CheckDetail


def check_details(grades: Sequence[Grade], reason: str, graders: Sequence[GraderSpec]) -> tuple[CheckDetail, ...]:
    """`graders` are those of the case, of which the expected values are."""
    if not grades:
        return (CheckDetail(check="execution", passed=False, actual=reason),)
    expected = {spec.label: as_text(spec.options) for spec in graders if spec.options is not None}
    return tuple(detail for grade in grades for detail in _checks(grade, expected.get(grade.grader, "")))


def _checks(grade: Grade, expected: str) -> list[CheckDetail]:
    """Some graders keep each check as evidence; the others have one verdict to tell."""
    rows = grade.evidence if isinstance(grade.evidence, list) else []
    if rows and all(isinstance(row, dict) and row.keys() == CheckDetail.model_fields.keys() for row in rows):
        return [CheckDetail.model_validate(row) for row in rows]
    return [CheckDetail(check=grade.grader, passed=grade.passed, expected=expected, actual=_found(grade))]


def _found(grade: Grade) -> str:
    """What was compared, as far as the grader says it, else its reason."""
    evidence = grade.evidence
    if isinstance(evidence, dict) and {"expected", "actual"} <= evidence.keys():
        return as_text(evidence["actual"])
    return grade.reason
