"""When a sequential run is decided: trials count in the planned order, whichever finishes first."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalharness.domain.measurement import Measurement
from evalharness.domain.report import ErrorBounds
from evalharness.domain.sequential import SequentialPlan
from evalharness.domain.trial import Cause, Outcome, TrialState
from evalharness.engine.running.sequential_decision import (
    Stopping,
    error_bounds_of,
    follow,
    measured_sequentially,
    planned_order,
)
from evalharness.reports.terminal.sequential import outcome_of
from evalharness.reports.words.say import say
from evalharness.stats.sequential import confidence_sequence, e_value_discordant_pairs

CASES = [f"case-{number}" for number in range(40)]
FLOOR = SequentialPlan(seed=7, floor=0.9, effect=0.1, fixed_n=78)
PAIRS = SequentialPlan(seed=7, baseline=dict.fromkeys(CASES, (3, 3)))


def heard(stopping: Stopping, states: list[str]) -> int:
    """Reports results in the planned order until it is decided; returns how many trials that took."""
    for number, ((case_id, index), state) in enumerate(zip(stopping.order, states, strict=False), start=1):
        if stopping.hear(case_id, index, state, state):
            return number
    return 0


def row(key: tuple[str, int], state: TrialState, cause: Cause = "") -> Outcome:
    return Outcome(*key, state, state, None, "not needed: says the target", 0.0, None, None, None, "[]", cause=cause)


class TestOrder:
    def test_every_trial_once_and_every_case_once_before_any_comes_twice(self) -> None:
        order = planned_order(CASES, 3, seed=1)
        assert sorted(order) == sorted((case, index) for case in CASES for index in range(3))
        assert [index for _, index in order] == sorted(index for _, index in order)

    def test_the_seed_decides_and_rounds_differ(self) -> None:
        order = planned_order(CASES, 2, seed=1)
        assert order == planned_order(reversed(CASES), 2, seed=1)
        assert order != planned_order(CASES, 2, seed=2)
        assert [case for case, _ in order[:40]] != [case for case, _ in order[40:]]
        assert [case for case, _ in order[:40]] != CASES

    def test_a_case_that_is_left_out_leaves_the_others_where_they_were(self) -> None:
        kept = [key for key in planned_order(CASES, 2, seed=1) if key[0] != "case-3"]
        assert planned_order([case for case in CASES if case != "case-3"], 2, seed=1) == kept


class TestFloor:
    def test_passes_alone_decide_for_it(self) -> None:
        """14 passes: 14 × ln(.8/.9) is below ln(.2/.95)."""
        stopping = Stopping(FLOOR, CASES, 3)
        assert heard(stopping, ["passed"] * 120) == 14
        result = stopping.result()
        assert (result.decision, result.floor_met, result.trials_used, result.cap) == ("PASSED", True, 14, 120)
        assert stopping.reason == "decided after 14 trials"

    def test_fails_alone_decide_against_it(self) -> None:
        """4 fails: 4 × ln 2 reaches ln 16."""
        stopping = Stopping(FLOOR, CASES, 3)
        assert heard(stopping, ["failed"] * 120) == 4
        assert stopping.result().decision == "FAILED"

    def test_what_is_reported_is_the_confidence_sequence_of_the_trials_that_counted(self) -> None:
        stopping = Stopping(FLOOR, CASES, 3)
        heard(stopping, ["failed", *["passed"] * 119])
        result, interval = stopping.result(), confidence_sequence(stopping.result().passed, 1)
        assert (result.low, result.high) == (interval.low, interval.high)

    def test_a_trial_that_was_not_judged_decides_nothing(self) -> None:
        stopping = Stopping(FLOOR, CASES, 3)
        states = ["error", "skipped", *["passed"] * 13]
        assert heard(stopping, states) == 0
        result = stopping.result()
        assert (result.trials_used, result.errors, result.trials_run) == (13, 1, 14)
        assert not stopping.is_over
        assert error_bounds_of(result) == ErrorBounds(trials=1, pass_rate_if_failed=13 / 14, pass_rate_if_passed=1.0)

    def test_nothing_counts_after_a_trial_that_awaits_its_grade(self) -> None:
        stopping = Stopping(FLOOR, CASES, 3)
        assert heard(stopping, [*["passed"] * 3, "awaiting", *["passed"] * 116]) == 0
        result = stopping.result()
        assert (result.decision, result.trials_used, result.floor_met) == ("UNDECIDED", 3, None)
        assert f"{stopping.order[3][0]} comes next and is not graded yet" in say(result.why)

    def test_one_in_quarantine_may_wait(self) -> None:
        first = planned_order(CASES, 3, 7)[0][0]
        stopping = Stopping(FLOOR.model_copy(update={"ignored": (first,)}), CASES, 3)
        assert heard(stopping, ["awaiting", *["passed"] * 119]) == 15

    def test_what_is_left_open_at_the_cap_is_not_a_decision_of_the_rule(self) -> None:
        stopping = Stopping(FLOOR, CASES[:12], 1)
        heard(stopping, [*["failed"] * 2, *["passed"] * 10])
        result = stopping.result()
        assert (result.decision, result.at_the_cap, result.saved) == ("FAILED", True, 0.0)
        told = " ".join(outcome_of(result))
        assert "the rule had not decided after 12 of 12 trials" in told
        assert "fewer" not in told.partition("asked for")[2]
        assert "α" not in told

    def test_a_cap_may_be_reached_undecided(self) -> None:
        result = follow(FLOOR, CASES[:5], 1, [row(key, "passed") for key in planned_order(CASES[:5], 1, 7)])
        assert (result.decision, result.floor_met, result.is_over, result.trials_used) == ("UNDECIDED", None, False, 5)

    @pytest.mark.parametrize(
        ("passed", "failed", "decision", "told"),
        [
            (0, 3, "FAILED", "all trials are done, 0 of 3 passed (0 %), less than the 90 % required"),
            (8, 2, "FAILED", "8 of 10 passed (80 %), less than the 90 % required; with so few trials that may be ch"),
            (9, 1, "UNDECIDED", "the pass rate could be 90 % as well as 80 %"),
            (3, 0, "UNDECIDED", "the pass rate could be 90 % as well as 80 %"),
        ],
    )
    def test_at_the_cap_a_count_below_the_floor_fails(self, passed: int, failed: int, decision: str, told: str) -> None:
        order = planned_order(CASES[: passed + failed], 1, 7)
        rows = [row(key, "passed" if number < passed else "failed") for number, key in enumerate(order)]
        result = follow(FLOOR, [key[0] for key in order], 1, rows)
        assert (result.decision, result.trials_used) == (decision, passed + failed)
        assert told in say(result.why)
        assert ("chance" in say(result.why)) == (passed == 8)

    def test_at_the_cap_an_interval_above_the_floor_passes(self) -> None:
        """Wald's test of 90 % against 89.5 % is far from decided then."""
        plan = FLOOR.model_copy(update={"effect": 0.005})
        result = follow(plan, CASES, 3, [row(key, "passed") for key in planned_order(CASES, 3, 7)])
        assert (result.decision, result.trials_used) == ("PASSED", 120)
        assert result.low is not None
        assert result.low > 0.9
        assert say(result.why).endswith("120 of 120 passed (100 %), more than the 90 % required")

    def test_while_grades_are_outstanding_or_trials_are_left_the_count_decides_nothing(self) -> None:
        order = planned_order(CASES[:3], 1, 7)
        rows = [row(key, "failed") for key in order]
        assert follow(FLOOR, CASES[:3], 1, rows[:2]).decision == "UNDECIDED"
        assert follow(FLOOR, CASES[:3], 1, [*rows[:2], row(order[2], "awaiting")]).decision == "UNDECIDED"
        assert follow(FLOOR, CASES[:3], 1, [*rows[:2], row(order[2], "error")]).decision == "FAILED"

    @pytest.mark.parametrize(
        ("cases", "trials", "told"),
        [
            (1, 4, "this case only"),
            (4, 3, "for these few cases only, not for others like them"),
            (12, 1, "for cases like these"),
            (25, 2, "for these cases"),
        ],
    )
    def test_an_interval_says_what_it_applies_to(self, cases: int, trials: int, told: str) -> None:
        plan = FLOOR.model_copy(update={"effect": 0.001})
        order = planned_order(CASES[:cases], trials, 7)
        result = follow(plan, CASES[:cases], trials, [row(key, "passed") for key in order])
        assert result.interval_method.endswith(f", {told}")

    def test_cases_in_quarantine_decide_nothing(self) -> None:
        stopping = Stopping(FLOOR.model_copy(update={"ignored": tuple(CASES[:20])}), CASES, 1)
        for case_id, index in stopping.order:
            stopping.hear(case_id, index, "failed" if case_id in CASES[:20] else "passed", "passed")
        assert stopping.result().decision == "PASSED"


