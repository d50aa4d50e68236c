"""Grade: one verdict of one grader: pass, fail, or unscored with a reason."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from evalharness.domain.record import Json, Record

GradeState = Literal["pass", "fail", "unscored", "awaiting"]
GraderType = Literal["code", "model", "human"]


class Grade(Record):
    """`grader`, `kind`, `type`, `version`, `required` and `weight` are filled in by the engine."""

    state: GradeState
    score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None
    reason: str = ""
    evidence: Json = None
    grader: str = ""
    kind: str = ""
    type: GraderType = "code"
    version: str = "1"
    required: bool = True
    weight: float = 1.0

    @property
    def passed(self) -> bool:
        return self.state == "pass"

    @classmethod
    def of(cls, passed: bool, *, score: float | None = None, reason: str = "", evidence: Json = None) -> Grade:
        value = (1.0 if passed else 0.0) if score is None else score
        return cls(state="pass" if passed else "fail", score=value, reason=reason, evidence=evidence)

    @classmethod
    def unscored(cls, reason: str) -> Grade:
        return cls(state="unscored", reason=reason)
