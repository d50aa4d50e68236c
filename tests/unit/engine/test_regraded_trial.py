from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evalharness.contracts.grader import GradeContext, Grader
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade, Judging
from evalharness.domain.run import CaseLock
from evalharness.domain.specification import GraderSpec
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial, TrialState
from evalharness.engine.planning.planned_cases import PlannedCase, lock_cases
from evalharness.engine.running.regraded_trial import (
    answer_still_fits,
    how_regraded,
    is_redacted,
    is_worth_another_try,
    lacks_only_grades,
    regrade_trial,
)


class Says(Grader):
    """A grader that passes answers with `word`, and remembers its contexts."""

    version = "2"

    def __init__(self, word: str) -> None:
        self.word = word
        self.shown: list[GradeContext] = []

    async def grade(self, context: GradeContext) -> Grade:
        self.shown.append(context)
        await asyncio.sleep(0)
        return Grade.of(self.word in context.text, reason=f"looked for {self.word}")


def planned(grader: Any = None, *, skip: str = "") -> PlannedCase:
    graders = [] if grader is None else [(GraderSpec(kind="says", weight=2), grader)]
    return PlannedCase(Case(id="a", input="?"), (), graders, timeout_s=1, retries=0, skip=skip)


def attempt(state: TrialState, output: str | None = "yes", *, graded: bool = True, **more: Any) -> Attempt:
    grade = Grade(state="unscored" if state == "error" else "fail", reason="of old")
    return Attempt(
        state=state,
        reason="of old",
        duration_s=2.5,
        grades=(grade,) if graded else (),
        transcript=None if output is None else Transcript(output=output, **more),
    )


def trial(*attempts: Attempt, index: int = 0) -> Trial:
    return Trial(case_id="a", index=index, seed=7, attempts=attempts)


def regraded(old: Trial, plan: PlannedCase) -> Trial:
    return asyncio.run(regrade_trial(old, plan))


@pytest.mark.parametrize("state", ["passed", "failed", "error", "awaiting"])
def test_an_answer_that_was_graded_is_graded_again(state: TrialState) -> None:
    old = trial(attempt(state, "no"))
    new = regraded(old, planned(Says("yes")))
    assert (new.state, new.score, new.reason) == ("failed", 0.0, "says: looked for yes")
    assert how_regraded(old.last, planned(Says("yes"))) == "graded"
    [grade] = new.grades
    assert (grade.kind, grade.version, grade.weight, grade.state) == ("says", "2", 2, "fail")
    assert (new.last.transcript, new.duration_s, new.seed) == (old.last.transcript, 2.5, 7)
    assert old.state == state, "the old trial is unchanged"


def test_the_grader_sees_what_it_saw_when_the_trial_was_run() -> None:
    grader = Says("yes")
    regraded(trial(attempt("failed"), index=3), planned(grader))
    [shown] = grader.shown
    assert (shown.text, shown.index, shown.seed, shown.duration_s, shown.case.id) == ("yes", 3, 7, 2.5, "a")


@pytest.mark.parametrize(
    "last",
    [
        attempt("failed", None, graded=False),  # raised
        attempt("failed", "half a sent", graded=False),  # exceeded its time limit and left evidence
        attempt("error", "yes", graded=False),  # could no longer be reached
        attempt("skipped", None, graded=False),
    ],
)
def test_a_trial_without_an_answer_stays_as_it_was(last: Attempt) -> None:
    old = trial(last)
    assert regraded(old, planned(Says("yes"))) == old
    assert how_regraded(last, planned(Says("yes"))) == "kept"


def test_an_answer_that_was_not_graded_before_is_graded() -> None:
    assert regraded(trial(attempt("passed", graded=False)), planned(Says("no"))).state == "failed"


def test_only_the_last_attempt_is_graded_again() -> None:
    first, last = attempt("failed", "no"), attempt("failed", "yes")
    new = regraded(trial(first, last), planned(Says("yes")))
    assert new.attempts[0] == first
    assert (new.state, new.first_state) == ("passed", "failed")


def test_the_first_state_follows_the_new_grade_where_the_last_attempt_was_the_first_judged() -> None:
    unreachable = attempt("error", None, graded=False)
    new = regraded(trial(unreachable, attempt("failed", "yes")), planned(Says("yes")))
    assert (new.state, new.first_state) == ("passed", "passed")


def test_an_answer_skipped_for_want_of_a_grader_can_be_graded_later() -> None:
    unfit = planned(skip="no human grader")
    skipped = regraded(trial(attempt("passed")), unfit)
    assert (skipped.state, skipped.reason, skipped.grades) == ("skipped", "no human grader", ())
    assert how_regraded(attempt("passed"), unfit) == "skipped"
    assert regraded(skipped, planned(Says("yes"))).state == "passed"


@pytest.mark.parametrize(
    ("transcript", "redacted"),
    [
        (Transcript(output="plain"), False),
        (Transcript(output="my [redacted:API_KEY]"), True),
        (Transcript(output="ok", messages=({"role": "user", "content": {"key": "[redacted]"}},)), True),
        (Transcript(output="long", truncated=True), False),
    ],
)
def test_what_the_store_took_away_is_noticed(transcript: Transcript, redacted: bool) -> None:
    assert is_redacted(transcript) is redacted


