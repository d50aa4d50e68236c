"""Comparing times and costs: values without a ratio are not lost, and exact agreement can be decided."""

from __future__ import annotations

import math
from typing import Any

import pytest
from compared import alike, case, report

from evalharness.domain.comparison import Comparison
from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.comparing.comparison import compare
from evalharness.reports.words.say import say


def compared(old: Report, new: Report, **rule: Any) -> Comparison:
    return compare(old, new, RegressionRule(**rule))


def costs(*known: tuple[int, float | None]) -> Report:
    """This many cases with each cost; those above 0 vary a little."""
    told = [cost for number, cost in known for cost in [cost] * number]
    return report(*(case(f"c{n}", 1, 1, cost_usd=cost and cost * (1 + n % 7 / 100)) for n, cost in enumerate(told)))


class TestCostsOfOneRunOnly:
    """No ratio can represent them, and they must not be lost."""

    def test_a_rise_from_nothing_is_a_regression_whatever_the_others_did(self) -> None:
        found = compared(costs((50, 0.0), (50, 0.02)), costs((50, 5.0), (50, 0.01)), metrics=("cost",), tolerance=0.5)
        cost = found.differences["cost"]
        assert (found.verdict, cost.value, cost.n_cases) == ("REGRESSION", pytest.approx(-0.5), 50)
        assert say(found.why).startswith(
            "costs of 50 cases rose from 0 (c0, c1, c2, c3, c4 and 45 more); in the others answers cost 50 % less than "
            "before: a rise this large would come up in"
        )
        assert cost.incomparable == tuple(f"c{n}" for n in range(50))

    def test_one_rise_from_nothing_may_be_chance_but_rules_nothing_out(self) -> None:
        found = compared(costs((1, 0.0), (99, 0.01)), costs((1, 5.0), (99, 0.01)), metrics=("cost",))
        assert found.verdict == "INCONCLUSIVE"
        assert say(found.why).startswith(
            "costs of 1 case rose from 0 (c0); in the others answers cost as much as before, wh"
        )
        assert say(found.settle) == "these cases need a cost above 0 in both runs"

    @pytest.mark.parametrize(("before", "now"), [((80, 0.01), (80, None)), ((80, None), (80, 0.01))])
    def test_costs_that_one_run_does_not_report_leave_it_open(
        self, before: tuple[int, float | None], now: tuple[int, float | None]
    ) -> None:
        found = compared(costs((20, 0.01), before), costs((20, 0.01), now), metrics=("cost",))
        assert found.verdict == "INCONCLUSIVE"
        assert say(found.why) == (
            "costs of 80 cases cannot be compared: 0 before, or reported by one run only (c20, c21, c22, c23, "
            "c24 and 75 more); in the others answers cost as much as before"
        )

    def test_what_the_others_show_counts_with_a_note(self) -> None:
        found = compared(costs((20, 0.01), (2, None)), costs((20, 0.02), (2, 1.0)), metrics=("cost",))
        assert found.verdict == "REGRESSION"
        assert say(found.why).startswith(
            "costs of 2 cases cannot be compared: 0 before, or reported by one run only (c20, c21); in"
        )
        informing = compared(costs((20, 0.01), (2, None)), costs((20, 0.01), (2, 1.0)))
        told = "costs of 2 cases cannot be compared: 0 before, or reported by one run only (c20, c21)"
        assert told in tuple(map(say, informing.notes))

    def test_what_costs_nothing_in_both_runs_is_no_obstacle(self) -> None:
        same = costs((99, 0.01), (9, 0.0), (9, None))
        assert compared(same, same, metrics=("cost",)).verdict == "NO REGRESSION"
        free = costs((9, 0.0))
        assert compared(free, free, metrics=("cost",)).verdict == "NO REGRESSION"

    def test_falls_to_nothing_are_not_a_loss(self) -> None:
        found = compared(costs((50, 5.0), (99, 0.01)), costs((50, 0.0), (99, 0.01)), metrics=("cost",))
        assert found.verdict == "NO REGRESSION"
        assert say(found.why).startswith("costs of 50 cases fell to 0; in the others answers cost as much as before")
        assert len(found.differences["cost"].to_nothing) == 50
        all_free = compared(costs((9, 0.01)), costs((9, 0.0)), metrics=("cost",))
        assert (all_free.verdict, all_free.differences["cost"].new) == ("IMPROVEMENT", 0.0)

    def test_the_chance_is_reported_for_all_cases_if_some_fell_to_nothing(self) -> None:
        found = compared(costs((500, 0.01), (500, 0.01)), costs((500, 0.0), (500, 0.012)), metrics=("cost",))
        assert say(found.why) == (
            "costs of 500 cases fell to 0; in the others answers cost 20 % more than before, which may be chance: "
            "all cases together, a result this bad would come up in 100 of 100 runs if nothing had changed"
        )
        assert (found.differences["cost"].detectable or 0) > 0.001, "equal except for rounding"

    def test_what_is_free_now_hides_no_rise_of_the_others(self) -> None:
        found = compared(costs((38, 0.01), (2, 0.01)), costs((38, 0.02), (2, 0.0)), metrics=("cost",))
        assert (found.verdict, found.differences["cost"].method) == ("REGRESSION", "sign-flip test, exact, on amounts")

    def test_what_is_not_reported_any_more_may_be_a_rise_from_nothing(self) -> None:
        old, new = costs((120, 0.01), (20, 0.0)), costs((120, 0.01), (20, None))
        found = compared(old, new, metrics=("cost",))
        assert found.verdict == "INCONCLUSIVE" and len(found.differences["cost"].incomparable) == 20
        assert compared(new, old, metrics=("cost",)).verdict == "NO REGRESSION", "what is free now is not a loss"

    def test_dear_cases_that_rise_are_not_ruled_out_by_cheap_ones_that_fall(self) -> None:
        old, new = costs((1, 0.01), (60, 0.002), (10, 1.0)), costs((1, 0.0), (60, 0.001), (10, 1.5))
        found = compared(old, new, metrics=("cost",))
        assert found.verdict == "INCONCLUSIVE"
        assert "42 % less than before, but all cases together, a result this bad would come up in" in say(found.why)

    def test_only_what_rose_from_nothing_is_counted_as_risen(self) -> None:
        old = costs((20, 0.0), (11, None), (969, 0.01))
        new = costs((31, 0.01), (4, 0.0), (965, 0.01))
        found = compared(old, new, metrics=("cost",))
        assert say(found.why).startswith(
            "costs of 20 cases rose from 0 (c0, c1, c2, c3, c4 and 15 more); costs of 11 cases are reported by one "
            "run only (c20, c21, c22, c23, c24 and 6 more); costs of 4 cases fell to 0; in the others answers cost as"
        )

    def test_rises_among_what_is_free_are_a_loss(self) -> None:
        found = compared(costs((50, 0.0), (50, 0.0)), costs((50, 5.0), (50, 0.0)), metrics=("cost",))
        assert found.verdict == "REGRESSION"

    def test_where_all_rise_from_nothing_it_is_a_loss(self) -> None:
        found = compared(costs((9, 0.0)), costs((9, 5.0)), metrics=("cost",))
        assert found.verdict == "REGRESSION"
        assert say(found.why).startswith(
            "costs of 9 cases rose from 0 (c0, c1, c2, c3, c4 and 4 more): a rise this large"
        )


