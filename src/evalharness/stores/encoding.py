"""From nouns to column values: the single write door. The way back is `decoding.py`.

What leaves here has no secret in it and can be read back. Nearly every record is like that by itself; the others go
through `cleaning.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import chain
from math import isfinite
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from evalharness.domain.case import Case
from evalharness.domain.case_line import search_text
from evalharness.domain.case_result import CaseResult
from evalharness.domain.grade import Grade, Judging
from evalharness.domain.invalid_values import explain
from evalharness.domain.job import Job
from evalharness.domain.report import Report
from evalharness.domain.review import Remark, Review, Reviewer, ReviewItem
from evalharness.domain.run import Run
from evalharness.domain.selftest import CaseMark
from evalharness.domain.stored import LONGEST_LIST
from evalharness.domain.suite import Suite
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.errors import StoreError, UsageError
from evalharness.redaction import Redactor
from evalharness.stores.cleaning import Cleaner, clean_text
from evalharness.values.text import head

COMPRESS_FROM = 1024
KEPT_TEXT = 2_097_152
"""Graders saw the whole text; what is kept of a longer one is its head and its tail."""
LONGEST_REASON = 1000
_LARGEST_INTEGER = 2**63 - 1
ATTEMPTS = TypeAdapter(tuple[Attempt, ...])
GRADES = TypeAdapter(tuple[Grade, ...])
_JUDGINGS = TypeAdapter(tuple[Judging, ...])
RUN = TypeAdapter(Run)
REPORT = TypeAdapter(Report)
SUITE = TypeAdapter(Suite)
MARK = TypeAdapter(CaseMark)
JOB = TypeAdapter(Job)
CASES = TypeAdapter(tuple[Case, ...])
FRAME = -1
"""Where `run_parts` has the run without its cases."""
CASES_PER_PART = 100
ITEM = TypeAdapter(ReviewItem)
REVIEW = TypeAdapter(Review)
REVIEWER = TypeAdapter(Reviewer)
REMARK = TypeAdapter(Remark)
CASE_DEFAULTS = {field.name: field.default for field in fields(CaseResult)}
_WRITTEN_BY_OTHERS = ("cluster", "category", "criticality", "topic", "difficulty")
"""May be anything; a case's id is stored as it is or not at all, and all else is ours."""
_CASES_LEVEL = 1
"""Figures hardly get smaller with more effort, and that would take as long again as everything else."""

Stored = TypeVar("Stored")


