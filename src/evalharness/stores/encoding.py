"""From nouns to column values and back. Every text passes through the redactor here: the single write door."""

from __future__ import annotations

import zlib
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, from_json, to_json

from evalharness.domain.case import as_text
from evalharness.domain.grade import Grade
from evalharness.domain.run import Run
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.redaction import Redactor

COMPRESS_FROM = 1024
KEPT_OUTPUT = 2_097_152
_ATTEMPTS = TypeAdapter(tuple[Attempt, ...])
_GRADES = TypeAdapter(tuple[Grade, ...])

TRIAL_COLUMNS = (
    "run_seq, case_id, idx, seed, state, first_state, score, reason, duration_s, cost_usd, "
    "input_tokens, output_tokens, attempts, grades, body"
)


def pack(text: bytes) -> bytes:
    """Large texts are compressed; the first byte of JSON is never that of a zlib stream."""
    return zlib.compress(text, 6) if len(text) >= COMPRESS_FROM else text


def unpack(blob: bytes) -> bytes:
    return zlib.decompress(blob) if blob[:1] == b"x" else blob


def redacted(text: bytes, redactor: Redactor) -> bytes:
    return redactor.redact(text.decode()).encode()


def trial_row(run_seq: int, trial: Trial, redactor: Redactor) -> tuple[Any, ...]:
    """Text that is not Unicode (half a surrogate pair) is mended rather than lost."""
    try:
        return _trial_row(run_seq, trial, redactor)
    except (PydanticSerializationError, UnicodeEncodeError):
        return _trial_row(run_seq, Trial.model_validate(_mended(trial.model_dump())), redactor)


def _trial_row(run_seq: int, trial: Trial, redactor: Redactor) -> tuple[Any, ...]:
    attempts = tuple(_capped(attempt) for attempt in trial.attempts)
    last = trial.last
    return (
        run_seq,
        trial.case_id,
        trial.index,
        trial.seed,
        last.state,
        trial.first_state,
        last.score,
        redactor.redact(last.reason),
        last.duration_s,
        trial.cost_usd,
        trial.input_tokens,
        trial.output_tokens,
        len(attempts),
        redacted(_GRADES.dump_json(last.grades, exclude_defaults=True, warnings=False), redactor).decode(),
        pack(redacted(_ATTEMPTS.dump_json(attempts, exclude_defaults=True, warnings=False), redactor)),
    )


def trial_from(case_id: str, index: int, seed: int, body: bytes) -> Trial:
    return Trial(case_id=case_id, index=index, seed=seed, attempts=_ATTEMPTS.validate_json(unpack(body)))


def run_body(run: Run, redactor: Redactor) -> bytes:
    kept = run.model_dump(
        mode="json", by_alias=True, exclude={"report", "trials", "finished_at"}, exclude_defaults=True
    )
    return pack(redacted(to_json(kept), redactor))


def run_from(body: bytes, finished_at: str | None, report: bytes | None) -> Run:
    data = from_json(unpack(body))
    data["finished_at"] = finished_at
    data["report"] = from_json(unpack(report)) if report else None
    return Run.model_validate(data)


def _capped(attempt: Attempt) -> Attempt:
    """Graders saw the whole output; what is kept of a huge one is its head and its tail."""
    transcript = attempt.transcript
    if transcript is None:
        return attempt
    output = transcript.output
    if isinstance(output, str) and len(output) <= KEPT_OUTPUT:
        return attempt
    text = as_text(output)
    if len(text) <= KEPT_OUTPUT:
        return attempt
    half = KEPT_OUTPUT // 2
    cut = f"{text[:half]}\n[… {len(text) - 2 * half} characters cut …]\n{text[-half:]}"
    changed: Transcript = transcript.model_copy(update={"output": cut, "truncated": True})
    return attempt.model_copy(update={"transcript": changed})


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in value]
    return value
