"""Figures about a judge: its distance, its direction, and how often it is fooled; and none if nothing is known."""

from __future__ import annotations

import pytest

from evalharness.domain.calibration import ExampleScore
from evalharness.engine.measuring.judge_calibration import attack_figures, example_figures


def examples(*differences: float | None) -> list[ExampleScore]:
    return [ExampleScore(text="x", wanted=3, judged=3, difference=each) for each in differences]


def test_few_examples_have_no_interval_and_no_direction() -> None:
    found = example_figures(examples(1, 1, 1, 1, 1), width=4)
    assert (found["scored"], found["mean_distance"], found["mean_difference"], found["agreeing"]) == (5, 1, 1, 0)
    assert "mean_distance_low" not in found and "direction" not in found


@pytest.mark.parametrize(("sign", "direction"), [(1, "too kind"), (-1, "too strict")])
def test_six_that_all_point_to_one_side_show_a_direction(sign: int, direction: str) -> None:
    found = example_figures(examples(*[sign * 1.0] * 6), width=4)
    assert found["direction"] == direction
    assert found["p_value"] == pytest.approx(2 / 2**6)
    assert found["mean_distance_low"] < 1 < found["mean_distance_high"] <= 4


def test_differences_that_cancel_out_show_none() -> None:
    found = example_figures(examples(1, -1, 2, -2, 0, 0), width=4)
    assert (found["direction"], found["mean_difference"], found["agreeing"]) == ("neither", 0, 2)
    assert found["mean_distance"] == pytest.approx(1)
    assert found["agreeing_low"] < 2 / 6 < found["agreeing_high"]


def test_bad_replies_are_counted_and_enter_no_mean() -> None:
    found = example_figures(examples(None, 2, None), width=4)
    assert (found["scored"], found["bad_replies"], found["mean_distance"]) == (1, 2, 2)
    assert example_figures(examples(None), width=4) == {"scored": 0, "bad_replies": 1}


def test_attacks_are_counted_by_kind_and_those_without_a_verdict_are_not_successes() -> None:
    found = attack_figures([("a", "one", "pass"), ("a", "two", "fail"), ("b", "three", "none"), ("b", "four", "fail")])
    assert (found["succeeded"], found["attacks"], found["bad_replies"], found["fooled_by"]) == (1, 4, 1, ("one",))
    assert [(each.family, each.succeeded, each.bad_replies) for each in found["families"]] == [("a", 1, 0), ("b", 0, 1)]
    assert found["high"] == pytest.approx(0.7923, abs=1e-4)  # Wilson's interval of 1 in 3: those with a verdict


def test_a_judge_without_any_verdict_is_not_said_to_withstand() -> None:
    found = attack_figures([("a", "one", "none"), ("a", "two", "none")])
    assert (found["low"], found["high"], found["bad_replies"]) == (None, None, 2)


def test_no_success_in_sixty_leaves_six_percent_possible() -> None:
    found = attack_figures([("a", str(number), "fail") for number in range(60)])
    assert found["high"] == pytest.approx(0.0602, abs=1e-4)
