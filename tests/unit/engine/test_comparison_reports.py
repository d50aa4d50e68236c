"""Comparing two reports: the verdict, its words, and how losses and gaps on one side must not look."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from compared import airline, alike, case, report

from evalharness.domain.comparison import Comparison
from evalharness.domain.gate import GateResult, RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.comparing.comparison import compare
from evalharness.errors import UsageError
from evalharness.reports.words.say import say
from evalharness.stats.flip_rate import flip_alarm_range

VECTORS = json.loads((Path(__file__).parents[2] / "fixtures" / "statistics-vectors.json").read_text(encoding="utf-8"))
RULE = RegressionRule()


def compared(old: Report, new: Report, **rule: Any) -> Comparison:
    return compare(old, new, RegressionRule(**rule))


def mixed(first_passes: int) -> Report:
    """Twenty cases that may get worse, and thirty that pass half the time."""
    return report(*alike(20, 4, first_passes), *alike(30, 4, 2, first=20))


class TestVerdict:
    def test_a_clear_loss_is_a_regression_reported_in_plain_words(self) -> None:
        found = compared(mixed(4), mixed(3))
        assert found.verdict == "REGRESSION"
        assert say(found.why) == (
            "the pass rate is 10 points lower than before (70 % → 60 %): "
            "a drop this large would come up in 22 of 1,000 runs if nothing had changed"
        )
        assert say(found.settle) == ""

    def test_a_clear_gain_is_an_improvement_and_rules_a_loss_out(self) -> None:
        found = compared(mixed(3), mixed(4))
        assert (found.verdict, found.decisive) == ("IMPROVEMENT", ("pass_rate",))
        assert found.differences["pass_rate"].verdict == "NO REGRESSION"
        assert say(found.why).startswith(
            "the pass rate is 10 points higher than before (60 % → 70 %): a rise this large would"
        )
        assert say(found.why).endswith("a drop of 5 points or more is ruled out")

    def test_a_gain_that_may_be_chance_is_not_an_improvement(self) -> None:
        """Mirrored: what would not be a REGRESSION the other way round is not an IMPROVEMENT."""
        before, now = (report(*alike(300, 4, 2), *alike(2, 4, n, first=300)) for n in (2, 3))
        found = compared(before, now)
        assert (found.verdict, found.differences["pass_rate"].value > 0) == ("NO REGRESSION", True)

    def test_no_gain_makes_up_for_a_loss_elsewhere(self) -> None:
        old = [case(f"c{n}", 4, 2, cost_usd=1.0) for n in range(60)]
        dearer = [replace(each, passed=4, score=1.0, cost_usd=1.001 if n < 2 else 1.0) for n, each in enumerate(old)]
        cheaper = [replace(each, passed=4, score=1.0, cost_usd=0.9) for each in old]
        both = {"metrics": ("pass_rate", "cost"), "margin": 0.05}
        found = compared(report(*old), report(*dearer), **both)
        assert (found.verdict, found.differences["cost"].value > 0) == ("NO REGRESSION", True)
        assert compared(report(*old), report(*cheaper), **both).verdict == "IMPROVEMENT"

    def test_gains_of_several_figures_share_the_error_rate(self) -> None:
        """Alone, either would be significant at 5 %; by Holm's method the smaller p counts twice."""
        rows = [(1, 0, 1, 1)] * 5 + [(1, 1, 1, 1)] * 95
        old = report(*(case(f"c{n}", 1, before, cost_usd=1.0) for n, (_, before, _, _) in enumerate(rows)))
        new = report(*(case(f"c{n}", 1, now, cost_usd=1.0) for n, (_, _, _, now) in enumerate(rows)))
        alone, together = compared(old, new), compared(old, new, metrics=("pass_rate", "cost"))
        assert alone.differences["pass_rate"].p_better == 1 / 32
        assert (alone.verdict, together.verdict) == ("IMPROVEMENT", "NO REGRESSION")

    def test_many_cases_that_stay_rule_a_loss_out(self) -> None:
        same = report(*alike(400, 1, 1))
        found = compared(same, same)
        assert (found.verdict, say(found.why)) == (
            "NO REGRESSION",
            "the pass rate is the same as before (100 %): a drop of 5 points or more is ruled out",
        )

    def test_what_may_be_chance_is_inconclusive_and_says_what_would_settle_it(self) -> None:
        half = report(*alike(50, 4, 2))
        fewer = report(*alike(14, 4, 1), *alike(8, 4, 3, first=14), *alike(28, 4, 2, first=22))
        found = compared(half, fewer)
        assert (found.verdict, say(found.why)) == (
            "INCONCLUSIVE",
            "the pass rate is 3 points lower than before (50 % → 47 %), which may be chance: "
            "a drop this large would come up in 32 of 100 runs if nothing had changed",
        )
        assert say(found.settle) == (
            "8 times as many trials per case in both runs (32, now 4) would show a REGRESSION, "
            "if the drop stays the same"
        )

    @pytest.mark.parametrize("vector", VECTORS["stratified_exact"])
    def test_p_is_that_of_the_exact_stratified_test(self, vector: dict[str, Any]) -> None:
        rows = vector["rows"]
        old = report(*(case(f"c{n}", row[0], row[1]) for n, row in enumerate(rows)))
        new = report(*(case(f"c{n}", row[2], row[3]) for n, row in enumerate(rows)))
        found = compared(old, new).differences["pass_rate"]
        assert found.p == pytest.approx(vector["p_regression"], abs=1e-12)
        assert (found.n_cases, found.n_trials_old) == (len(rows), sum(row[0] for row in rows))

    def test_one_trial_each_is_mcnemars_test(self) -> None:
        for vector in VECTORS["mcnemar_exact"]:
            losses, wins = vector["old_pass_new_fail"], vector["old_fail_new_pass"]
            old = report(*alike(losses, 1, 1), *alike(wins, 1, 0, first=losses))
            new = report(*alike(losses, 1, 0), *alike(wins, 1, 1, first=losses))
            one_sided, _ = vector["one_sided_and_two_sided"]
            assert compared(old, new).differences["pass_rate"].p == pytest.approx(one_sided, abs=1e-12)


