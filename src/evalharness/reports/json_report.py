"""The report as one JSON document, written as a stream: a run of any size needs little memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, ClassVar

from evalharness.contracts.reporter import Reporter
from evalharness.domain.case import Case, as_text
from evalharness.domain.case_result import CaseHistory
from evalharness.domain.grade import Grade
from evalharness.domain.measurement import Measurement
from evalharness.domain.report import Report
from evalharness.domain.reported_run import Presentation, ReportedComparison, ReportedRun, WrittenTrials
from evalharness.domain.trial import Trial
from evalharness.reports.json_text import json_text
from evalharness.reports.words.say import with_texts

OUTPUT_HEAD = 500
_BEGINNING = re.compile(r'\s*(\Z|\{\s*"(eval_reports?|gate_report|error)"\s*:)')
"""A file without content is anybody's."""
_COMPARISON = re.compile(r'\s*(\Z|\{\s*"(comparisons?|regressions|error)"\s*:)')
"""How a comparison of reports begins; it never takes the place of one of them."""


class JsonReporter(Reporter):
    """One run: {"eval_report": …}; several: {"eval_reports": […]}."""

    name: ClassVar[str] = "json"
    endings: ClassVar[tuple[str, ...]] = (".json",)
    compares: ClassVar[bool] = True

    def write(self, runs: Sequence[ReportedRun], stream: IO[str], presentation: Presentation) -> None:
        alone = len(runs) == 1
        stream.write('{"eval_report": ' if alone else '{"eval_reports": [')
        for position, each in enumerate(runs):
            stream.write(",\n" if position else "")
            for piece in _pieces(each.report, each.trials(), presentation.redact):
                stream.write(piece)
        stream.write("}\n" if alone else "]}\n")

    def recognises(self, head: str) -> bool:
        return _BEGINNING.match(head) is not None

    def write_comparisons(
        self, compared: Sequence[ReportedComparison], stream: IO[str], presentation: Presentation
    ) -> None:
        """One: {"comparison": …}; several: {"comparisons": […]}."""
        rows = [with_texts(each.comparison) for each in compared]
        document = {"comparison": rows[0]} if len(rows) == 1 else {"comparisons": rows}
        stream.write(json_text(document, presentation.redact) + "\n")

    def recognises_comparisons(self, head: str) -> bool:
        return _COMPARISON.match(head) is not None


def _pieces(report: Report, trials: WrittenTrials | None, redact: Callable[[str], str]) -> Iterator[str]:
    head = with_texts(report, exclude={"slowest"})
    unknown = [name for name, value in report.metrics.items() if value is None]
    head["measurements"] |= {name: dict.fromkeys(Measurement.model_fields) for name in unknown}
    head["recommendations"], head["findings"] = _advice(head["recommendations"])
    shown = json_text(head, redact)
    # Redacting may write the document again, without its line breaks, or leave nothing of it but a text.
    whole = shown if shown.startswith("{") else f'{{"redacted": {shown}}}'
    if trials is None:
        yield whole
        return
    yield whole.removesuffix("}").rstrip() + ',\n "trials": ['
    for position, trial in enumerate(trials):
        separator = ",\n  " if position else "\n  "
        data = trial_data(trial) if isinstance(trial, Trial) else trial
        yield separator + json_text(data, redact, indent=None)
    yield "\n ]\n}"


def _advice(recommendations: list[dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """What to do next, in words; and beside them, in the same order, what was found, of which cases."""
    findings = [each["finding"] | {"kind": each["kind"], "cases": each["cases"]} for each in recommendations]
    return [found["text"] for found in findings], findings


def _grounds(grade: Grade) -> dict[str, Any]:
    """What a judge said and what it took. Of other evidence only what the score does not say: the F1 of tool calls, and
    whether a score of 0 stands for one that raised."""
    if grade.type == "model":
        judging = [took.model_dump(mode="json") for took in grade.judging]
        return {"evidence": grade.evidence, "judging": judging} if judging else {"evidence": grade.evidence}
    evidence = grade.evidence if isinstance(grade.evidence, Mapping) else {}
    if grade.kind == "tool_sequence" and "f1" in evidence:
        return {"evidence": {"f1": evidence["f1"]}}
    metadata = evidence.get("metadata")
    error = metadata.get("error") if isinstance(metadata, Mapping) else None
    return {} if error is None else {"evidence": {"metadata": {"error": error}}}


def trial_data(trial: Trial) -> dict[str, Any]:
    transcript = trial.last.transcript
    output = None if transcript is None or transcript.output is None else as_text(transcript.output)[:OUTPUT_HEAD]
    measured = {} if trial.measured_s is None else {"measured_s": round(trial.measured_s, 6)}
    broke = trial.state == "error" or (trial.state == "failed" and not trial.grades)
    return {
        "case_id": trial.case_id,
        "index": trial.index,
        "state": trial.state,
        "score": trial.score,
        "duration_s": round(trial.duration_s, 6),
        **measured,
        "output": output,
        "error": trial.reason if broke else None,
        "reason": trial.reason,
        "cause": trial.cause,
        "cost_usd": trial.cost_usd,
        "input_tokens": trial.input_tokens,
        "output_tokens": trial.output_tokens,
        "attempts": len(trial.attempts),
        "first_state": trial.first_state,
        "seed": trial.seed,
        "grades": [
            {
                "grader": grade.grader,
                "kind": grade.kind,
                "state": grade.state,
                "score": grade.score,
                "reason": grade.reason,
                "type": grade.type,
                "required": grade.required,
                "weight": grade.weight,
                **({"cause": grade.cause} if grade.cause else {}),
                **({"figures": grade.figures} if grade.figures else {}),
                **_grounds(grade),
            }
            for grade in trial.grades
        ],
    }


def case_data(case: Case, history: CaseHistory, trials: Iterable[Trial]) -> dict[str, Any]:
    """One case of a run with what became of it, now and before; each trial also as it is stored."""
    return {
        "case": case.model_dump(mode="json"),
        "history": history._asdict(),
        "trials": [{**trial_data(trial), "trial": trial.model_dump(mode="json")} for trial in trials],
    }