class TestInOrder:
    def test_results_that_come_early_wait(self) -> None:
        """Slow failures come first in the plan: quick passes must not decide before the failures arrive."""
        stopping = Stopping(FLOOR, CASES, 3)
        slow, quick = stopping.order[:4], stopping.order[4:]
        assert not any(stopping.hear(*key, "passed", "passed") for key in quick)
        assert [stopping.hear(*key, "failed", "failed") for key in slow] == [False, False, False, True]
        assert stopping.result().trials_used == 4

    @given(st.randoms(use_true_random=False), st.floats(0.5, 1))
    def test_the_order_of_finishing_never_matters(self, rng: Random, rate: float) -> None:
        rows = [row(key, "passed" if rng.random() < rate else "failed") for key in planned_order(CASES, 3, 7)]
        shuffled = rows.copy()
        rng.shuffle(shuffled)
        assert follow(FLOOR, CASES, 3, rows) == follow(FLOOR, CASES, 3, shuffled)


class TestPairs:
    def test_seven_losses_in_a_row_decide(self) -> None:
        """E is 18.1 after six losses and 31.9 after seven; 20 is needed."""
        stopping = Stopping(PAIRS, CASES, 3)
        assert heard(stopping, ["failed"] * 120) == 7
        result = stopping.result()
        assert (result.decision, result.is_worse, result.worse, result.better) == ("FAILED", True, 7, 0)
        assert result.e_value == pytest.approx(31.875)

    def test_pairs_that_agree_do_not_count_and_no_loss_is_never_proven(self) -> None:
        result = follow(PAIRS, CASES, 3, [row(key, "passed") for key in planned_order(CASES, 3, 7)])
        assert (result.decision, result.is_worse, result.e_value) == ("UNDECIDED", None, 1.0)
        assert result.pairs < 120, "the last pairs could not have decided anything"

    def test_it_goes_on_for_as_long_as_losses_could_still_decide(self) -> None:
        stopping = Stopping(PAIRS, CASES, 3)
        assert heard(stopping, ["passed"] * 113) == 0
        assert heard(Stopping(PAIRS, CASES, 3), ["passed"] * 114) == 114
        assert heard(Stopping(PAIRS, CASES, 3), ["passed"] * 113 + ["failed"] * 7) == 120

    def test_each_baseline_trial_is_used_once(self) -> None:
        """Two trials of each case in the baseline: a third and a fourth one have no partner."""
        plan = PAIRS.model_copy(update={"baseline": dict.fromkeys(CASES, (2, 2))})
        result = follow(plan, CASES, 4, [row(key, "passed") for key in planned_order(CASES, 4, 7)])
        assert 70 <= result.pairs <= 80

    def test_partners_are_drawn_by_the_seed(self) -> None:
        mixed = dict.fromkeys(CASES, (4, 2))
        rows = [row(key, "failed" if key[1] % 2 else "passed") for key in planned_order(CASES, 4, 7)]
        found = {
            (result.worse, result.better)
            for seed in range(6)
            if (result := follow(SequentialPlan(seed=seed, baseline=mixed), CASES, 4, rows))
        }
        assert len(found) > 1

    def test_the_e_value_is_that_of_the_counts(self) -> None:
        plan = PAIRS.model_copy(update={"baseline": dict.fromkeys(CASES, (3, 2))})
        rng = Random(3)
        rows = [row(key, rng.choice(["passed", "passed", "failed"])) for key in planned_order(CASES, 3, 7)]
        result = follow(plan, CASES, 3, rows)
        assert result.e_value == pytest.approx(e_value_discordant_pairs(result.worse, result.better))


