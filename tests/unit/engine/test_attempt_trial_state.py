from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalharness.domain.grade import Grade, GradeState
from evalharness.domain.trial import TrialState
from evalharness.engine.running.attempt import decide


def grade(state: GradeState, score: float | None = None, *, required: bool = True, weight: float = 1.0) -> Grade:
    if score is None and state in ("pass", "fail"):
        score = 1.0 if state == "pass" else 0.0
    return Grade(state=state, score=score, reason=f"{state} it is", grader="g", required=required, weight=weight)


OFF = Grade(state="pass", reason="switched off", grader="g", required=False)


@pytest.mark.parametrize(
    ("grades", "state"),
    [
        ([], "passed"),
        ([grade("pass")], "passed"),
        ([grade("pass"), grade("fail")], "failed"),
        ([grade("pass"), grade("unscored")], "error"),
        ([grade("fail"), grade("unscored")], "error"),
        ([grade("pass"), grade("awaiting")], "awaiting"),
        ([grade("fail"), grade("awaiting")], "failed"),
        ([grade("awaiting"), grade("unscored")], "error"),
        ([grade("pass"), grade("fail", required=False)], "passed"),
        ([grade("pass"), grade("unscored", required=False)], "passed"),
        ([grade("pass"), grade("awaiting", required=False)], "passed"),
        ([grade("fail", required=False)], "passed"),
        ([grade("fail", required=False), grade("unscored", required=False)], "passed"),
    ],
)
def test_only_required_grades_decide_the_state(grades: list[Grade], state: TrialState) -> None:
    assert decide(grades)[0] == state


@pytest.mark.parametrize(
    ("grades", "score"),
    [
        ([], 1.0),
        ([grade("pass"), grade("fail")], 0.5),
        ([grade("pass", weight=3), grade("fail")], 0.75),
        ([grade("fail", 0.4), grade("pass", 0.8)], 0.6),
        ([grade("pass"), grade("fail", required=False)], 0.5),
        ([grade("pass"), grade("unscored", required=False)], 1.0),
        ([grade("pass"), grade("unscored")], None),
        ([grade("pass"), grade("awaiting")], None),
        ([grade("pass"), grade("fail", weight=0)], 1.0),
        ([grade("unscored", required=False)], None),
        ([grade("awaiting", required=False)], None),
        ([grade("unscored", required=False, weight=0), OFF], None),
        ([grade("pass", weight=0), grade("unscored", required=False)], None),
        ([grade("pass", weight=0), grade("unscored", required=False, weight=0)], 1.0),
        ([grade("pass", 0.4, required=False), grade("unscored", required=False)], 0.4),
        ([grade("pass", weight=0), OFF], 1.0),
        ([OFF], 1.0),
    ],
)
def test_the_score_is_the_weighted_mean(grades: list[Grade], score: float | None) -> None:
    found = decide(grades)[1]
    assert found == (None if score is None else pytest.approx(score))


@pytest.mark.parametrize(
    ("states", "state", "reason"),
    [
        (["unscored"], "error", "no grader gave a verdict: g: unscored it is"),
        (["awaiting"], "awaiting", "g: awaiting it is"),
        (["unscored", "awaiting"], "awaiting", "g: awaiting it is"),
    ],
)
@pytest.mark.parametrize("beside", [[], [OFF]], ids=["alone", "beside a scorer that is switched off"])
def test_no_verdict_at_all_is_not_a_pass(
    states: list[GradeState], state: TrialState, reason: str, beside: list[Grade]
) -> None:
    grades = [grade(each, required=False) for each in states]
    assert decide([*beside, *grades]) == (state, None, reason, "")


def test_the_reason_names_every_grade_that_decided() -> None:
    first = Grade.of(False, reason="too long").model_copy(update={"grader": "max_length"})
    second = Grade.of(False).model_copy(update={"grader": "exact"})
    ignored = Grade.of(False, reason="ugly").model_copy(update={"grader": "style", "required": False})
    assert decide([first, grade("pass"), second, ignored])[2] == "max_length: too long; exact: fail"
    assert decide([grade("pass")])[2] == ""


STATES: list[GradeState] = ["pass", "fail", "unscored", "awaiting"]
GRADES = st.builds(
    grade,
    st.sampled_from(STATES),
    required=st.booleans(),
    weight=st.floats(0, 1000).filter(lambda weight: weight == 0 or weight > 1e-6),
)


@given(st.lists(GRADES, max_size=6))
def test_the_verdict_does_not_depend_on_the_order(grades: list[Grade]) -> None:
    state, score, *_ = decide(grades)
    shuffled_state, shuffled_score, *_ = decide(list(reversed(grades)))
    assert shuffled_state == state
    assert shuffled_score == (None if score is None else pytest.approx(score))
    assert score is None or 0 <= score <= 1
    is_judged = not grades or any(each.required or each.score is not None for each in grades)
    assert (state == "passed") == (is_judged and all(each.passed for each in grades if each.required))
