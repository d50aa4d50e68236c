"""Runs without their answers: for reports that leave out outputs, transcripts and evidence.

Verdicts, figures, states, scores and the names of graders stay. Reasons go, because they quote answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalharness.domain.comparison import CaseChange, Comparison
from evalharness.domain.grade import Grade
from evalharness.domain.report import Failure, Recommendation, Report
from evalharness.domain.reported_run import ReportedComparison, ReportedRun, WrittenTrials, no_divergences
from evalharness.domain.run import Run
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.values.json_value import Json

FIGURES = ("cost_usd", "usage", "duration_s")
"""What stays of a transcript: what an answer took does not reveal the answer."""


LEFT_OUT = "…"


def shows_details(run: Run | None) -> bool:
    """Whether the suite lets reports show them."""
    return run is None or run.suite.reporting is None or run.suite.reporting.include_details


def without_details(each: ReportedRun) -> ReportedRun:
    """`trials` and `trials_of` read as lazily as before."""
    return replace(
        each,
        report=_report(each.report),
        run=None if each.run is None else each.run.model_copy(update={"trials": (), "report": None}),
        trials=_all_trials(each.trials),
        trials_of=_trials_of(each.trials_of),
        before=None if each.before is None else without_details(each.before),
        divergences=no_divergences,
    )


def comparison_without_details(each: ReportedComparison) -> ReportedComparison:
    sides = [None if side is None else without_details(side) for side in (each.old, each.new)]
    return ReportedComparison(_comparison(each.comparison), *sides)


def _report(report: Report) -> Report:
    return report.model_copy(
        update={
            "failures": tuple(map(_failure, report.failures)),
            "unjudged": tuple(map(_failure, report.unjudged)),
            "recommendations": tuple(map(_recommendation, report.recommendations)),
            "comparison": None if report.comparison is None else _comparison(report.comparison),
        }
    )


def _failure(failure: Failure) -> Failure:
    return failure.model_copy(update={"reason": failure.grader or failure.state, "difference": None})


def _recommendation(advice: Recommendation) -> Recommendation:
    """Some quote the reason that cases have in common."""
    params = advice.finding.params
    if "reason" not in params:
        return advice
    unquoted = advice.finding.model_copy(update={"params": {**params, "reason": LEFT_OUT}})
    return advice.model_copy(update={"finding": unquoted})


def _comparison(comparison: Comparison) -> Comparison:
    return comparison.model_copy(update={"cases": tuple(map(_change, comparison.cases))})


def _change(case: CaseChange) -> CaseChange:
    return case.model_copy(update={"divergence": None})


def _all_trials(read: Callable[[], WrittenTrials | None]) -> Callable[[], WrittenTrials | None]:
    def stripped() -> WrittenTrials | None:
        found = read()
        return None if found is None else _stripped(found)

    return stripped


def _trials_of(read: Callable[[str], Iterable[Trial]]) -> Callable[[str], Iterable[Trial]]:
    return lambda case_id: map(_trial, read(case_id))


def _stripped(trials: WrittenTrials) -> Iterator[Trial | Mapping[str, Any]]:
    return (_trial(trial) if isinstance(trial, Trial) else _written(trial) for trial in trials)


def _trial(trial: Trial) -> Trial:
    return trial.model_copy(update={"attempts": tuple(map(_attempt, trial.attempts))})


def _attempt(attempt: Attempt) -> Attempt:
    transcript = attempt.transcript
    figures = None
    if transcript is not None:
        figures = Transcript(**{name: getattr(transcript, name) for name in FIGURES})
    grades = tuple(map(_grade, attempt.grades))
    return attempt.model_copy(update={"reason": "", "trace": "", "grades": grades, "transcript": figures})


def _grade(grade: Grade) -> Grade:
    return grade.model_copy(update={"reason": "", "evidence": _figures_of(grade.evidence), "trace": ""})


def _figures_of(evidence: Json) -> Json:
    """Of evidence, what figures follow from: the F1 of tool calls, and that a score of 0 stands for an error."""
    if not isinstance(evidence, Mapping):
        return None
    kept: dict[str, Json] = {"f1": evidence["f1"]} if isinstance(evidence.get("f1"), int | float) else {}
    metadata = evidence.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("error"), str):
        kept["metadata"] = {"error": ""}
    return kept or None


def _written(trial: Mapping[str, Any]) -> dict[str, Any]:
    """Of a trial as a report file has it."""
    written = trial.get("grades")
    grades = [
        {**grade, "reason": "", **({"evidence": _figures_of(grade["evidence"])} if "evidence" in grade else {})}
        for grade in (written if isinstance(written, list) else ())
        if isinstance(grade, Mapping)
    ]
    return {**trial, "output": None, "error": None, "reason": "", "grades": grades}