class TestMargins:
    def test_a_loss_within_the_tolerance_never_fails_and_says_so(self) -> None:
        found = compared(mixed(4), mixed(3), tolerance=0.1, margin=0.2)
        assert found.verdict == "NO REGRESSION"
        assert say(found.why).endswith(
            "20 points or more is ruled out, and this one is within the 10 points that are accepted"
        )
        undecided = compared(mixed(4), mixed(3), tolerance=0.1)
        assert undecided.verdict == "INCONCLUSIVE"
        assert "more than chance explains but within the 10 points that are accepted" in say(undecided.why)
        assert compared(mixed(4), mixed(3), tolerance=0.09).verdict == "REGRESSION"

    def test_a_wider_margin_is_ruled_out_sooner(self) -> None:
        same = mixed(4)
        assert compared(same, same).verdict == "INCONCLUSIVE"
        assert compared(same, same, margin=0.1).verdict == "NO REGRESSION"

    def test_a_stricter_level_asks_for_more(self) -> None:
        assert compared(mixed(4), mixed(3), alpha=0.01).verdict != "REGRESSION"


class TestSize:
    def test_the_detectable_drop_of_the_published_run(self) -> None:
        found = compared(airline(), airline()).differences["pass_rate"]
        assert found.detectable == pytest.approx(0.0954, abs=0.003)

    def test_of_unequal_trials_the_fewer_limit_what_is_seen(self) -> None:
        sides = [report(*alike(50, trials, trials // 2)) for trials in (2, 4, 6)]
        few, uneven, many = (
            compared(old, new).differences["pass_rate"].detectable or 0
            for old, new in ((sides[0], sides[0]), (sides[0], sides[2]), (sides[1], sides[1]))
        )
        assert few > uneven > many

    def test_where_nothing_varies_the_drop_that_can_be_found_is_not_zero(self) -> None:
        """At least five failures are needed; true drops of 6.4 to 7.1 points cause them about four times in five."""
        same = report(*alike(100, 1, 1))
        found = compared(same, same).differences["pass_rate"]
        assert found.detectable_from == pytest.approx(0.064, abs=1e-3)
        assert found.detectable == pytest.approx(0.071, abs=1e-3)

    def test_a_drop_larger_than_the_pass_rate_is_never_named(self) -> None:
        """With two new runs, not even this drop is found so often, but all five failing now is always found."""
        same = report(*alike(5, 1, 1), *alike(5, 1, 0, first=5))
        assert compared(same, same).differences["pass_rate"].detectable == 0.5

    def test_one_trial_of_each_case_names_a_range_and_says_why(self) -> None:
        same = report(*alike(45, 1, 1), *alike(5, 1, 0, first=45))
        found = compared(same, same).differences["pass_rate"]
        assert found.detectable_unknown == "spread"
        assert (found.detectable_from or 1) < (found.detectable or 0)

    def test_thirty_cases_with_four_trials_name_one_number(self) -> None:
        same = report(*alike(30, 4, 3))
        found = compared(same, same).differences["pass_rate"]
        assert (found.detectable_from, found.detectable_unknown) == (None, "")
        assert found.detectable is not None

    def test_equal_results_name_equal_drops_whatever_their_order(self) -> None:
        cases = [case(f"c{n}", 4, n % 5) for n in range(12)]
        first, second = (compared(report(*some), report(*some)) for some in (cases, cases[::-1]))
        assert first.differences["pass_rate"].detectable == second.differences["pass_rate"].detectable

    @pytest.mark.parametrize("passes", [1, 0])
    def test_four_cases_with_one_trial_can_never_fail_and_say_so(self, passes: int) -> None:
        found = compared(report(*alike(4, 1, 1)), report(*alike(4, 1, passes)))
        assert found.verdict == "INCONCLUSIVE"
        assert say(found.why).startswith("too small to show any loss: with 4 cases × 1 trial, even a drop to 0 % would")

    def test_five_cases_with_one_trial_can_fail(self) -> None:
        assert compared(report(*alike(5, 1, 1)), report(*alike(5, 1, 0))).verdict == "REGRESSION"

    def test_figures_that_share_their_error_rate_can_show_less(self) -> None:
        """A drop of all five cases has p 1/32, or 1/16 as one of two figures that decide."""
        old, new = report(*alike(5, 1, 1, score=0.5)), report(*alike(5, 1, 0, score=0.0))
        found = compared(old, new)
        assert found.verdict == "INCONCLUSIVE"
        assert say(found.why) == (
            "too small to show any loss: with 5 cases × 1 trial, even a drop to 0 % would come up by chance in "
            "31 of 1,000 runs, in 62 of 1,000 for any of the figures checked; "
            "the limit is 50 of 1,000; the pass rate is 100 points lower than before (100 % → 0 %); "
            "the score is 50 points lower than before (50 % → 0 %): INCONCLUSIVE"
        )
        assert {d.detectable for d in found.differences.values()} == {None}
        assert compared(old, new, metrics=("pass_rate",)).verdict == "REGRESSION"

    def test_the_drop_that_can_be_found_allows_for_the_others(self) -> None:
        """Six failures are needed if two figures share the level, five if there is one."""
        old = report(*alike(100, 1, 1, score=0.5))
        alone = compared(old, old, metrics=("pass_rate",)).differences["pass_rate"].detectable
        halved = compared(old, old, metrics=("pass_rate",), alpha=0.025).differences["pass_rate"].detectable
        both = compared(old, old).differences["pass_rate"].detectable
        assert both == halved
        assert alone is not None
        assert both is not None
        assert both > alone + 0.01

    def test_a_figure_may_still_fail_where_others_fail_more_clearly(self) -> None:
        """Holm requires less of the second: five scores have p 1/32, and the passes of 5 × 4 trials far less."""
        found = compared(report(*alike(5, 4, 4, score=0.5)), report(*alike(5, 4, 0, score=0.4)))
        assert found.decisive == ("pass_rate", "score")
        same = compared(report(*alike(5, 4, 4, score=0.5)), report(*alike(5, 4, 4, score=0.5)))
        assert "too small" not in say(same.differences["score"].why)

    def test_where_nothing_passed_nothing_can_get_worse(self) -> None:
        found = compared(report(*alike(9, 2, 0)), report(*alike(9, 2, 0)))
        assert "no trial passed before" in say(found.why)
        assert say(found.settle).startswith("nothing can: ")


class TestMetrics:
    def test_scores_are_compared_where_they_say_more_than_passes(self) -> None:
        old = report(*alike(12, 1, 1, score=0.9))
        new = report(*alike(12, 1, 1, score=0.8))
        found = compared(old, new)
        score = found.differences["score"]
        assert (score.gated, score.verdict, found.verdict) == (True, "REGRESSION", "REGRESSION")
        assert score.p == pytest.approx(2**-12)
        assert say(found.why).startswith("the score is 10 points lower than before (90 % → 80 %)")
        assert "score" not in compared(mixed(4), mixed(3)).differences

    def test_the_score_weighs_cases_as_the_report_does(self) -> None:
        old = report(case("a", 1, 1, score=0.5, weight=3.0), case("b", 1, 1, score=0.5), case("c", 1, 1, weight=0.0))
        new = report(case("a", 1, 1, score=0.9, weight=3.0), case("b", 1, 1, score=0.1), case("c", 1, 1, weight=0.0))
        score = compared(old, new).differences["score"]
        assert (score.old, score.new, score.value) == pytest.approx((0.5, 0.7, 0.2))
        assert score.n_cases == 2

    def test_the_sign_flip_vector(self) -> None:
        (vector,) = VECTORS["sign_flip"]
        old = report(*(case(f"c{n}", 1, 1, score=0.8) for n in range(len(vector["d"]))))
        new = report(*(case(f"c{n}", 1, 1, score=0.8 + d) for n, d in enumerate(vector["d"])))
        assert compared(old, new).differences["score"].p == pytest.approx(vector["p_less"])

    def test_time_and_cost_inform_but_fail_only_where_named(self) -> None:
        old = report(*alike(10, 1, 1, duration_s=1.0, cost_usd=0.01))
        new = report(*alike(10, 1, 1, duration_s=1.5, cost_usd=0.01))
        found = compared(old, new)
        latency = found.differences["latency"]
        assert (latency.unit, latency.gated) == ("ratio", False)
        assert latency.value == pytest.approx(0.5)
        assert latency.p == pytest.approx(2**-10)
        assert say(latency.why).startswith("answers take 50 % longer than before: a rise this large would come up in")
        assert found.verdict != "REGRESSION"
        assert found.differences["cost"].value == 0
        gated = compared(old, new, metrics=("pass_rate", "latency"))
        assert gated.verdict == "REGRESSION"
        besides = "the pass rate is the same as before (100 %): INCONCLUSIVE"
        assert say(gated.why) == f"{say(gated.differences['latency'].why)}; {besides}"

    def test_ratios_are_means_of_ratios(self) -> None:
        """Twice as slow and twice as fast is no change, however slow the one case is."""
        old = report(case("a", 1, 1, duration_s=100.0), case("b", 1, 1, duration_s=1.0))
        new = report(case("a", 1, 1, duration_s=200.0), case("b", 1, 1, duration_s=0.5))
        assert compared(old, new).differences["latency"].value == pytest.approx(0.0)

    def test_a_case_in_error_makes_nothing_look_faster_or_cheaper(self) -> None:
        """A side in error ends at once and costs nothing: it must not count."""
        fine: dict[str, Any] = {"duration_s": 1.0, "cost_usd": 0.02}
        old = report(*alike(5, 2, 2, **fine), case("broken", 2, 2, **fine))
        new = report(*alike(5, 2, 2, **fine), case("broken", 0, 0, errors=2, duration_s=0.001, cost_usd=0.0))
        found = compared(old, new)
        assert found.unjudged == ("broken",)
        assert (found.differences["latency"].value, found.differences["cost"].value) == (0, 0)
        assert found.differences["latency"].n_cases == 5

    def test_gated_metrics_share_their_error_rate(self) -> None:
        old = report(*alike(5, 1, 1, score=1.0, duration_s=1.0), *alike(9, 1, 1, first=5, score=0.5, duration_s=1.0))
        new = report(*alike(5, 1, 0, score=0.9, duration_s=1.0), *alike(9, 1, 1, first=5, score=0.6, duration_s=1.0))
        alone = compared(old, new, metrics=("pass_rate",))
        both = compared(old, new)
        assert alone.differences["pass_rate"].p_adjusted == pytest.approx(1 / 32)
        assert alone.verdict == "REGRESSION"
        assert both.differences["pass_rate"].p_adjusted == pytest.approx(2 / 32)
        assert both.verdict != "REGRESSION"
        assert "in 62 of 1,000 runs for any of the figures checked" in say(both.differences["pass_rate"].why)

    def test_a_metric_without_figures_cannot_be_gated(self) -> None:
        with pytest.raises(UsageError, match="cost cannot be compared: no case has a cost above 0, known for all its"):
            compared(mixed(4), mixed(4), metrics=("cost",))


class TestCriticalCases:
    def test_a_loss_among_critical_cases_alone_is_a_regression(self) -> None:
        ordinary = alike(300, 4, 2)
        old = report(*ordinary, *alike(3, 4, 4, first=300, criticality="critical"))
        new = report(*ordinary, *alike(3, 4, 1, first=300, criticality="critical"))
        found = compared(old, new)
        assert found.differences["pass_rate"].verdict != "REGRESSION"
        assert found.critical is not None
        assert (found.critical.n_cases, found.critical.verdict) == (3, "REGRESSION")
        assert found.verdict == "REGRESSION"
        assert say(found.why).startswith(
            "critical cases got worse (c300, c301, c302): "
            "the pass rate of critical cases is 75 points lower than before (100 % → 25 %)"
        )
        assert found.decisive == ("critical",)

    def test_a_total_loss_of_few_critical_cases_is_never_no_regression(self) -> None:
        """Three cases with one trial can prove nothing, however bad: 300 others must not turn that into an "ok"."""
        old = report(*alike(300, 1, 1), *alike(3, 1, 1, first=300, criticality="critical"))
        new = report(*alike(300, 1, 1), *alike(3, 1, 0, first=300, criticality="critical"))
        found = compared(old, new)
        assert found.differences["pass_rate"].verdict == "NO REGRESSION"
        assert found.verdict == "INCONCLUSIVE"
        assert say(found.why) == (
            "every critical case that passed before fails now (c300, c301, c302), but so few trials prove nothing: "
            "with 3 cases × 1 trial, even a drop to 0 % would come up by chance in 12 of 100 runs; "
            "the limit is 5 of 100; the pass rate is 0.99 points lower than before (100 % → 99.01 %): NO REGRESSION"
        )
        assert say(found.settle) == (
            "for the critical cases, twice as many trials per case in both runs (2, now 1) "
            "would show a REGRESSION, if the drop stays the same"
        )

    def test_one_critical_case_with_four_trials_is_enough(self) -> None:
        """The worst result has a chance of 1 in 70, which is rare enough twice: the pass rate is tested as well."""
        others = alike(8, 4, 4, first=1)
        old, lost, shaky = (report(case("guard", 4, n, criticality="critical"), *others) for n in (4, 0, 1))
        found = compared(old, lost)
        assert found.verdict == "REGRESSION"
        assert say(found.why).startswith(
            "critical cases got worse (guard): the pass rate of critical cases is 100 points lower"
        )
        assert found.critical is not None
        assert (found.critical.p, found.critical.detectable) == (pytest.approx(1 / 70), 1.0)
        for new in (shaky, old):
            critical = compared(old, new).critical
            assert critical is not None
            assert (critical.verdict, "too small" in say(critical.why)) == ("INCONCLUSIVE", False)

    def test_a_small_loss_of_critical_cases_leaves_it_open_and_a_gain_does_not(self) -> None:
        few, many = ((*alike(300, 4, 4), *alike(3, 4, n, first=300, criticality="critical")) for n in (3, 4))
        lost = compared(report(*many), report(*few))
        assert (lost.verdict, lost.decisive) == ("INCONCLUSIVE", ("critical",))
        fewer = "the pass rate of critical cases is 25 points lower than before (100 % → 75 %), which may be chance: "
        assert say(lost.why).startswith(f"critical cases passed less often (c300, c301, c302): {fewer}")
        assert compared(report(*few), report(*many)).verdict == "NO REGRESSION"

    def test_they_share_the_error_rate_with_the_pass_rate(self) -> None:
        """A loss of 5 of 5 single trials has a chance of 1 in 32: too often if two figures are tested."""
        old = report(*alike(295, 1, 1), *alike(5, 1, 1, first=295, criticality="critical"))
        new = report(*alike(295, 1, 1), *alike(5, 1, 0, first=295, criticality="critical"))
        found = compared(old, new)
        assert found.critical is not None
        assert (found.critical.p, found.critical.p_adjusted) == (1 / 32, 1 / 16)
        assert found.differences["pass_rate"].p_adjusted == 1 / 16, "whatever they lost"
        assert found.verdict == "INCONCLUSIVE"

    def test_too_few_to_show_a_loss_leave_the_others_their_error_rate(self) -> None:
        """Four single trials can never show one: 5 ordinary cases that break are then a REGRESSION by themselves."""
        guards = [alike(number, 1, 1, first=100, criticality="critical") for number in (4, 5)]
        found = [compared(report(*alike(5, 1, 1), *each), report(*alike(5, 1, 0), *each)) for each in guards]
        assert [each.differences["pass_rate"].p_adjusted for each in found] == [1 / 32, 1 / 16]
        assert [each.verdict for each in found] == ["REGRESSION", "INCONCLUSIVE"]

    def test_a_gain_among_critical_cases_alone_is_an_improvement(self) -> None:
        few, many = ((*alike(300, 4, 4), *alike(3, 4, n, first=300, criticality="critical")) for n in (1, 4))
        found = compared(report(*few), report(*many))
        assert (found.verdict, found.decisive[-1]) == ("IMPROVEMENT", "critical")
        assert "the pass rate of critical cases is 75 points higher than before (25 % → 100 %): a rise" in say(
            found.why
        )

    def test_few_critical_cases_do_not_make_everything_inconclusive(self) -> None:
        cases = [*alike(400, 1, 1), case("guard", 1, 1, criticality="critical")]
        found = compared(report(*cases), report(*cases))
        assert found.critical is not None
        assert found.critical.verdict == "INCONCLUSIVE"
        assert found.verdict == "NO REGRESSION"


def test_cases_that_weigh_more_are_compared_by_their_weights() -> None:
    """Of 150 cases, the failing one weighs as much as all the others."""
    old = report(*(case(f"c{n}", 1, 1, score=1.0, weight=150.0 if n == 0 else 1.0) for n in range(150)))
    new = report(*(case(f"c{n}", 1, n > 0, score=float(n > 0), weight=150.0 if n == 0 else 1.0) for n in range(150)))
    found = compared(old, new)
    rate = found.differences["pass_rate"]
    assert (rate.value, rate.p) == (pytest.approx(-0.5, abs=0.01), 0.5)
    assert found.verdict == "INCONCLUSIVE"
    assert "score" not in found.differences, "it says nothing more"


class TestUnequalWeights:
    def test_the_pass_rate_is_tested_as_a_score_is(self) -> None:
        weights = [1.0, 2.0, 3.0, 1.5, 2.5, 4.0, 1.0, 3.5]
        old = report(*(case(f"c{n}", 4, 4, weight=weight) for n, weight in enumerate(weights)))
        new = report(*(case(f"c{n}", 4, 1 + n % 3, weight=weight) for n, weight in enumerate(weights)))
        found = compared(old, new, metrics=("pass_rate", "score")).differences
        rate, score = found["pass_rate"], found["score"]
        same = ("old", "new", "value", "low", "high", "lower_bound", "p", "p_better", "method", "interval_method")
        assert {name: getattr(rate, name) for name in same} == {name: getattr(score, name) for name in same}
        assert rate.method.startswith("sign-flip")
        assert rate.p == 0.5**8

    def test_equal_ones_are_not_weights(self) -> None:
        of = [compared(*(report(*alike(6, 4, n, weight=weight)) for n in (4, 2))) for weight in (1.0, 3.0)]
        assert of[0].differences == of[1].differences
        assert of[0].differences["pass_rate"].method == "exact stratified permutation test"
        assert not any(note.code == "comparison.by_weight" for each in of for note in each.notes)

    def test_a_case_of_weight_0_is_in_no_rate_and_among_the_changes(self) -> None:
        cases = [*alike(6, 4, 4), case("light", 4, 4, weight=0.0, criticality="critical")]
        now = [*alike(6, 4, 4), case("light", 4, 0, weight=0.0, criticality="critical")]
        found = compared(report(*cases), report(*now))
        rate = found.differences["pass_rate"]
        assert (rate.value, rate.n_cases, rate.n_trials_new) == (0.0, 6, 24)
        assert found.critical is None
        assert [change.case_id for change in found.worse] == ["light"]
        assert "pass rate and score are weighted means over cases; 1 case with weight 0 does not count" in [
            say(note) for note in found.notes
        ]

    def test_nothing_is_compared_where_every_case_weighs_0(self) -> None:
        cases = alike(3, 1, 1, weight=0.0)
        with pytest.raises(UsageError, match="every case in both has weight 0"):
            compared(report(*cases), report(*cases))

    def test_what_would_settle_it_counts_the_cases_that_weigh(self) -> None:
        cases = [*alike(8, 1, 1), *alike(5, 1, 1, first=8, weight=0.0)]
        found = compared(report(*cases), report(*cases))
        assert (
            say(found.settle) == "about 59 cases like these (now 8) would show NO REGRESSION, if nothing else changes"
        )


class TestSeveralFigures:
    def test_each_that_is_undecided_is_reported_and_settled_by_itself(self) -> None:
        """With so many cases, the pass rate is decided before the score, which varies."""

        def of(number: int, odd: int) -> Report:
            return report(*(case(f"c{n}", 1, 1, score=0.4 if n % 2 == odd else 0.8) for n in range(number)))

        found = compared(of(8, 0), of(8, 1))
        assert found.decisive == ("pass_rate", "score")
        assert say(found.why).endswith("; the score is the same as before (60 %): INCONCLUSIVE")
        assert say(found.settle) == (
            "for the pass rate, about 59 cases like these (now 8) would show NO REGRESSION, if nothing else changes; "
            "for the score, about 177 cases like these (now 8) would show NO REGRESSION, if nothing else changes"
        )
        differences = compared(of(64, 0), of(64, 1)).differences
        assert [d.verdict for d in differences.values() if d.gated] == ["NO REGRESSION", "INCONCLUSIVE"]
        assert compared(of(200, 0), of(200, 1)).verdict == "NO REGRESSION"

    def test_what_would_settle_the_one_is_not_said_of_the_other(self) -> None:
        costs = (0.5, 2.0, 1.0, 1.0)
        old = report(*alike(40, 1, 1, cost_usd=1.0))
        new = report(*(case(f"c{n}", 1, 1, cost_usd=costs[n % 4]) for n in range(40)))
        found = compared(old, new, metrics=("pass_rate", "cost"))
        assert say(found.why).endswith("is not ruled out; answers cost as much as before: INCONCLUSIVE")
        rate, _, cost = say(found.settle).partition("; ")
        assert (
            rate
            == "for the pass rate, about 59 cases like these (now 40) would show NO REGRESSION, if nothing else changes"
        )
        assert cost.startswith("for the cost, about ")

    def test_critical_cases_that_lost_and_the_pass_rate_are_settled_apart(self) -> None:
        """60 such cases would decide the pass rate, but not the critical cases."""

        def of(copies: int, *passes: int) -> Report:
            cases = (
                case(f"c{n} {copy}", 4, passed, criticality="critical" if n < 3 else "")
                for copy in range(copies)
                for n, passed in enumerate((*passes, *[4] * 15))
            )
            return report(*cases)

        old, new = (4, 4, 3, 3, 3), (3, 4, 3, 4, 3)
        found = compared(of(1, *old), of(1, *new))
        assert say(found.settle) == (
            "for the critical cases, 11 times as many trials per case in both runs (44, now 4) would show a "
            "REGRESSION, if the drop stays the same; for the pass rate, about 60 cases like these (now 20) would show "
            "NO REGRESSION, if nothing else changes"
        )
        larger = compared(of(3, *old), of(3, *new))
        assert (larger.verdict, larger.decisive) == ("INCONCLUSIVE", ("critical",))
        assert larger.differences["pass_rate"].verdict == "NO REGRESSION"


@pytest.mark.parametrize("lost", [1, 2, 3, 4, 6, 8])
def test_an_interval_of_these_cases_leaves_out_0_just_where_the_test_finds_a_loss(lost: int) -> None:
    old, new = report(*alike(10, 8, 8)), report(*alike(9, 8, 8, first=1), case("c0", 8, 8 - lost))
    rate = compared(old, new).differences["pass_rate"]
    assert (rate.these_cases is not None and rate.these_cases[1] < 0) == (rate.verdict == "REGRESSION")


@pytest.mark.parametrize("metric", ["pass_rate", "score"])
def test_one_trial_that_differs_is_said_to_favour_either_run_equally_often(metric: str) -> None:
    old, new = report(*alike(20, 1, 1)), report(*alike(19, 1, 1, first=1), case("c0", 1, 0))
    said = say(compared(old, new, metrics=(metric,)).why)
    assert "one trial differs, and by chance it favours either run equally often" in said
    assert "of 100 runs" not in said


def test_weights_of_any_size_are_compared() -> None:
    weights = [1e-200, 2e-200, 1e15, 1.0, 3.0]
    same = report(*(case(f"c{n}", 1, 1, score=1.0, weight=weight) for n, weight in enumerate(weights)))
    assert compared(same, same).verdict == "INCONCLUSIVE"


class TestClusters:
    def test_cases_of_one_cluster_count_as_one_observation(self) -> None:
        old = report(*(case(f"c{n}", 2, 1, cluster=f"repo {n // 5}") for n in range(20)))
        new = report(*(case(f"c{n}", 2, 1 + (n // 5 == 0), cluster=f"repo {n // 5}") for n in range(20)))
        alone = compared(
            report(*(replace(c, cluster="") for c in old.cases)),
            report(*(replace(c, cluster="") for c in new.cases)),
        ).differences["pass_rate"]
        found = compared(old, new).differences["pass_rate"]
        assert found.value == pytest.approx(alone.value)
        assert found.half_width is not None
        assert alone.half_width is not None
        assert found.half_width > 2 * alone.half_width
        assert found.interval_method == "least margin of so few clusters, wider than Student's t, over 4 clusters"
        assert found.interval_formula == "1 - (1 - level)^(1/clusters)"

    def test_the_number_of_clusters_is_reported_whatever_the_method(self) -> None:
        same = report(*(case(f"c{n}", 2, 2, cluster=f"repo {n // 5}") for n in range(20)))
        found = compare(same, same, RegressionRule()).differences["pass_rate"]
        assert found.interval_method == "margin of equal differences, over 4 clusters"

    def test_a_cluster_that_breaks_as_one_is_one_loss(self) -> None:
        """Eight cases of one repository failed together: the repository may have caused it, in that run."""
        alone = [case(f"r{n}", 1, 1) for n in range(10)]
        old = report(*(case(f"c{n}", 1, 1, cluster="repo") for n in range(8)), *alone)
        new = report(*(case(f"c{n}", 1, 0, cluster="repo") for n in range(8)), *alone)
        found = compared(old, new)
        assert (found.verdict, found.differences["pass_rate"].p) == ("INCONCLUSIVE", 0.5)
        assert found.differences["pass_rate"].detectable == 1.0, "eleven clusters show only a drop to 0 %"

    def test_the_method_is_that_of_the_interval_and_names_another_one_of_the_bound(self) -> None:
        old = report(*(case(f"c{n}", 2, 2, cluster=f"repo {n // 2}") for n in range(20)))
        new = report(*(case(f"c{n}", 2, 2 * (n > 3), cluster=f"repo {n // 2}") for n in range(20)))
        assert compared(old, new).differences["pass_rate"].interval_method == (
            "Student's t over 10 clusters (one-sided bound: least margin of so few clusters)"
        )

    def test_five_clusters_that_break_are_a_regression_and_four_can_never_be(self) -> None:
        def broken(clusters: int) -> Comparison:
            old, new = (
                report(*(case(f"c{n}", 1, passed, cluster=f"repo {n % clusters}") for n in range(20)))
                for passed in (1, 0)
            )
            return compared(old, new)

        assert broken(5).verdict == "REGRESSION"
        assert say(broken(4).why).startswith("too small to show any loss: with 20 cases × 1 trial in 4 clusters, even")

    def test_so_few_clusters_show_only_what_moves_enough_of_them(self) -> None:
        """Six clusters of two cases, one trial each: five must fall, so only a loss of 42 points can be shown."""
        old = report(*(case(f"c{n}", 1, 1, cluster=f"repo {n % 6}") for n in range(12)))
        new = report(*(case(f"c{n}", 1, n > 0, cluster=f"repo {n % 6}") for n in range(12)))
        assert (compared(old, new).differences["pass_rate"].detectable or 0) > 0.42

    def test_one_that_outweighs_all_others_rules_nothing_out(self) -> None:
        small = [case(f"c{n}", 1, 1) for n in range(59)]
        same = report(*small, *(case(f"b{n}", 1, 1, cluster="big") for n in range(600)))
        found = compared(same, same)
        assert found.verdict == "INCONCLUSIVE"
        assert (found.differences["pass_rate"].lower_bound or 0) < -0.9
        assert (found.differences["pass_rate"].detectable or 0) > 0.9

    def test_one_cluster_is_not_a_single_case(self) -> None:
        old = report(*(case(f"c{n}", 3, 3, cluster="repo") for n in range(12)))
        new = report(*(case(f"c{n}", 3, 3 - (n < 2), cluster="repo") for n in range(12)))
        found = compare(old, new, RegressionRule()).differences["pass_rate"]
        assert (found.low, found.high) == (-1.0, 1.0)
        assert "one cluster only" in found.interval_method
        assert "single case" not in found.interval_method


def noted(found: Comparison) -> tuple[str, ...]:
    """Without the assumptions, which are noted in every comparison of single runs."""
    return tuple(say(note) for note in found.notes if note.code != "comparison.trials_assumed_independent")


class TestNotes:
    def test_other_suites_early_stops_and_broken_runs_are_reported(self) -> None:
        old = report(*alike(9, 2, 2), suite_name="billing", sequential=True, name="early-bird-001")
        new = report(*alike(9, 2, 2), verdict="INVALID")
        notes = tuple(map(say, compare(old, new, RULE).notes))
        assert any("different suites: billing and checkout" in note for note in notes)
        assert any(note.startswith("early-bird-001 was allowed to stop early") for note in notes)
        assert "the new run is INVALID: why" in notes

    def test_two_runs_that_stopped_early_have_two_verdicts(self) -> None:
        old, new = (
            report(*alike(9, 2, 2), sequential=True, name=name) for name in ("early-bird-001", "brave-otter-042")
        )
        [note] = noted(compare(old, new, RULE))
        assert note.startswith("both runs were allowed to stop early")
        assert note.endswith("; their own verdicts are not affected")

    def test_later_answers_do_not_count(self) -> None:
        """With retry_failed, a case's score is its last answer's, while its passes are those of first answers."""
        old = report(*alike(30, 4, 4), retry_failed=True)
        new = report(*alike(30, 4, 4, score=0.2), retry_failed=True)
        found = compare(old, new, RULE)
        assert (set(found.differences), found.cases) == ({"pass_rate"}, ())
        assert any(
            note.startswith("with retry_failed, only first answers are compared")
            for note in tuple(map(say, found.notes))
        )
        with pytest.raises(UsageError, match="score cannot be compared: retry_failed"):
            compare(old, new, RegressionRule(metrics=("score",)))

    def test_a_gate_that_cannot_be_judged_says_nothing_against_the_trials(self) -> None:
        unjudged = report(*alike(9, 2, 2), verdict="INVALID")
        gate = GateResult(verdict="INVALID", exit_code=2)
        told = compare(unjudged.model_copy(update={"gate": gate}), report(*alike(9, 2, 2)), RULE)
        assert noted(told) == ()

    def test_quarantined_cases_are_left_out(self) -> None:
        old = report(*alike(9, 2, 2), case("flaky", 2, 2))
        new = report(*alike(9, 2, 2), case("flaky", 2, 0))
        found = compare(old, new, RULE, ignored=frozenset(("flaky", "elsewhere")))
        assert (found.n_cases, found.differences["pass_rate"].value) == (9, 0)
        assert noted(found) == ("left out, because quarantined: flaky",)

    def test_both_sides_are_named_with_where_they_came_from(self) -> None:
        found = compare(mixed(4), mixed(4), RULE, old_source="baseline default")
        assert (found.old.run_name, found.old.source, found.new.source) == ("quiet-sparrow-023", "baseline default", "")


def test_the_alarm_of_strict_flips_counts_cases_that_stayed() -> None:
    """Only changed cases are listed; the chance of an alarm needs them all."""
    same = report(*alike(30, 4, 4), *alike(20, 4, 2, first=30))
    found = compared(same, same)
    assert found.cases == ()
    assert found.flip_alarm == flip_alarm_range([(4, 4)] * 30 + [(4, 2)] * 20, [True] * 30 + [False] * 20, 4)
    assert found.flip_alarm is not None


def test_the_alarm_of_strict_flips_is_known_from_earlier_runs_too() -> None:
    once = report(*alike(20, 1, 1))
    assert compared(once, once).flip_alarm is None, "one trial per case says nothing about chance"
    earlier = {f"c{n}": (9, 8 if n < 5 else 9) for n in range(20)}
    found = compare(once, once, RULE, history=earlier)
    assert found.flip_alarm == flip_alarm_range([(10, 9)] * 5 + [(10, 10)] * 15, [True] * 20, 1)
    assert compare(once, once, RULE, history={"c0": (9, 9)}).flip_alarm is None, "the others are unknown"


def test_the_single_figure_of_an_earlier_version_is_not_known() -> None:
    found = compared(mixed(4), mixed(4)).model_dump(mode="json")
    assert Comparison.model_validate(found | {"flip_alarm": 0.42}).flip_alarm is None


def test_a_comparison_survives_json() -> None:
    found = compared(mixed(4), mixed(3))
    assert Comparison.model_validate_json(found.model_dump_json()) == found
