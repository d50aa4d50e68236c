from __future__ import annotations

import pytest

from evalharness.domain.grade import Grade
from evalharness.domain.transcript import Transcript, Usage
from evalharness.domain.trial import Attempt, Trial, TrialState
from evalharness.errors import InvalidValue


def trial(*attempts: Attempt) -> Trial:
    return Trial(case_id="a", index=0, seed=1, attempts=attempts)


def states(*names: TrialState) -> Trial:
    return trial(*(Attempt(state=name) for name in names))


def used(cost_usd: float | None, tokens: int | None) -> Attempt:
    usage = None if tokens is None else Usage(input_tokens=tokens, output_tokens=10 * tokens)
    return Attempt(state="passed", transcript=Transcript(output="x", cost_usd=cost_usd, usage=usage))


@pytest.mark.parametrize(
    ("made", "state", "first_state"),
    [
        (states("passed"), "passed", "passed"),
        (states("failed", "passed"), "passed", "failed"),
        (states("error", "failed", "passed"), "passed", "failed"),
        (states("error", "passed"), "passed", "passed"),
        (states("error", "error"), "error", "error"),
        (states("failed", "error"), "error", "failed"),
    ],
)
def test_the_last_attempt_decides_and_the_first_answer_is_remembered(
    made: Trial, state: TrialState, first_state: TrialState
) -> None:
    assert (made.state, made.first_state) == (state, first_state)


def test_score_reason_grades_output_and_duration_are_the_last_attempts() -> None:
    grade = Grade.of(True)
    made = trial(
        Attempt(state="failed", score=0.0, reason="no", duration_s=9.0, transcript=Transcript(output="bad")),
        Attempt(state="passed", score=1.0, duration_s=2.0, grades=(grade,), transcript=Transcript(output="good")),
    )
    assert (made.score, made.reason, made.output, made.duration_s, made.grades) == (1.0, "", "good", 2.0, (grade,))
    assert states("error").output is None


def test_cost_and_tokens_are_those_of_all_attempts() -> None:
    made = trial(used(0.25, 3), used(None, None), used(0.5, 4))
    assert (made.cost_usd, made.input_tokens, made.output_tokens) == (0.75, 7, 70)


def test_unknown_cost_and_tokens_are_not_zero() -> None:
    assert trial(used(0.0, 0)).cost_usd == 0.0
    unknown = trial(used(None, None), Attempt(state="error"))
    assert (unknown.cost_usd, unknown.input_tokens, unknown.output_tokens) == (None, None, None)


def test_a_trial_has_at_least_one_attempt() -> None:
    with pytest.raises(InvalidValue, match="attempts: must not be empty"):
        trial()


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_score_outside_0_to_1_is_refused(score: float) -> None:
    with pytest.raises(InvalidValue, match="Grade: score: must be"):
        Grade.of(True, score=score)


def test_a_stored_trial_comes_back_the_same() -> None:
    made = trial(used(0.25, 3), Attempt(state="failed", score=0.5, reason="no", grades=(Grade.of(False, reason="no"),)))
    assert Trial.model_validate_json(made.model_dump_json()) == made