ASKED = {"id": "a", "input": "what?", "files": {"notes.txt": "one"}, "expected": "x"}


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"expected": "y", "graders": ["exact"], "tags": ["new"], "weight": 3}, True),
        ({"reference": "z", "metadata": {"source": "elsewhere"}}, True),
        ({"target": "other.py:agent"}, True),  # the run did not use it
        ({"input": "which?"}, False),
        ({"input": {"prompt": "what?"}}, False),
        ({"files": {"notes.txt": "two"}}, False),
        ({"files": {}}, False),
    ],
)
def test_a_case_asks_the_same_when_only_its_grading_changed(changes: dict[str, Any], same: bool) -> None:
    old, new = Case.model_validate(ASKED), Case.model_validate(ASKED | changes)
    assert answer_still_fits(old, new, CaseLock(case="c", graders="g"), Path("/nowhere"), lambda value: value) is same


def test_the_request_of_a_case_with_its_own_target_is_what_it_asks() -> None:
    old, new = (
        Case.model_validate({"id": "a", "input": None, "target": {"http": {"url": f"http://localhost/{path}"}}})
        for path in ("users", "orders")
    )
    lock = CaseLock(case="c", graders="g")
    assert answer_still_fits(old, old, lock, Path("/nowhere"), lambda value: value)
    assert not answer_still_fits(old, new, lock, Path("/nowhere"), lambda value: value)


def test_a_question_is_another_when_a_file_beside_the_suite_changed(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("1")
    case = Case.model_validate({"id": "a", "input": "sum", "files": ["data.csv"], "reference": "1"})
    [lock] = lock_cases([PlannedCase(case, (), [], timeout_s=1, retries=0)], tmp_path).values()
    edited = case.model_copy(update={"reference": "2"})
    assert answer_still_fits(case, edited, lock, tmp_path, lambda value: value)
    (tmp_path / "data.csv").write_text("2")
    assert not answer_still_fits(case, edited, lock, tmp_path, lambda value: value)


def test_a_stored_question_is_the_same_though_its_secret_was_taken_out() -> None:
    old = Case(id="a", input="use [redacted]")
    new = Case(id="a", input="use hunter2-hunter2")

    def redact(value: Any) -> Any:
        return {"input": value["input"].replace("hunter2-hunter2", "[redacted]")}

    assert answer_still_fits(old, new, CaseLock(case="c", graders="g"), Path("/nowhere"), redact)


def test_an_answer_that_json_cannot_represent_may_be_graded_again() -> None:
    unscored = (Grade(state="unscored", reason="no verdict"),)
    broken = Attempt(state="error", grades=unscored, transcript=Transcript(output="half a character: \ud83d"))
    assert lacks_only_grades(broken)
    assert not lacks_only_grades(broken.model_copy(update={"transcript": Transcript(output="[redacted:KEY]")}))
    assert not lacks_only_grades(broken.model_copy(update={"grades": ()}))
    assert not lacks_only_grades(broken.model_copy(update={"transcript": Transcript(output=10**6000)}))


def test_what_judges_took_before_is_not_reported_for_the_regrade() -> None:
    paid = Grade(state="unscored", grader="says", judging=(Judging(model="m", calls=3, cost_usd=3.0),))
    before = attempt("error").model_copy(update={"grades": (paid,)})
    new = regraded(trial(before, before), planned(Says("yes")))
    assert new.judgings == ()
    assert regraded(trial(before, attempt("failed", None)), planned(Says("yes"))).judgings == ()


def test_a_verdict_stays_only_if_the_judge_was_told_the_same() -> None:
    class Judges(Says):
        def judges(self) -> tuple[str, ...]:
            return ("new",)

    given = Grade(state="pass", score=1.0, grader="says", version="2", reason="of old")

    def reason(grade: Grade, grader: Any) -> str:
        old = trial(attempt("passed").model_copy(update={"grades": (grade,)}))
        return asyncio.run(regrade_trial(old, planned(grader), keeps_verdicts=True)).grades[0].reason

    recomputed = "looked for no"
    assert reason(given, Judges("no")) == "of old"
    assert reason(given.model_copy(update={"version": "1"}), Judges("no")) == recomputed
    assert reason(given.model_copy(update={"state": "awaiting"}), Judges("no")) == recomputed
    assert reason(given, Says("no")) == recomputed, "no judge is part of it"


def test_a_judge_that_was_asked_often_enough_is_no_reason_for_another_try() -> None:
    def worth(*grades: Grade) -> bool:
        return is_worth_another_try(attempt("error").model_copy(update={"grades": grades}))

    final, broken = Grade.unscored("nonsense", is_final=True), Grade.unscored("nobody there")
    assert not worth(final)
    assert worth(final, broken)
    assert not worth(final.model_copy(update={"required": False}))
    assert worth()
