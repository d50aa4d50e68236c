"""What the graders of workflows share: the artifact they look at, and how much of it is kept as evidence."""

from __future__ import annotations

from pydantic_core import to_jsonable_python

from evalharness.contracts.grader import GradeContext
from evalharness.documents.artifact import EvalArtifact
from evalharness.documents.artifact_view import artifact_of, compact_text
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
        return f"a value that cannot be kept: {error}"
    return plain if len(text) <= LONGEST_EVIDENCE else head(text, LONGEST_EVIDENCE)