def trial_row(run_seq: int, trial: Trial, redactor: Redactor) -> tuple[Any, ...]:
    """The values of `statements.TRIAL_COLUMNS`. A result that cannot be stored ends its trial in error, not the run."""
    try:
        return _trial_row(run_seq, trial, redactor)
    except (StoreError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        return _trial_row(run_seq, _without_result(trial, error.__cause__ or error), redactor)


def _without_result(trial: Trial, why: BaseException) -> Trial:
    """What it cost is kept, if that is known."""
    detail = str(why)
    if isinstance(why, ValidationError):
        detail = explain(why)
    cost_usd = trial.last.transcript.cost_usd if trial.last.transcript else None
    is_known = isinstance(cost_usd, float) and isfinite(cost_usd) and cost_usd >= 0
    reason = head(f"the result cannot be stored: {detail}", LONGEST_REASON)
    lost = Attempt(state="error", reason=reason, transcript=Transcript(cost_usd=cost_usd) if is_known else None)
    return trial.unchecked({**vars(trial), "attempts": (lost,)})


def _trial_row(run_seq: int, trial: Trial, redactor: Redactor) -> tuple[Any, ...]:
    attempts, body = fit(ATTEMPTS, trial.attempts, Cleaner(redactor, KEPT_TEXT))
    last = attempts[-1]
    cost_usd, input_tokens, output_tokens = trial.spent
    return (
        run_seq,
        trial.case_id,
        trial.index,
        trial.seed,
        last.state,
        trial.first_state,
        last.score,
        last.reason,
        last.duration_s,
        cost_usd,
        _storable(input_tokens),
        _storable(output_tokens),
        len(attempts),
        _tool_calls(attempts),
        written(_JUDGINGS, judgings).decode() if (judgings := trial.judgings) else None,
        last.cause,
        _replayed(trial),
        written(GRADES, last.grades).decode(),
        pack(body),
    )


def _replayed(trial: Trial) -> str | None:
    replayed = None if trial.tape is None else trial.tape.replayed
    return None if replayed is None else replayed.model_dump_json(exclude_defaults=True)


def run_body(run: Run, redactor: Redactor) -> tuple[Run, bytes]:
    """All of a run but what has columns of its own, and its trials: as it is stored, and the value of `body`."""
    elsewhere = {"id": "", "name": "", "matrix_id": "", "created_at": "", "finished_at": None}
    kept = run.model_copy(update={**elsewhere, "report": None, "trials": ()})
    doubtful = _without_cases(kept) if all(map(_are_readable, _hundreds(kept.suite.cases))) else None
    clean, text = fit(RUN, kept, Cleaner(redactor), doubtful)
    return clean, pack(text)


def _without_cases(run: Run) -> Run:
    suite, lock = run.suite.model_copy(update={"cases": ()}), run.lock.model_copy(update={"cases": {}})
    return run.model_copy(update={"suite": suite, "lock": lock})


def _hundreds(cases: tuple[Case, ...]) -> Iterator[tuple[Case, ...]]:
    return (cases[start : start + CASES_PER_PART] for start in range(0, len(cases), CASES_PER_PART))


def _are_readable(cases: tuple[Case, ...]) -> bool:
    """By the hundred, since all of them at once would for a moment take as much memory again."""
    try:
        CASES.validate_json(written(CASES, cases))
    except ValueError:
        return False
    return True


def run_parts(clean: Run) -> Iterator[tuple[int, bytes]]:
    """The run without its cases, at -1, and its cases by the hundred, each at the position of its first."""
    frame = _without_cases(clean).model_copy(update={"report": None, "trials": ()})
    yield FRAME, pack(written(RUN, frame))
    for number, cases in enumerate(_hundreds(clean.suite.cases)):
        yield number * CASES_PER_PART, pack(written(CASES, cases), _CASES_LEVEL)


def asked_rows(run_seq: int, clean: Run) -> list[tuple[Any, ...]]:
    """The values of `case_statements.ASKED_COLUMNS`, in the order of the index, which is quicker to fill like this."""
    suite = clean.suite
    rows = [
        (
            run_seq,
            position,
            case.id,
            case.name,
            suite.category_of(case) or case.category,
            to_json(case.tags).decode() if case.tags else "[]",
            search_text(f"{case.id}\n{case.name}" if case.name else case.id),
        )
        for position, case in enumerate(suite.cases)
    ]
    return sorted(rows, key=itemgetter(2))


def check_case_ids(run: Run, redactor: Redactor) -> None:
    """Rows are found by case id, so an id is stored as it is or not at all."""
    for case in run.suite.cases:
        clean = clean_text(case.id, redactor)
        if clean != case.id:
            raise UsageError(
                f"the case id '{clean}' contains the value of a secret, or half a character",
                hint="rename the case, or unset the variable if its value is not a secret",
            )


def report_body(report: Report, redactor: Redactor) -> bytes:
    """All of a report but its cases, which have a column of their own: `cases_body`."""
    return pack(fit(REPORT, report.model_copy(update={"cases": ()}), Cleaner(redactor))[1])


def brief_body(report: Report, redactor: Redactor) -> bytes:
    """What the page of a run begins with: the report without what grows with its cases beyond a page."""
    kept = report.model_copy(
        update={
            "cases": (),
            "items": None,
            "failures": report.failures[:LONGEST_LIST],
            "unjudged": report.unjudged[:LONGEST_LIST],
            "recommendations": tuple(
                each.model_copy(update={"cases": each.cases[:LONGEST_LIST]}) for each in report.recommendations
            ),
        }
    )
    return report_body(kept, redactor)


def cases_body(cases: Sequence[CaseResult], redactor: Redactor) -> bytes:
    """Cases as columns, so that a hundred thousand are read at once; one that has the default alone is left out."""
    return _packed(_written_columns(cases, Cleaner(redactor)))


def _written_columns(cases: Sequence[CaseResult], cleaner: Cleaner) -> Iterator[bytes]:
    """The JSON of a mapping, one column at a time: all of them at once would take much memory for a moment."""
    lead = b"{"
    for name, default in CASE_DEFAULTS.items():
        column = list(map(attrgetter(name), cases))
        if name in _WRITTEN_BY_OTHERS:
            clean = {text: cleaner.clean(text) for text in set(column)}
            column = [clean[text] for text in column]
        if any(value != default for value in column):
            yield b'%b"%b":%b' % (lead, name.encode(), to_json(column))
            lead = b","
    yield b"}" if lead == b"," else b"{}"


def suite_body(suite: Suite, redactor: Redactor, stored: Iterable[Run] = ()) -> bytes:
    """Cases that one of the `stored` runs has are known to be readable; reading them again would take long."""
    is_known = any(suite.cases == run.suite.cases for run in stored)
    doubtful = suite.model_copy(update={"cases": ()}) if is_known else None
    return pack(fit(SUITE, suite, Cleaner(redactor), doubtful)[1])


def mark_body(mark: CaseMark, redactor: Redactor) -> bytes:
    return pack(fit(MARK, mark, Cleaner(redactor))[1])


def item_body(item: ReviewItem, redactor: Redactor) -> bytes:
    """All of an item but what has columns of its own."""
    return pack(fit(ITEM, item, Cleaner(redactor))[1])


def review_body(review: Review, redactor: Redactor) -> bytes:
    return pack(fit(REVIEW, review, Cleaner(redactor))[1])


def reviewer_body(reviewer: Reviewer) -> bytes:
    """Its name is clean, and the rest is ours."""
    return pack(written(REVIEWER, reviewer))


def remark_body(remark: Remark, redactor: Redactor) -> bytes:
    return pack(fit(REMARK, remark, Cleaner(redactor))[1])


def fit(
    adapter: TypeAdapter[Stored], value: Stored, cleaner: Cleaner, doubtful: Stored | None = None
) -> tuple[Stored, bytes]:
    """What can be stored of a value, and its JSON. `doubtful`: the value without what is known to be readable."""
    as_it_is = _as_it_is(adapter, value, cleaner, doubtful)
    if as_it_is is not None:
        return value, as_it_is
    clean = cleaner.clean(value)
    try:
        text = written(adapter, clean)
        adapter.validate_json(text)
    except ValueError as error:
        raise StoreError("a result cannot be stored as JSON", hint="please report this bug") from error
    return clean, text


def _as_it_is(adapter: TypeAdapter[Stored], value: Stored, cleaner: Cleaner, doubtful: Stored | None) -> bytes | None:
    """The JSON of a value that needs no cleaning. Where that is in doubt, it is read to prove that it can be."""
    try:
        text = written(adapter, value)
        if len(text) > cleaner.longest_text:
            return None
        decoded = text.decode()
        if cleaner.redactor.redact(decoded) != decoded:
            return None
        if adapter is not ATTEMPTS or not _is_surely_read(value, decoded):
            adapter.validate_json(text if doubtful is None else written(adapter, doubtful))
    except ValueError:
        return None
    return text


def _is_surely_read(attempts: Any, text: str) -> bool:
    """Readers refuse what is nested over 180 levels deep, integers of more than 4,300 digits, and what a grader put
    where it does not belong: into a part of the transcript that can be changed."""
    if len(text) >= 4000 or text.count("[") + text.count("{") >= 150:
        return False
    transcripts = [each.transcript for each in attempts if each.transcript is not None]
    return not any(t.files or t.messages or t.tool_calls or t.events or t.snapshot for t in transcripts)


def written(adapter: TypeAdapter[Stored], value: Stored) -> bytes:
    # `dump_json` only wraps this, and takes half as long again for a trial.
    return adapter.serializer.to_json(value, by_alias=True, exclude_defaults=True, warnings=False)


def pack(text: bytes, level: int = 6) -> bytes:
    """Large texts are compressed; the first byte of JSON is never that of a zlib stream."""
    return zlib.compress(text, level) if len(text) >= COMPRESS_FROM else text


def _packed(pieces: Iterable[bytes]) -> bytes:
    """`pack` for a text that is never there as a whole unless it is small."""
    first, rest = b"", iter(pieces)
    while len(first) < COMPRESS_FROM:
        piece = next(rest, b"")
        if not piece:
            return first
        first += piece
    compressing = zlib.compressobj(_CASES_LEVEL)
    return b"".join([*map(compressing.compress, chain((first,), rest)), compressing.flush()])


def unpack(blob: bytes) -> bytes:
    return zlib.decompress(blob) if blob[:1] == b"x" else blob


def _tool_calls(attempts: Iterable[Attempt]) -> int:
    """Of all attempts, as cost and tokens are."""
    return sum(len(attempt.transcript.tool_calls) for attempt in attempts if attempt.transcript is not None)


def _storable(number: int | None) -> int | None:
    """A target may claim any number of tokens."""
    return None if number is None else min(number, _LARGEST_INTEGER)
