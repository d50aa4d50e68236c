"""What the graders of workflows share: the artifact they look at, and how much of it is kept as evidence."""

from __future__ import annotations

from pydantic_core import to_jsonable_python

from evalharness.contracts.grader import GradeContext
from evalharness.domain.artifact import EvalArtifact
from evalharness.domain.artifact_answers import artifact_of
from evalharness.domain.artifact_view import compact_text
from evalharness.domain.record import Json
from evalharness.domain.text import head
from evalharness.errors import Unscored

LONGEST_EVIDENCE = 1000


def artifact_in(context: GradeContext) -> EvalArtifact:
    try:
        return artifact_of(context.transcript, context.duration_s)
    except (RecursionError, ValueError) as error:
        raise Unscored(f"the answer cannot be read as an artifact: {error}") from None


def kept(value: Json) -> Json:
    """A value as evidence: as JSON, and cut if it is long, since the transcript has it in full."""
    try:
        plain = to_jsonable_python(value, fallback=lambda odd: f"<{type(odd).__name__}>", inf_nan_mode="null")
        text = compact_text(plain)
    except (RecursionError, ValueError) as error:
        return f"a value that cannot be kept: {error}"
    return plain if len(text) <= LONGEST_EVIDENCE else head(text, LONGEST_EVIDENCE)
