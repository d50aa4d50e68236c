"""Kept answers: what a target answered as the plain data that is graded, stored and recorded, or why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError

from evalharness.documents.artifact import spending_of
from evalharness.documents.artifact_view import reported_duration_s
from evalharness.domain.transcript import FIGURES, Transcript, wrong_shape
from evalharness.domain.trial import TrialState
from evalharness.errors import ImpossibleFigure, TargetFailed
from evalharness.values.json_value import Json, plain_json


class NoAnswer(NamedTuple):
    """How a trial ended that has nothing to be graded."""

    state: TrialState
    reason: str
    evidence: Transcript | None = None
    trace: str = ""


class Answered(NamedTuple):
    answer: Transcript | NoAnswer
    measured_s: float


_ONLY_OUTPUT = {"output"}


def is_bare_text(answer: Transcript) -> bool:
    """Most answers are a text and nothing else: there is nothing in it to change."""
    return type(answer) is Transcript and type(answer.output) is str and answer.model_fields_set == _ONLY_OUTPUT


def recorded_answer(answer: Transcript) -> Transcript:
    """Raises TargetFailed for what cannot be kept, ImpossibleFigure for what no answer can cost, use or take."""
    plain = _checked({name: _plain(name, value) for name, value in _given(answer)})
    for figure, value, most in _figures(plain):
        if not 0 <= value <= most:
            raise ImpossibleFigure(figure, value, evidence=plain.model_copy(update=dict.fromkeys(FIGURES)))
    return plain


def _given(answer: Transcript) -> Iterator[tuple[str, Any]]:
    """What was said, by field; its classes may have fields of their own, which are not kept."""
    values = vars(answer)
    for name in Transcript.model_fields:
        if name in values and (name in answer.model_fields_set or (name == "files" and values[name])):
            yield name, values[name]


def _plain(name: str, value: Any) -> Json:
    try:
        if name == "tool_calls":
            return [plain_json(vars(call)) for call in value]
        if name in FIGURES:  # not a number is none, but a figure: it is refused as such
            return vars(value) if name == "usage" and value is not None else value
        return plain_json(value)
    except ValueError as error:
        raise TargetFailed(f"the answer's {name} contains {error}") from None


def _checked(written: dict[str, Json]) -> Transcript:
    try:
        return Transcript.model_validate(written)
    except ValidationError as error:
        raise wrong_shape(error) from None


MOST_USD = 1e9
MOST_TOKENS = 10**12
LONGEST_MS = 1e12
"""What one answer can cost, use and take (30 years): more is a mistake, and sums of it would say nothing."""


def _figures(answer: Transcript) -> Iterator[tuple[str, float, float]]:
    """Each with its field, and the most that it can be."""
    if answer.cost_usd is not None:
        yield "cost_usd", answer.cost_usd, MOST_USD
    if answer.usage is not None:
        yield "usage.input_tokens", answer.usage.input_tokens, MOST_TOKENS
        yield "usage.output_tokens", answer.usage.output_tokens, MOST_TOKENS
    most = {"duration": LONGEST_MS, "cost": MOST_USD, "tokens": MOST_TOKENS}
    for figure, what, value in spending_of(answer.events) if answer.events else ():
        yield figure, value, most[what]
    if (duration_s := reported_duration_s(answer)) is not None:
        yield "duration_s", duration_s, LONGEST_MS / 1000


# Answers as a recording keeps them.


def written_answer(answered: Answered) -> Json:
    """As a recording keeps it."""
    answer, measured_s = answered
    if isinstance(answer, Transcript):
        return {"measured_s": measured_s, "transcript": answer.model_dump(mode="json", exclude_unset=True)}
    left = None if answer.evidence is None else answer.evidence.model_dump(mode="json", exclude_unset=True)
    none = {"state": answer.state, "reason": answer.reason, "evidence": left, "trace": answer.trace}
    return {"measured_s": measured_s, "no_answer": {name: value for name, value in none.items() if value}}


def read_answer(written: Any) -> Answered:
    """Raises ValueError, LookupError or TypeError for what is no recorded answer."""
    if "no_answer" not in written:
        return Answered(Transcript.model_validate(written["transcript"]), float(written["measured_s"]))
    none = written["no_answer"]
    left = none.get("evidence")
    evidence = None if left is None else Transcript.model_validate(left)
    return Answered(
        NoAnswer(none["state"], none.get("reason", ""), evidence, none.get("trace", "")), float(written["measured_s"])
    )