class TestEqualRatios:
    @pytest.mark.parametrize(("now", "verdict"), [(0.5, "NO REGRESSION"), (0.01, "NO REGRESSION"), (0.6, "REGRESSION")])
    def test_many_cases_that_agree_decide(self, now: float, verdict: str) -> None:
        old, new = (report(*alike(100, 1, 1, cost_usd=cost)) for cost in (0.5, now))
        cost = compared(old, new, metrics=("cost",)).differences["cost"]
        assert cost.verdict == verdict
        assert cost.low is not None
        assert cost.high is not None
        assert cost.low < cost.value < cost.high

    def test_few_leave_it_open_and_say_how_many_would_not(self) -> None:
        same = report(*alike(20, 1, 1, cost_usd=0.01))
        found = compared(same, same, metrics=("cost",))
        assert found.verdict == "INCONCLUSIVE"
        settle = say(found.settle)
        assert settle == "about 60 cases like these (now 20) would show NO REGRESSION, if nothing else changes"

    def test_a_rise_that_more_cases_would_show_must_stay_the_same(self) -> None:
        old, new = (report(*alike(4, 1, 1, cost_usd=cost)) for cost in (0.5, 0.6))
        settle = say(compared(old, new, metrics=("cost",)).settle)
        assert settle.endswith("would show REGRESSION, if the rise stays the same")

    def test_the_bound_of_a_ratio_is_an_upper_one(self) -> None:
        same = report(*alike(100, 1, 1, cost_usd=0.01))
        found = compared(same, same).differences
        margin = 1 - 0.05**0.01
        assert (found["cost"].lower_bound, found["cost"].upper_bound) == (None, pytest.approx(math.expm1(margin)))
        assert (found["pass_rate"].lower_bound, found["pass_rate"].upper_bound) == (pytest.approx(-margin), None)
