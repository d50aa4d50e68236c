"""Trials and grades of runs as flat rows, each read when it is needed: what data files and data frames consist of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from evalharness.domain.case_result import CaseResult
from evalharness.domain.grade import Grade
from evalharness.domain.reported_run import ReportedRun
from evalharness.domain.trial import Trial
from evalharness.values.json_value import Json

Row: TypeAlias = dict[str, Json]
What: TypeAlias = Literal["trials", "grades"]
_OF_RUN = ("run_id", "run_name", "suite_name", "variant", "run_verdict", "case_id", "category", "difficulty", "trial")
TRIAL_FIELDS = ("state", "first_state", "score", "reason", "cause", "output", "duration_s", "cost_usd",
                "input_tokens", "output_tokens", "attempts", "seed")  # fmt: skip
GRADE_FIELDS = ("grader", "kind", "type", "state", "score", "required", "weight", "reason", "cause", "evidence")
UNKNOWN = CaseResult("")
"""For a trial whose case the report does not have."""


class Table(NamedTuple):
    columns: tuple[str, ...]
    rows_of: Callable[[Trial | Mapping[str, Any]], Iterable[Row]]
    """The rows of one trial."""

    def rows(self, runs: Iterable[ReportedRun]) -> Iterator[Row]:
        for each in runs:
            about, cases = each.report.metadata, {case.case_id: case for case in each.report.cases}
            run = (about.run_id, about.run_name, about.suite_name, about.variant, each.report.verdict)
            for trial in each.trials() or ():
                case_id, index = _place(trial)
                case = cases.get(case_id, UNKNOWN)
                start = dict(zip(_OF_RUN, (*run, case_id, case.category, case.difficulty, index + 1), strict=True))
                yield from ({**start, **row} for row in self.rows_of(trial))


def _place(trial: Trial | Mapping[str, Any]) -> tuple[str, int]:
    if isinstance(trial, Trial):
        return trial.case_id, trial.index
    return str(trial.get("case_id", "")), int(trial.get("index", 0))


def _trial_row(trial: Trial | Mapping[str, Any]) -> list[Row]:
    if not isinstance(trial, Trial):
        return [{name: trial.get(name) for name in TRIAL_FIELDS}]
    exact = {"attempts": len(trial.attempts), "duration_s": round(trial.duration_s, 6)}
    return [{name: getattr(trial, name) for name in TRIAL_FIELDS} | exact]


def _grade_rows(trial: Trial | Mapping[str, Any]) -> list[Row]:
    grades = trial.grades if isinstance(trial, Trial) else trial.get("grades") or ()
    return [{name: _field(grade, name) for name in GRADE_FIELDS} for grade in grades]


def _field(grade: Grade | Mapping[str, Any], name: str) -> Json:
    return getattr(grade, name) if isinstance(grade, Grade) else grade.get(name)


TABLES: Mapping[What, Table] = {
    "trials": Table((*_OF_RUN, *TRIAL_FIELDS), _trial_row),
    "grades": Table((*_OF_RUN, *GRADE_FIELDS), _grade_rows),
}
