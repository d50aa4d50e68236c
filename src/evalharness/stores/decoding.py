"""From column values back to nouns. What cannot be read is a StoreError that names the store and what is damaged in it.

Single cells are checked by `columns.py`; here are the columns that contain whole records, and what must agree.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import repeat
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import from_json

from evalharness.domain.case_line import CaseLine, TrialChange
from evalharness.domain.case_result import CaseResult
from evalharness.domain.gate import Gate
from evalharness.domain.grade import SPEND_CAP, Grade
from evalharness.domain.job import Job
from evalharness.domain.report import Report
from evalharness.domain.review import Remark, Review, Reviewer, ReviewItem
from evalharness.domain.run import Run
from evalharness.domain.selftest import CaseMark
from evalharness.domain.stored import PastRun, RunLine, RunOutline
from evalharness.domain.suite import Suite
from evalharness.domain.trial import Attempt, Outcome, Trial, cause_in_words
from evalharness.errors import StoreError
from evalharness.stores.columns import damaged
from evalharness.stores.encoding import (
    ATTEMPTS,
    CASE_DEFAULTS,
    CASES,
    GRADES,
    ITEM,
    JOB,
    MARK,
    REMARK,
    REPORT,
    REVIEW,
    REVIEWER,
    RUN,
    SUITE,
    unpack,
    written,
)

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, zlib.error)

Stored = TypeVar("Stored")


class Decoder:
    def __init__(self, place: str) -> None:
        self._place = place

    def run(self, row: Sequence[Any]) -> Run:
        """From the values of `statements.RUN_COLUMNS`."""
        run_id, name, matrix_id, created_at, finished_at, planned, body, report = row
        run = self._read(RUN, body, f"run {name}")
        if planned != run.planned_trials:
            raise self.damaged(f"planned of run {name} is {planned}, but its suite has {run.planned_trials} trials")
        return run.model_copy(
            update={
                "id": run_id,
                "name": name,
                "matrix_id": matrix_id,
                "created_at": created_at,
                "finished_at": finished_at,
                "report": self.report(report, name) if report else None,
            }
        )

    def line(self, about: Sequence[Any], head: bytes, read: Report | None, counts: dict[str, int]) -> RunLine:
        """`about` has the values of the first fields of a line; `head` is for a run without a report: its beginning."""
        if read is None:
            line = RunLine(*(*about, variant_from(head), "", None, counts))
        else:
            rate = read.measurements.get("pass_rate")
            line = RunLine(*(*about, read.metadata.variant, read.verdict, rate, counts, read.summary.total_evals))
        trials = sum(counts.values())
        if trials > line.planned or (line.finished_at and trials < line.planned):
            raise self.damaged(f"run {line.name} has {trials} trials, not the {line.planned} that were planned")
        return line

    def outline(self, columns: Mapping[str, Any], head: bytes, report: bytes | None, cases: bytes | None) -> RunOutline:
        """`head` is for a run without a report: the beginning of what is stored of it."""
        if not report:
            return RunOutline(**columns, report=None, variant=variant_from(head))
        name = columns["name"]
        read = self.report(report, name)
        whole = read.model_copy(update={"cases": self._cases(cases, read, name)})
        return RunOutline(**columns, report=whole, variant=read.metadata.variant)

    def report(self, body: bytes, run_name: str) -> Report:
        return self._read(REPORT, body, f"the report of run {run_name}")

    def trial(self, row: Sequence[Any], run_name: str) -> Trial:
        """From the values of `statements.BODY_COLUMNS`."""
        case_id, index, seed, body, cause = row
        what = f"trial {index} of case {case_id} of run {run_name}"
        attempts = self._read(ATTEMPTS, body, what)
        if not attempts:
            raise self.damaged(f"{what} has no attempt")
        if cause is None:
            attempts = (*attempts[:-1], _with_causes(attempts[-1]))
        return Trial.unchecked({"case_id": case_id, "index": index, "seed": seed, "attempts": attempts, "tape": None})

    def outcome(self, row: Sequence[Any]) -> Outcome:
        """From the values of `statements.OUTCOME_COLUMNS`."""
        outcome = Outcome._make(row)
        if outcome.cause is not None:
            return outcome
        grades = outcome.grades
        if SPEND_CAP in grades:
            grades = written(GRADES, tuple(map(_with_cause, GRADES.validate_json(grades)))).decode()
        return outcome._replace(cause=cause_in_words(outcome.state, outcome.reason), grades=grades)

    def case_line(self, row: Sequence[Any], trials: int) -> CaseLine:
        """From the values of `case_statements.LINE_COLUMNS`."""
        position, case_id, name, category, tags, _, *results = row
        state, score, marks, passed, graded, latency_s, cost_usd, spent_usd, tokens, calls, first_not_passed = results
        return CaseLine(
            position=position,
            case_id=case_id,
            name=name,
            category=category,
            tags=tuple(_parsed(tags)),
            state=state,
            trials=trials,
            marks=marks,
            passed=passed,
            graded=graded,
            score=score,
            latency_s=latency_s,
            cost_usd=cost_usd,
            spent_usd=spent_usd,
            tokens=None if tokens is None else int(tokens),
            tool_calls=calls,
            first_not_passed=first_not_passed,
        )

    def change(self, row: Sequence[Any]) -> TrialChange:
        return TrialChange(row[0], self.outcome(row[1:]))

    def part(self, run_name: str, frame: bytes, cases: Iterable[bytes], wanted: Collection[str]) -> Run:
        """The run of a frame with these cases; from the values of `encoding.run_parts`."""
        run = self._read(RUN, frame, f"run {run_name}")
        found = [case for part in cases for case in self._read(CASES, part, f"the cases of run {run_name}")]
        kept = tuple(case for case in found if case.id in wanted)
        return run.model_copy(update={"suite": run.suite.model_copy(update={"cases": kept})})

    def suite(self, body: bytes, name: str) -> Suite:
        return self._read(SUITE, body, f"the suite {name}")

    def mark(self, body: bytes) -> CaseMark:
        return self._read(MARK, body, "what a selftest found")

    def job(self, body: str) -> Job:
        with self._readable("a job"):
            return JOB.validate_json(body)

    def item(self, row: Sequence[Any]) -> ReviewItem:
        """From the values of `review_statements.ITEM_COLUMNS`."""
        item_id, stage, wanted, body = row
        item = self._read(ITEM, body, f"the review item {item_id}")
        return item.model_copy(update={"id": item_id, "stage": stage, "wanted": wanted})

    def review(self, body: bytes) -> Review:
        return self._read(REVIEW, body, "a review")

    def reviewer(self, body: bytes) -> Reviewer:
        return self._read(REVIEWER, body, "a reviewer")

    def remark(self, body: bytes) -> Remark:
        return self._read(REMARK, body, "a remark about a grade")

    def gate(self, name: str, body: bytes) -> Gate | None:
        """What a run has to reach, where that was said."""
        with self._readable(f"run {name}"):
            text = unpack(body)
            if not (text.endswith(b"}") and b'"suite":' in text):
                raise ValueError("no suite")
            # Most suites have none, and reading a large one takes long.
            gate = _parsed(text)["suite"].get("gate") if b'"gate":' in text else None
            return None if gate is None else Gate.model_validate(gate)

    def _cases(self, body: bytes | None, report: Report, run_name: str) -> tuple[CaseResult, ...]:
        """As they were written: what is read here has gone through `encoding.cases_body`."""
        if not body:
            return ()
        with self._readable(f"the cases of run {run_name}"):
            kept = _parsed(unpack(body))
            size = report.summary.total_evals
            for name, column in kept.items():
                if len(column) != size or not set(map(type, column)) <= _kinds()[name]:
                    raise ValueError(name)
            if size and "case_id" not in kept:
                raise ValueError("no case has an id")
            columns = [kept.get(name) or repeat(default, size) for name, default in CASE_DEFAULTS.items()]
            return tuple(map(CaseResult, *columns))

    def _read(self, adapter: TypeAdapter[Stored], blob: bytes, what: str) -> Stored:
        try:
            return adapter.validate_json(unpack(blob))
        except _UNREADABLE as error:
            raise self._unreadable(what) from error

    @contextmanager
    def _readable(self, what: str) -> Iterator[None]:
        try:
            yield
        except _UNREADABLE as error:
            raise self._unreadable(what) from error

    def _unreadable(self, what: str) -> StoreError:
        return self.damaged(f"{what} cannot be read; perhaps another version of evalharness wrote it")

    def damaged(self, what: str) -> StoreError:
        return damaged(self._place, what)


def _with_causes(attempt: Attempt) -> Attempt:
    """An attempt that an earlier version wrote."""
    cause, grades = cause_in_words(attempt.state, attempt.reason), tuple(map(_with_cause, attempt.grades))
    return attempt.model_copy(update={"cause": cause, "grades": grades})


def _with_cause(grade: Grade) -> Grade:
    cause = cause_in_words(grade.state, grade.reason)
    return grade.model_copy(update={"cause": cause}) if cause else grade


@cache
def _kinds() -> dict[str, set[type]]:
    """Of each field of a case's result: the types of its values. A float may be written without its fraction."""
    found = {}
    for name, hint in get_type_hints(CaseResult).items():
        kinds = {get_origin(kind) or kind for kind in get_args(hint) or (hint,)}
        found[name] = {*kinds, int} if float in kinds else kinds
    return found


def past_run_from(run_id: str, name: str, planned: int, body: bytes) -> PastRun | None:
    """None where it is damaged, or another version wrote it: no new run may break because of it."""
    with suppress(*_UNREADABLE):
        run = _parsed(unpack(body))
        lock, is_sequential = run["lock"], bool(run.get("options", {}).get("sequential"))
        variant, kind = run.get("variant", ""), run["target"]["kind"]
        return PastRun(run_id, name, planned, variant, kind, lock["target"], is_sequential, lock["cases"])
    return None


def variant_from(head: bytes) -> str:
    """From the beginning of what is stored of a run: the variant is there, before the suite, which may be long."""
    with suppress(*_UNREADABLE):
        text = zlib.decompressobj().decompress(head) if head[:1] == b"x" else head
        return str(from_json(text, allow_partial=True).get("variant", ""))
    return ""


def _parsed(body: bytes | str) -> Any:
    return from_json(body, cache_strings="keys")  # hardly a value comes twice
