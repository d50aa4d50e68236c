"""Substituting: the grader that stands in where a case has none of the type asked for (`--grader-type model`)."""

from __future__ import annotations

from collections.abc import Iterable

from evalharness.contracts.grader import Grader
from evalharness.domain.case import Case
from evalharness.domain.example import merge_examples
from evalharness.domain.record import Json
from evalharness.domain.specification import GraderSpec


def usual_grader(grader_type: str, case: Case, graders: Iterable[tuple[GraderSpec, Grader]]) -> GraderSpec | None:
    """A person can rate any answer; a judge must be told what a good one is; code has to be written first."""
    if grader_type == "human":
        return GraderSpec(kind="human")
    known = _known_answer(case, graders) if grader_type == "model" else {}
    return GraderSpec(kind="model", options=known) if known else None


def _known_answer(case: Case, graders: Iterable[tuple[GraderSpec, Grader]]) -> dict[str, Json]:
    """The reference, else what the case's own graders would be pleased with."""
    if case.reference is not None:
        return {"expected": case.reference}
    example = merge_examples(grader.example() for spec, grader in graders if spec.required)
    if example is None:
        return {}
    if example.whole is not None:
        return {"expected": example.whole}
    pieces = [*example.starts, *example.holds, *example.ends]
    return {"must_include": pieces} if pieces else {}
