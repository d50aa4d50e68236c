"""Regraded trial: a finished trial graded again on its stored transcript. No target takes part in it, and no store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from evalharness.contracts.exchange import Tape
from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import Case
from evalharness.domain.grade import VERDICTS, Grade, states_within
from evalharness.domain.run import CaseLock
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Outcome, Trial
from evalharness.engine.planning.planned_cases import PlannedCase, lock_cases
from evalharness.engine.running.attempt import decide, decisive_grades, grade_once
from evalharness.values.json_value import Json

REDACTION_MARK = "[redacted"
"""How every mark begins that stands in the store for a secret."""
NO_VERDICT = ("awaiting", "unscored")
ANSWERED = frozenset(("passed", "awaiting", "skipped"))
"""States of an attempt that, with a transcript and without a grade, mean that there was no grader to judge it."""


def holds_redactions(transcript: Transcript) -> bool:
    """As Python writes it down: what graders put into it need not be fit for JSON, or for that (then it may)."""
    try:
        return REDACTION_MARK in repr(transcript)
    except (ValueError, TypeError, RuntimeError):
        return True


async def regrade_trial(trial: Trial, planned: PlannedCase, *, keeps_verdicts: bool = False) -> Trial:
    """Only the last attempt is graded again: the earlier ones have been superseded, and explain why.

    What judges took before was spent by the run that is regraded. `keeps_verdicts`: those of judges stay.
    """
    last = trial.last
    how = how_regraded(last, planned)
    if how == "kept":
        return _with_last(trial, _paid_before(last))
    if how == "skipped":
        skipped = {"state": "skipped", "score": None, "reason": planned.skip, "cause": "", "grades": ()}
        return _with_last(trial, last.unchecked({**vars(last), **skipped}))
    before = said_before(_paid_before(last).grades, planned) if keeps_verdicts else [None] * len(planned.graders)
    return _with_last(trial, await _graded(last, planned, trial.index, trial.seed, before))


def how_regraded(last: Attempt, planned: PlannedCase) -> Literal["graded", "skipped", "kept"]:
    """Graded again; skipped, because no grader is left that would grade it; or kept, without an answer to grade."""
    if last.transcript is None or not is_gradable(last):
        return "kept"
    return "skipped" if planned.skip else "graded"


def kept_verdicts(last: Attempt, planned: PlannedCase) -> int:
    """How many grades of judges stay as they were given, where verdicts are kept and the answer is graded again."""
    given = [
        state
        for (_, grader), grade in zip(planned.graders, said_before(last.grades, planned), strict=True)
        if grade and (grade.state not in VERDICTS or _has_scored(_asks_judges, grader, vars(grade)))
        for state in states_within(grade.state, grade.evidence)
    ]
    return sum(state in VERDICTS for state in given)


def is_redacted(transcript: Transcript) -> bool:
    if transcript.model_fields_set == {"output"} and isinstance(transcript.output, str):  # quick: most are so
        return REDACTION_MARK in transcript.output
    return holds_redactions(transcript)


def _paid_before(attempt: Attempt) -> Attempt:
    if not any(grade.judging for grade in attempt.grades):
        return attempt
    grades = tuple(grade.unchecked({**vars(grade), "judging": ()}) for grade in attempt.grades)
    return attempt.unchecked({**vars(attempt), "grades": grades})


def said_before(grades: Sequence[Grade], planned: PlannedCase) -> list[Grade | None]:
    """For each grader its earlier grade, if judges take part in it and were asked the same."""
    if [grade.grader for grade in grades] != [spec.label for spec, _ in planned.graders]:
        return [None] * len(planned.graders)
    return [
        grade if _asks_judges(grader) and grade.version == grader.version else None
        for grade, (_, grader) in zip(grades, planned.graders, strict=True)
    ]


async def complete(attempt: Attempt, planned: PlannedCase, index: int, seed: int, tape: Tape | None = None) -> Attempt:
    """An attempt of a run that goes on, with grades that are outstanding: all verdicts stay."""
    return await _graded(attempt, planned, index, seed, attempt.grades, tape)


async def _graded(
    attempt: Attempt,
    planned: PlannedCase,
    index: int,
    seed: int,
    before: Sequence[Grade | None],
    tape: Tape | None = None,
) -> Attempt:
    """`before`: what each grader has said. Verdicts stay, also those of judges in what is not one as a whole."""
    assert attempt.transcript is not None
    about = (planned.case, attempt.transcript, index, seed, attempt.duration_s)
    grades = tuple(
        [
            said if said and said.state in VERDICTS else await grade_once(*grader, GradeContext(*about, said), tape)
            for grader, said in zip(planned.graders, before, strict=True)
        ]
    )
    state, score, reason, cause = decide(grades)
    decided = {"state": state, "score": score, "reason": reason, "cause": cause, "grades": grades}
    return attempt.unchecked({**vars(attempt), **decided})


def judge_states(outcomes: Iterable[Outcome], planned: Mapping[str, PlannedCase]) -> dict[str, set[str]]:
    """By case: the states of its grades that are the business of judges."""
    found: dict[str, set[str]] = {}
    for outcome in outcomes:
        graders = planned[outcome.case_id].graders if outcome.case_id in planned else []
        places = [place for place, (_, grader) in enumerate(graders) if _asks_judges(grader)]
        grades = json.loads(outcome.grades) if places else []
        for grade in (grades[place] for place in places if place < len(grades)):
            found.setdefault(outcome.case_id, set()).update(states_within(grade["state"], grade.get("evidence")))
    return found


def loses_verdicts(outcomes: Iterable[Outcome], planned: Mapping[str, PlannedCase]) -> bool:
    """Whether a judge has scored what nobody would judge now. Grades of code do not name their type."""
    return any(
        _has_scored(_has_idle_judge, grader, grade)
        for outcome in outcomes
        if '"type"' in outcome.grades and outcome.case_id in planned
        for (_, grader), grade in zip(planned[outcome.case_id].graders, json.loads(outcome.grades), strict=False)
    )


def lacks_judge(planned: PlannedCase) -> bool:
    """Whether it has a grader that needs a judge, and none is set."""
    return any(_has_idle_judge(grader) for _, grader in planned.graders)


def _has_scored(is_meant: Callable[[Grader], bool], grader: Grader, reported: Mapping[str, Any]) -> bool:
    """Whether the grader, or the part of it that is meant, gave a score."""
    if grader.parts:
        evidence = reported.get("evidence")
        return isinstance(evidence, list) and any(map(partial(_has_scored, is_meant), grader.parts, evidence))
    return is_meant(grader) and reported.get("score") is not None


def _has_idle_judge(grader: Grader) -> bool:
    """A grader with a judge's work to do and nobody to do it, or one with such a part."""
    if grader.parts:
        return any(map(_has_idle_judge, grader.parts))
    return grader.type == "model" and not _asks_judges(grader)


def _asks_judges(grader: Grader) -> bool:
    return bool(grader.judges())


def _with_last(trial: Trial, last: Attempt) -> Trial:
    return trial.unchecked({**vars(trial), "attempts": (*map(_paid_before, trial.attempts[:-1]), last)})


def is_gradable(attempt: Attempt) -> bool:
    """A target that raised or passed its time limit may have left a transcript, but no answer."""
    return attempt.transcript is not None and (bool(attempt.grades) or attempt.state in ANSWERED)


def is_worth_another_try(attempt: Attempt) -> bool:
    """After an error: not where a judge was asked again and again already, and nothing else is missing."""
    missing = [grade for grade in decisive_grades(attempt.grades) if grade.state == "unscored"]
    return not missing or not all(grade.is_final for grade in missing)


def lacks_only_grades(attempt: Attempt) -> bool:
    """Whether the grading is all that is missing, and the whole answer is there to be graded again."""
    transcript = attempt.transcript
    if attempt.state not in ("error", "awaiting") or not attempt.grades or transcript is None or transcript.truncated:
        return False
    return not holds_redactions(transcript)


def answer_still_fits(old: Case, new: Case, lock: CaseLock, root: Path, redact: Callable[[Json], Json]) -> bool:
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
