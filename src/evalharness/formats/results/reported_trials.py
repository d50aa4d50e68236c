"""Reported trials: the JSON document that runs write, read with its trials, so that its figures can be made again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from evalharness.domain.grade import Grade
from evalharness.domain.invalid_values import explain
from evalharness.domain.report import Report
from evalharness.domain.trial import Cause, Outcome, TrialState, cause_in_words
from evalharness.errors import Hint, UsageError
from evalharness.formats.problems import problems_text

HOW_TO = Hint("hint.write_report")


@dataclass(frozen=True, slots=True)
class ReportedTrial:
    """A row, and its grades as far as they are reported; None where they do not say what counts."""

    outcome: Outcome
    grades: tuple[Grade, ...] | None


@dataclass(frozen=True, slots=True)
class ReportWithTrials:
    """A report as a file tells it; `trials` is None where the file leaves them out."""

    report: Report
    trials: list[ReportedTrial] | None


class _Trial(BaseModel):
    """Other keys of a trial say nothing that a figure depends on."""

    case_id: str
    index: int
    state: TrialState
    first_state: TrialState
    score: float | None
    reason: str = ""
    cause: Cause | None = None
    """None in files of earlier versions."""
    duration_s: float
    cost_usd: float | None
    input_tokens: int | None
    output_tokens: int | None
    grades: list[Grade] = []


_TRIALS = TypeAdapter(list[_Trial])


def reports_in(document: Any) -> list[Mapping[str, Any]]:
    """The reports that a JSON document holds; none where it is about something else."""
    if not isinstance(document, Mapping):
        return []
    found = document.get("eval_reports", [document["eval_report"]] if "eval_report" in document else [])
    return [written for written in found if isinstance(written, Mapping)] if isinstance(found, list) else []


def read_with_trials(path: Path, written: Mapping[str, Any]) -> ReportWithTrials:
    """Raises UsageError where this version cannot read it."""
    try:
        report = Report.model_validate({key: value for key, value in written.items() if key != "trials"})
    except ValidationError as error:
        raise UsageError(
            f"{path} is not a report that this version can read: {problems_text(error, Report)}", hint=HOW_TO
        ) from None
    ids = [case.case_id for case in report.cases]
    if not ids or len(set(ids)) < len(ids):
        wrong = "contains a case twice" if ids else "has no results for individual cases"
        raise UsageError(f"{path} {wrong}, so nothing can be computed from it", hint=HOW_TO)
    return ReportWithTrials(report, _trials(path, written["trials"]) if written.get("trials") is not None else None)


def _trials(path: Path, written: Any) -> list[ReportedTrial]:
    try:
        trials = _TRIALS.validate_python(written)
    except ValidationError as error:
        raise UsageError(f"{path}: {explain(error, 'trials')}", hint=HOW_TO) from None
    return [_reported(trial, given) for trial, given in zip(trials, written, strict=True)]


def _reported(trial: _Trial, given: Mapping[str, Any]) -> ReportedTrial:
    grades: Sequence[Mapping[str, Any]] = given.get("grades", [])
    outcome = Outcome(
        trial.case_id,
        trial.index,
        trial.state,
        trial.first_state,
        trial.score,
        trial.reason,
        trial.duration_s,
        trial.cost_usd,
        trial.input_tokens,
        trial.output_tokens,
        json.dumps(grades),
        cause=cause_in_words(trial.state, trial.reason) if trial.cause is None else trial.cause,
    )
    if trial.cause is None:
        trial.grades = [_with_cause(grade) for grade in trial.grades]
    says_what_counts = all("required" in grade and "weight" in grade for grade in grades)
    return ReportedTrial(outcome, tuple(trial.grades) if says_what_counts else None)


def _with_cause(grade: Grade) -> Grade:
    return grade.model_copy(update={"cause": cause_in_words(grade.state, grade.reason)})
