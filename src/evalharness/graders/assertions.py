"""assertions: what must be true of a workflow's run: its outputs, its metrics, what its nodes did."""

from __future__ import annotations

from typing import ClassVar

from pydantic_core import to_jsonable_python

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.documents.artifact import EvalArtifact
from evalharness.documents.artifact_view import artifact_of, compact_text
from evalharness.documents.assertions import Assertion, AssertionResult, artifact_for, evaluate_assertions
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.errors import Unscored
from evalharness.values.json_value import Json
from evalharness.values.text import head

LONGEST_EVIDENCE = 1000


def artifact_in(context: GradeContext) -> EvalArtifact:
    try:
        return artifact_of(context.transcript, context.duration_s)
    except (RecursionError, ValueError) as error:
        raise Unscored(f"the answer cannot be read as an artifact: {error}") from None


def kept_evidence(value: Json) -> Json:
    """A value as evidence: as JSON, and cut if it is long, since the transcript has it in full."""
    try:
        plain = to_jsonable_python(value, fallback=lambda odd: f"<{type(odd).__name__}>", inf_nan_mode="null")
        text = compact_text(plain)
    except (RecursionError, ValueError) as error:
        return f"a value that cannot be stored: {error}"
    return plain if len(text) <= LONGEST_EVIDENCE else head(text, LONGEST_EVIDENCE)


LONGEST_REASON = 1500


class AssertionsOptions(Options):
    main: ClassVar[str] = "assertions"

    assertions: tuple[Assertion, ...]


class Assertions(Grader):
    """All of them hold; the score is the share that does. Each is looked at, in the order they are written."""

    Options: ClassVar[type[Options]] = AssertionsOptions
    options: AssertionsOptions

    async def grade(self, context: GradeContext) -> Grade:
        results = evaluate_assertions(artifact_in(context), self.options.assertions)
        failed = [f"{result.assertion.type}: {result.message}" for result in results if not result.passed]
        score = 1 - len(failed) / len(results) if results else 1.0
        evidence = [_as_evidence(result) for result in results]
        return Grade.of(not failed, score=score, reason=head("; ".join(failed), LONGEST_REASON), evidence=evidence)

    def example(self) -> Example | None:
        artifact = artifact_for(self.options.assertions)
        if artifact is None:
            return None
        if not artifact.outputs and not artifact.state:  # nothing is asked of the answer itself
            return Example(events=artifact.events)
        return Example(whole=artifact.outputs, snapshot=artifact.snapshot, events=artifact.events)


def _as_evidence(result: AssertionResult) -> Json:
    evidence = {
        **result.model_dump(mode="json", by_alias=True, exclude={"actual"}),
        "actual": kept_evidence(result.actual),
    }
    return {key: value for key, value in evidence.items() if key != "message" or value}