class TestBoth:
    plan = FLOOR.model_copy(update={"baseline": dict.fromkeys(CASES, (3, 3))})

    def test_the_first_that_fails_ends_it(self) -> None:
        stopping = Stopping(self.plan, CASES, 3)
        assert heard(stopping, ["failed"] * 120) == 4
        result = stopping.result()
        assert (result.decision, result.floor_met, result.is_worse) == ("FAILED", False, None)

    def test_a_floor_that_is_reached_does_not_end_it(self) -> None:
        stopping = Stopping(self.plan, CASES, 3)
        assert heard(stopping, ["passed"] * 120) > 14
        result = stopping.result()
        assert (result.decision, result.floor_met, result.is_worse) == ("UNDECIDED", True, None)


def test_the_rows_of_a_decided_run_decide_the_same_again() -> None:
    order = planned_order(CASES, 3, 7)
    rows = [row(key, "passed") for key in (*order[:14], order[20])]
    rows += [row(key, "skipped", cause="not_needed") for key in (*order[14:20], *order[21:])]
    result = follow(FLOOR, CASES, 3, rows)
    assert (result.decision, result.trials_used, result.not_needed) == ("PASSED", 14, 105)


@pytest.mark.parametrize(
    ("doubtful", "used", "told"),
    [(0, 14, "82 % fewer than a fixed 78 for 10 points"), (12, 96, "23 % more than a fixed 78 for 10 points")],
)
def test_what_was_saved_is_reported_against_a_fixed_number_of_trials(doubtful: int, used: int, told: str) -> None:
    """Six passes after each fail leave it open: with a cap of 240, it may take more than 78."""
    stopping = Stopping(FLOOR, CASES, 6)
    heard(stopping, [*["failed", *["passed"] * 6] * doubtful, *["passed"] * 240])
    result = stopping.result()
    assert (result.decision, result.trials_used, result.saved) == ("PASSED", used, pytest.approx(1 - used / 78))
    assert told in outcome_of(result)[1]


