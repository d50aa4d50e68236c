"""assertions: what must hold about the run of a workflow: its outputs, its metrics, what its nodes did."""

from __future__ import annotations

from typing import ClassVar

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.documents.assertions import Assertion, AssertionResult, artifact_for, evaluate_assertions
from evalharness.domain.example import Example
from evalharness.domain.grade import Grade
from evalharness.domain.options import Options
from evalharness.graders.workflow_part import artifact_in, kept_evidence
from evalharness.values.json_value import Json
from evalharness.values.text import head

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
