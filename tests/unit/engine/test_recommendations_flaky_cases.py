"""Which cases are flaky: unbiased, from judged trials only, the most flaky first."""

from __future__ import annotations

import pytest
from compared import case, report

from evalharness.engine.measuring.recommendations import flaky_cases


def test_the_most_flaky_first_and_steady_ones_not_at_all() -> None:
    found = flaky_cases(report(case("rare", 20, 19), case("steady", 9, 9), case("never", 9, 0), case("coin", 4, 2)))
    assert [(flaky.case_id, flaky.passed, flaky.trials) for flaky in found] == [("coin", 2, 4), ("rare", 19, 20)]
    assert [flaky.flip_rate for flaky in found] == pytest.approx([2 / 3, 0.1])


def test_one_judged_trial_beside_errors_shows_no_flakiness() -> None:
    """The original counted errors as failures, so every outage looked like flakiness."""
    assert flaky_cases(report(case("once", 1, 1, errors=3), case("none", 0, 0, errors=4))) == []


class TestOverRuns:
    """Earlier runs come newest first, as (trials, passed) by case."""

    def test_trials_of_comparable_runs_count_together(self) -> None:
        [found] = flaky_cases(report(case("a", 2, 1)), [{"a": (4, 3)}, {"a": (4, 4)}, {"b": (4, 2)}])
        assert (found.passed, found.trials, found.runs) == (8, 10, 3)
        assert found.flip_rate == pytest.approx(2 * 8 * 2 / (10 * 9))

    def test_single_trials_that_come_and_go_are_flaky(self) -> None:
        [found] = flaky_cases(report(case("a", 1, 1)), [{"a": (1, 0)}, {"a": (1, 1)}])
        assert found.runs == 3
        assert found.flip_rate == pytest.approx(2 / 3)

    @pytest.mark.parametrize("now", [0, 1], ids=["broken", "mended"])
    def test_a_case_that_changed_for_good_is_not_flaky(self, now: int) -> None:
        before = [{"a": (1, now)}, {"a": (1, 1 - now)}, {"a": (1, 1 - now)}]
        assert flaky_cases(report(case("a", 1, now)), before) == []

    def test_new_is_what_was_steady_before(self) -> None:
        earlier = [{"new": (4, 4), "old": (4, 2)}]
        found = flaky_cases(report(case("new", 4, 2), case("old", 4, 2), case("unseen", 4, 2)), earlier)
        assert {flaky.case_id: flaky.new for flaky in found} == {"new": True, "old": False, "unseen": False}

    def test_what_seldom_flips_is_reported_with_its_rate_and_does_not_count_as_flaky(self) -> None:
        found = flaky_cases(report(case("rare", 20, 19), case("coin", 4, 2)), [{"rare": (4, 4)}])
        assert [(flaky.case_id, flaky.counts_as_flaky) for flaky in found] == [("coin", True), ("rare", False)]
        assert (found[1].flip_rate, found[1].new) == (pytest.approx(2 * 23 / (24 * 23)), False)

    def test_a_case_that_was_not_judged_now_is_not_reported(self) -> None:
        assert flaky_cases(report(case("a", 0, 0)), [{"a": (4, 2)}]) == []