def test_trials_that_ran_ahead_or_were_given_up_were_not_saved() -> None:
    order = planned_order(CASES, 3, 7)
    rows = [row(key, "passed") for key in order[:20]]
    rows += [row(key, "skipped", cause="given_up") for key in order[20:23]]
    rows += [row(key, "skipped", cause="not_needed") for key in order[23:]]
    result = follow(FLOOR, CASES, 3, rows)
    assert (result.trials_used, result.trials_run, result.given_up, result.not_needed) == (14, 20, 3, 100)
    assert result.saved == pytest.approx(1 - 23 / 78)
    assert "6 more run but not counted, 3 more started and abandoned, their cost" in outcome_of(result)[1]
    assert "1 more started and abandoned, its cost" in outcome_of(result.model_copy(update={"given_up": 1}))[1]


def test_what_is_undecided_saved_nothing() -> None:
    stopping = Stopping(FLOOR, CASES[:4], 1)
    heard(stopping, ["passed"] * 4)
    assert (stopping.result().decision, stopping.result().saved) == ("UNDECIDED", 0.0)


def test_a_decision_that_the_interval_seems_to_deny_is_explained() -> None:
    few, many = Stopping(FLOOR, CASES, 6), Stopping(FLOOR, CASES, 6)
    heard(few, ["passed"] * 240)
    heard(many, ["failed"] * 240)
    assert (few.result().low or 0.0) < 0.8
    assert "the test considers only 90 % against 80 %, the interval every rate" in outcome_of(few.result())[0]
    assert (many.result().high or 1.0) < 0.9
    assert "interval" not in outcome_of(many.result())[0]


def test_figures_for_a_fixed_number_of_trials_are_not_reported() -> None:
    fixed = Measurement(value=0.5, low=0.4, high=0.6)
    found = dict.fromkeys(("pass_rate", "pass_at_1", "pass_hat_3", "pass_hat_3_plugin", "latency_s"), fixed)
    found["score"] = fixed.model_copy(update={"value": 0.7})
    result = follow(FLOOR, CASES, 3, [row(key, "passed") for key in planned_order(CASES, 3, 7)])
    told = measured_sequentially(found, result)
    assert set(told) == {"pass_rate", "latency_s", "score"}
    assert (told["pass_rate"].value, told["pass_rate"].low) == (1.0, result.low)
    assert told["pass_rate"].n_eff == told["pass_rate"].n_trials == result.trials_used
    assert (told["score"].value, told["score"].low) == (0.7, None)
