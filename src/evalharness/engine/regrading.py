"""Regrading: finished trials graded again on their stored transcripts. No target has a part in it, and no store."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evalharness.contracts import GradeContext
from evalharness.domain.case import Case
from evalharness.domain.record import Json
from evalharness.domain.run import CaseLock
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.engine.attempting import grade_once
from evalharness.engine.grading import decide
from evalharness.engine.planning import PlannedCase, lock_cases

REDACTION_MARK = "[redacted"
"""How every mark begins that stands in the store for a secret."""
ANSWERED = frozenset(("passed", "awaiting", "skipped"))
"""States of an attempt that, with a transcript and without a grade, mean that there was no grader to judge it."""


class Regraded(NamedTuple):
    trial: Trial
    how: Literal["graded", "skipped", "kept"]
    """Graded again; skipped, because no grader of the type asked for is left; or kept, without an answer to grade."""

    @property
    def is_redacted(self) -> bool:
        transcript = self._graded
        return transcript is not None and REDACTION_MARK in transcript.model_dump_json(exclude_defaults=True)

    @property
    def is_cut(self) -> bool:
        return self._graded is not None and self._graded.truncated

    @property
    def _graded(self) -> Transcript | None:
        return self.trial.last.transcript if self.how == "graded" else None


async def regrade_trials(
    trials: Iterable[Trial], planned: Mapping[str, PlannedCase], at_once: int
) -> AsyncIterator[Regraded]:
    """In the order of `trials`, so many at a time; no more of them are held in memory."""
    under_way: deque[asyncio.Task[Regraded]] = deque()
    try:
        for trial in trials:
            under_way.append(asyncio.create_task(regrade_trial(trial, planned[trial.case_id])))
            if len(under_way) >= at_once:
                yield await under_way.popleft()
        while under_way:
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()


async def regrade_trial(trial: Trial, planned: PlannedCase) -> Regraded:
    """Only the last attempt is graded again: the earlier ones have been superseded, and tell why."""
    last = trial.last
    if last.transcript is None or not is_gradable(last):
        return Regraded(trial, "kept")
    if planned.skip:
        skipped = {"state": "skipped", "score": None, "reason": planned.skip, "grades": ()}
        return Regraded(_with_last(trial, skipped), "skipped")
    context = GradeContext(planned.case, last.transcript, trial.index, trial.seed, last.duration_s)
    grades = tuple([await grade_once(spec, grader, context) for spec, grader in planned.graders])
    state, score, reason = decide(grades)
    return Regraded(_with_last(trial, {"state": state, "score": score, "reason": reason, "grades": grades}), "graded")


def _with_last(trial: Trial, changes: dict[str, Any]) -> Trial:
    last = trial.last.holding({**vars(trial.last), **changes})
    return trial.holding({**vars(trial), "attempts": (*trial.attempts[:-1], last)})


def is_gradable(attempt: Attempt) -> bool:
    """A target that raised or passed its time limit may have left a transcript, but no answer."""
    return attempt.transcript is not None and (bool(attempt.grades) or attempt.state in ANSWERED)


def lacks_only_grades(attempt: Attempt) -> bool:
    """Whether it was the grading that went wrong, and the whole answer is there to be graded again."""
    transcript = attempt.transcript
    if attempt.state != "error" or not attempt.grades or transcript is None or transcript.truncated:
        return False
    return REDACTION_MARK not in repr(transcript)  # what a target just said need not be fit for JSON


def asks_the_same(old: Case, new: Case, lock: CaseLock, root: Path, redact: Callable[[Json], Json]) -> bool:
    """Whether an answer to `old`, as it was stored, answers `new`; both with their variables filled in.

    What was in files beside the suite only the old lock knows.
    """
    asked = {"input", "files", "setup"} | ({"target"} if old.target else set())
    before, now = (redact(case.model_dump(mode="json", include=asked)) for case in (old, new))
    if before != now:
        return False
    if old.target or not any(file.path for file in new.files.values()):
        return True
    as_it_was = new.model_copy(update={"reference": old.reference, "metadata": old.metadata, "target": None})
    [now_locked] = lock_cases([PlannedCase(as_it_was, (), [], timeout_s=0, retries=0)], root).values()
    return now_locked.case == lock.case
