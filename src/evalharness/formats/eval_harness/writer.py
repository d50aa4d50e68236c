"""Answers of a run as a file of regression evals, which ask the same again and compare with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.documents.http_messages import is_response
from evalharness.domain.case import Case
from evalharness.domain.suite import Suite
from evalharness.formats.native.writer import case_fields, file_text, suite_fields
from evalharness.values.json_value import Json
from evalharness.values.variables import escape, escape_matchers

AS_IT_DID = " answers as it did"
REGRESSION = "regression"
_JUDGED_ELSEWISE = ("input", "expected", "graders", "reference", "metadata", "max_rounds")


@dataclass(frozen=True, slots=True)
class Captured:
    """A case with the answer it is to be compared with from now on, and what is known of that answer."""

    case: Case
    output: Json
    captured_at: str


@dataclass(frozen=True, slots=True)
class CaptureNote:
    """What holds for all captured answers; `comparison` is empty for one chosen by the answer itself."""

    version: str
    environment: dict[str, Json]
    comparison: str = ""
    criticality: str = ""


def dump_regressions(suite: Suite, captured: Sequence[Captured], note: CaptureNote) -> str:
    """`suite` says where and how they are asked; its own cases are not written."""
    top = suite_fields(suite.model_copy(update={"cases": (), "eval_type": REGRESSION}))
    return file_text(top, [_regression(one, note, suite.templated) for one in captured], templated=suite.templated)


def _regression(captured: Captured, note: CaptureNote, templated: bool) -> dict[str, Json]:
    case = captured.case
    asked = {key: value for key, value in case_fields(case, {}).items() if key not in _JUDGED_ELSEWISE}
    criticality = note.criticality or case.criticality
    comparison = note.comparison or _comparison(captured.output)
    output = _plain(captured.output, comparison)
    return {
        **asked,
        "name": f"{case.title.removesuffix(AS_IT_DID)}{AS_IT_DID}",
        "eval_type": REGRESSION,
        "baseline_version": note.version,
        "baseline": {
            # Nothing in an answer is a variable or a matcher; a file without variables is escaped as a whole.
            "output": escape(output) if templated else output,
            "captured_at": captured.captured_at,
            "environment": note.environment,
        },
        "current": {"input": case.input},
        "comparison": {"type": comparison},
        **({"metadata": {"criticality": criticality}} if criticality else {}),
    }


def _plain(output: Json, comparison: str) -> Json:
    """Where the comparison knows placeholders, what only looks like one is escaped; exact texts and data know none."""
    knows_placeholders = comparison == "structural" or (comparison == "exact" and is_response(output))
    return escape_matchers(output) if knows_placeholders else output


def _comparison(output: Json) -> str:
    """Data keeps its structure; a text is compared as it is."""
    return "structural" if isinstance(output, dict | list) or is_response(output) else "exact"
