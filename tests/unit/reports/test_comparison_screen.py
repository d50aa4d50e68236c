"""The text of a comparison: the verdict first, methods beside numbers, every case accounted for."""

from __future__ import annotations

import io
from typing import Any

import pytest
from compared import alike, case, report
from rich.console import Console

from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import Comparison
from evalharness.domain.finding import Finding, finding
from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report
from evalharness.engine.comparing.comparison import compare
from evalharness.reports.terminal.comparison import ComparisonReport, baseline_basis, baseline_line
from evalharness.reports.terminal.screen import Screen
from evalharness.reports.words.say import say

NOT_EVEN = "no drop can be detected with this power, not even if every trial failed"
OLD = report(*alike(20, 4, 4), *alike(27, 4, 2, first=20), *alike(3, 4, 2, first=47, key="before"))
NEW = report(
    *alike(20, 4, 3), *alike(27, 4, 2, first=20), *alike(3, 4, 2, first=47, key="after"), name="brave-otter-042"
)


def compared(old: Report = OLD, new: Report = NEW, **rule: Any) -> Comparison:
    return compare(old, new, RegressionRule(**rule), old_source="baseline default")


def shown(comparison: Comparison, store: str | None = None, verbosity: int = 0, width: int = 400) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    ComparisonReport(Screen(console), store, verbosity).show(comparison)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines() if line.strip()]


def in_full(comparison: Comparison) -> list[str]:
    return shown(comparison, verbosity=1)


def line(lines: list[str], label: str) -> str:
    (found,) = [each for each in lines if each.startswith(f"{label}  ")]
    return found.removeprefix(label).strip()


def test_the_verdict_comes_first_with_its_numbers() -> None:
    told = "REGRESSION   71.3 % → 60.6 %   −10.6 points (95 % CI −17 to −4)   p = 0.018"
    assert shown(compared())[0] == told
    assert shown(compared(), verbosity=-1) == [told]
    assert "a drop this large would come up in 18 of 1,000 runs if nothing had changed" in in_full(compared())[1]


def test_both_runs_are_named_with_target_and_size() -> None:
    lines = shown(compared())
    assert line(lines, "before") == "quiet-sparrow-023   baseline default"
    assert line(lines, "now") == "brave-otter-042     47 cases × 4 trials"
    one = compared(report(*alike(9, 1, 1)), report(*alike(9, 4, 4)))
    assert line(shown(one), "before").endswith("baseline default, 9 cases × 1 trial")


def test_changed_cases_are_counted_and_named_on_request() -> None:
    assert line(shown(compared()), "cases") == "3 of 50 cases changed; compared on 47"
    lines = in_full(compared())
    assert line(lines, "cases") == "3 of 50 cases changed; compared on 47 (188 trials before, 188 now)"
    assert any(each.strip() == "changed since, so not compared: c47, c48, c49" for each in lines)


def test_method_n_and_level_are_for_those_who_ask() -> None:
    assert "permutation" not in "".join(shown(compared()))
    lines = in_full(compared())
    number = line(lines, "pass rate")
    assert number == "71.3 % → 60.6 %   −10.6 points (95 % CI −17 to −4)   p = 0.018   REGRESSION"
    method = lines[lines.index(next(each for each in lines if each.startswith("pass rate"))) + 1]
    assert "exact stratified permutation test: one-sided p 0.0" in method
    assert "interval: least margin of so few cases, wider than Student's t" in method
    assert ", 47 cases" in method
    assert "(power 0.8)" in method


@pytest.mark.parametrize(
    ("parted", "told"),
    [
        (finding("divergence.answer", steps_before=0, before='"70"', now='"60"'), "70 → 60"),
        (
            finding("divergence.step", step=2, before='search("x")', now='fetch("y")'),
            'step 2: search("x") → fetch("y")',
        ),
        (
            finding("divergence.unknown", has_steps=False, before='answer "70"', reason="the target raised"),
            "70 → no answer: the target raised",
        ),
        (finding("divergence.answer", steps_before=0, before='""', now='"60"'), '"" → 60'),
    ],
)
def test_worse_cases_are_listed_with_what_changed(parted: Finding, told: str) -> None:
    found = compared()
    first = found.cases[0].model_copy(update={"divergence": parted})
    found = found.model_copy(update={"cases": (first, *found.cases[1:])})
    lines = shown(found)
    assert f"~ c0   4/4 → 3/4   {told}" in lines
    assert "~ c1   4/4 → 3/4" in lines
    assert "  10 more worse (-v)" in lines
    assert "~ c0    4/4 → 3/4   p 0.5, q 0.76" in in_full(found)
    assert not [each for each in in_full(found) if "more worse" in each]
    assert max(map(len, shown(found, width=40))) <= 80, "only the command is longer"


def test_long_answers_are_cut_to_the_width() -> None:
    found = compared()
    parted = finding(
        "divergence.answer", steps_before=0, before='"yes, and so on and on and on"', now='"no, never, ever"'
    )
    first = found.cases[0].model_copy(update={"divergence": parted})
    lines = shown(found.model_copy(update={"cases": (first, *found.cases[1:])}), width=50)
    assert "~ c0   4/4 → 3/4   yes, and so o… → no, never, ev…" in lines


@pytest.mark.parametrize(
    ("lost", "told"),
    [(0, "9 worse, none clearly by itself"), (1, "1 clearly by itself"), (2, "2 clearly by themselves")],
)
def test_cases_that_are_clearly_worse_are_counted_on_request(lost: int, told: str) -> None:
    cases = alike(9 - lost, 8, 8, first=lost)
    now = alike(9 - lost, 8, 7, first=lost) if not lost else cases
    lines = in_full(compared(report(*alike(lost, 8, 8), *cases), report(*alike(lost, 8, 0), *now)))
    assert any(told in each for each in lines)


def test_gains_losses_of_cases_and_gaps_are_listed() -> None:
    old = report(*alike(9, 8, 4), case("up", 8, 0), case("gone", 1, 1), case("broken", 1, 1))
    new = report(*alike(9, 8, 4), case("up", 8, 8), case("new", 1, 1), case("broken", 0, 0))
    lines = in_full(compared(old, new))
    assert "✓ up   0/8 → 8/8" in lines
    assert "✓ up   0/8 → 8/8" in shown(compared(old, new)), "where none is worse, those that are better"
    for told in ("only in the old run", "only in the new run", "not judged in one of the runs: broken"):
        assert any(each.strip().startswith(told) for each in lines)
    told = "1 of 12 cases only in the old run, 1 not judged in both, 1 only in the new run; compared on 10"
    assert line(shown(compared(old, new)), "cases") == told


def test_times_and_costs_are_reported_in_their_units() -> None:
    old = report(*(case(f"c{n}", 1, 1, duration_s=1.0 + n / 10, cost_usd=0.01) for n in range(9)))
    new = report(*(case(f"c{n}", 1, 1, duration_s=1.5 + n / 10, cost_usd=0.01) for n in range(9)))
    lines = shown(compared(old, new))
    assert line(lines, "latency").startswith("1.4 s → 1.9 s   +37 % (95 % CI +")
    assert line(lines, "latency").endswith("clearly worse, not gated")
    assert not [each for each in lines if each.startswith("cost")], "nothing happened to it"
    assert line(in_full(compared(old, new)), "cost").startswith("$0.01 → $0.01   0 %")


def test_a_loss_of_everything_is_not_said_to_be_no_drop() -> None:
    """Three of three cases broke: that is a drop, but chance causes it too often."""
    lines = shown(compared(report(*alike(3, 1, 1)), report(*alike(3, 1, 0))))
    assert "−100 points" in lines[0]
    assert NOT_EVEN not in "".join(lines), "every trial failed"
    assert lines[1].startswith("too small to show any loss")
    full = in_full(compared(report(*alike(3, 1, 1)), report(*alike(3, 1, 0))))
    assert any("too few cases to tell this from chance, more cases or trials would help" in each for each in full)


def test_a_single_case_that_lost_every_trial_is_not_called_undetectable() -> None:
    lost = compared(report(*alike(1, 2, 2)), report(*alike(1, 2, 0)))
    text = "".join(shown(lost)) + baseline_line(lost)
    assert "−100 points" in text
    assert "can be detected" not in text
    assert "too few cases to tell this from chance" in text


def test_an_inconclusive_comparison_says_what_would_settle_it() -> None:
    same = report(*alike(4, 1, 1))
    lines = shown(compared(same, same))
    assert lines[0].startswith("INCONCLUSIVE   100 % → 100 %   0 points (95 % CI ")
    assert lines[1].startswith("too small to show any loss")
    assert line(lines, "decide").startswith(
        "about 59 cases like these (now 4) would show NO REGRESSION, if nothing else changes"
    )


@pytest.mark.parametrize(
    ("cases", "never"),
    [
        (alike(4, 1, 1), f"{NOT_EVEN}: too few cases that could get worse, more cases or trials would help"),
        (alike(1, 1, 1), f"{NOT_EVEN}: too few cases that could get worse, more cases or trials would help"),
        (alike(20, 1, 0), "no drop can be detected: no trial passed before"),
        (
            [case(f"c{n}", 1, 1, cluster=f"k{n % 4}") for n in range(20)],
            f"{NOT_EVEN}: too few clusters that could get worse, more clusters would help",
        ),
        (
            [case(f"c{n}", 1, 1, weight=1.0 + n) for n in range(4)],
            f"{NOT_EVEN}: too few cases that could get worse, more cases would help",
        ),
    ],
)
def test_a_comparison_too_small_to_show_a_loss_says_why_instead_of_a_size(cases: list[CaseResult], never: str) -> None:
    few = compared(report(*cases), report(*cases))
    assert few.differences["pass_rate"].detectable is None
    assert "smallest drop" not in "".join(shown(few)) + baseline_line(few)
    assert baseline_line(few).startswith("INCONCLUSIVE ") and f"   {never}" in baseline_line(few)
    assert never not in baseline_basis(few), "once is enough"
    assert any(never in each for each in in_full(few))
    assert any(never in each for each in shown(few)) == (few.why.code != "comparison.too_small"), "said in other words"


def test_a_baseline_whose_runs_vary_too_much_asks_for_more_of_them() -> None:
    olds = [report(*alike(20, 1, passed), name=f"calm-cedar-00{passed}") for passed in (0, 1)]
    found = compare([*olds, olds[0]], olds[1], RegressionRule())
    never = "no drop can be detected: the runs of the baseline vary too much, more of them would help"
    assert any(never in each for each in shown(found))


def test_a_time_of_too_few_cases_shows_no_rise() -> None:
    same = report(*alike(4, 1, 1, duration_s=1.0))
    never = "no rise can be detected: too few cases that could get worse, more cases would help (power 0.8)"
    assert any(each.endswith(never) for each in in_full(compared(same, same)))


def test_the_next_command_shows_the_first_worse_case() -> None:
    assert line(shown(compared(), "my store.db"), "look") == (
        "eval-harness show brave-otter-042 c0 --store 'my store.db'"
    )
    from_file = compare(OLD, NEW, RegressionRule(), new_source="new.json")
    assert not [each for each in shown(from_file) if each.startswith("look")]


def test_nothing_reads_plus_or_minus_zero() -> None:
    for found in (compared(), compared(OLD, OLD), compared(NEW, OLD)):
        for each in shown(found):
            assert "±0" not in each
            assert " −0 " not in each
            assert " +0 " not in each


def test_a_loss_of_score_alone_has_no_test_of_its_own() -> None:
    old = report(*alike(9, 4, 4), case("lower", 4, 4, score=0.9), case("fails", 4, 4))
    new = report(*alike(9, 4, 4), case("lower", 4, 4, score=0.6), case("fails", 4, 1))
    lines = in_full(compared(old, new))
    assert "✓ lower   score 0.9 → 0.6" in lines
    assert any(each.startswith("~ fails   4/4 → 1/4         p 0.") for each in lines)


class TestWhatDecided:
    """If the interval seems to contradict the verdict, the line says what decided."""

    def test_a_margin_ruled_out_by_the_one_sided_bound_alone(self) -> None:
        half = [report(*alike(50, 4, 2), *alike(50, 4, p, first=50), *alike(50, 4, 4 - p, first=100)) for p in (3, 1)]
        found = compared(*half, margin=0.0605)
        rate = found.differences["pass_rate"]
        assert rate.verdict == "NO REGRESSION"
        assert rate.low is not None and rate.low < -0.0605
        told = "decided by the one-sided bound: at worst −5.5 points"
        assert told in baseline_line(found)
        assert told in shown(found)
        assert "at worst" not in baseline_line(compared(*half, margin=0.1))

    def test_an_interval_without_0_beside_a_test_that_sees_chance(self) -> None:
        old = report(*alike(8, 4, 4, first=100), *alike(4, 4, 2))
        new = report(*alike(8, 4, 4, first=100), *alike(4, 4, 1))
        found = compared(old, new).differences["pass_rate"].model_copy(update={"low": -0.2, "high": -0.01})
        told = compared(old, new).model_copy(update={"differences": {"pass_rate": found}})
        assert any(each.startswith("the interval excludes 0, but the test decides") for each in shown(told))

    def test_an_interval_with_0_beside_a_certain_loss(self) -> None:
        old, new = report(*alike(10, 8, 8)), report(*alike(9, 8, 8, first=1), case("c0", 8, 0))
        found = compared(old, new)
        assert found.verdict == "REGRESSION"
        pass_rate = found.differences["pass_rate"]
        assert pass_rate.high is not None
        assert pass_rate.high > 0, "for other cases like these, no loss is certain"
        assert "(90 % CI −14.3 to −5.7 for these cases)" in shown(found)[0]

    def test_a_loss_that_just_reaches_the_level_has_an_interval_below_0(self) -> None:
        found = compared(report(*alike(3, 3, 3)), report(*alike(2, 3, 3, first=1), case("c0", 3, 0)))
        assert (found.verdict, found.differences["pass_rate"].p) == ("REGRESSION", 0.05)
        assert "to below 0 for these cases)" in shown(found)[0]

    def test_times_are_told_in_percent(self) -> None:
        old = report(*(case(f"c{n}", 4, 4, duration_s=1.0) for n in range(12)))
        new = report(*(case(f"c{n}", 4, 4, duration_s=1.0 + (-1) ** n / 13) for n in range(12)))
        told = baseline_line(compared(old, new, metrics=("latency",)))
        assert "(95 % CI −5 to +5 %)   " in told
        assert "a rise of 5 % or more is ruled out   decided by the one-sided bound: at worst +4.0 %" in told


class TestBaselineLine:
    def test_a_regression(self) -> None:
        told = "REGRESSION   71.3 % → 60.6 %   −10.6 points (95 % CI −17 to −4)   baseline default"
        told += "   3 of 50 cases changed; compared on 47"
        assert baseline_line(compared()) == told

    def test_an_inconclusive_comparison_names_what_it_can_show(self) -> None:
        told = baseline_line(compared(OLD, OLD))
        assert told.startswith("INCONCLUSIVE   70 % → 70 %   0 points (95 % CI ")
        assert told.endswith("   smallest drop this could detect: 12.1 points")
        assert "to settle it: about 59 cases like these (now 50) would" in baseline_basis(compared(OLD, OLD))

    def test_single_trials_name_a_range_and_why_it_is_one(self) -> None:
        few = report(*alike(45, 1, 1), *alike(5, 1, 0, first=45))
        why = "since one trial per case does not show how much the cases differ"
        assert baseline_line(compared(few, few)).endswith(
            f"   smallest drop this could detect: between 12.7 and 13.7 points, {why}"
        )

    def test_a_range_ends_where_every_trial_fails(self) -> None:
        few = report(*alike(7, 1, 1), *alike(3, 1, 0, first=7))
        told = baseline_line(compared(few, few))
        assert "could detect: between 56.5 and 70 points (every trial failing), since one trial" in told

    def test_few_trials_name_a_range_because_of_the_pass_rate(self) -> None:
        few = report(*alike(10, 4, 3))
        told = baseline_line(compared(few, few))
        assert told.endswith(" points, since so few trials do not show the pass rate well enough")

    def test_no_regression_names_its_margin(self) -> None:
        assert "a drop of 20 points or more is ruled out" in baseline_line(compared(OLD, OLD, margin=0.2))

    def test_a_loss_among_critical_cases_is_the_one_that_is_reported(self) -> None:
        tagged: dict[str, Any] = {"first": 300, "criticality": "critical"}
        old, new = (
            report(*alike(300, 4, 2), *alike(3, 4, 4, **tagged)),
            report(*alike(300, 4, 2), *alike(3, 4, 1, **tagged)),
        )
        told = baseline_line(compared(old, new))
        assert told.startswith("REGRESSION   critical cases   100 % → 25 %   −75 points (")

    def test_the_metric_that_decided_is_reported_with_its_own_numbers(self) -> None:
        old = report(*(case(f"c{n}", 4, 4, duration_s=1.0 + n / 10) for n in range(12)))
        new = report(*(case(f"c{n}", 4, 4, duration_s=1.5 + n / 10) for n in range(12)))
        told = baseline_line(compared(old, new, metrics=("latency",)))
        assert told.startswith("REGRESSION   latency   1.5 s → 2.0 s   +34 % (95 % CI +29 to +39 %)   baseline")
        assert "points" not in told
        steady = [case(f"c{n}", 4, 4, duration_s=(1 + (-1) ** n / 500) * (1.0 + n / 10)) for n in range(12)]
        told = baseline_line(compared(old, report(*steady), metrics=("latency",)))
        assert "a rise of 5 % or more is ruled out" in told
        open_ = [case(f"c{n}", 4, 4, duration_s=(1.3 if n % 2 else 0.8) * (1.0 + n / 10)) for n in range(12)]
        told = baseline_line(compared(old, report(*open_), metrics=("latency",)))
        assert "   smallest rise this could detect: " in told
        assert "points" not in told


def test_a_time_that_counts_as_worse_is_said_to_vary_between_runs() -> None:
    old = report(*(case(f"c{n}", 4, 4, duration_s=1.0 + n / 10) for n in range(12)))
    new = report(*(case(f"c{n}", 4, 4, duration_s=1.5 + n / 10) for n in range(12)))
    told = "note     latency also varies between runs of the same target"

    def warned(found: Comparison) -> bool:
        return any(each.startswith(told) for each in shown(found))

    assert warned(compared(old, new))
    assert warned(compared(old, old, metrics=("latency",)))
    assert not warned(compared(old, old))


def test_undecided_critical_cases_are_named_even_where_all_others_are_fine() -> None:
    tagged: dict[str, Any] = {"first": 300, "criticality": "critical"}
    old = report(*alike(300, 1, 1), *alike(3, 1, 1, **tagged))
    new = report(*alike(300, 1, 1), *alike(3, 1, 0, **tagged))
    told = baseline_line(compared(old, new))
    assert told.startswith("INCONCLUSIVE   critical cases   100 % → 0 %   −100 points (")
    assert "   every critical case that passed before fails now (c300, c301, c302)" in told
    basis = baseline_basis(compared(old, new))
    assert basis.startswith("3 critical cases (3 trials before, 3 now); exact stratified permutation test")
    assert "; of all 303 cases (303 trials before, 303 now): 100 % → 99.01 %, −0.99 points (95 % CI" in basis


def test_both_ends_of_an_interval_have_as_many_digits() -> None:
    found = compared().differences["pass_rate"].model_copy(update={"low": -0.1712, "high": -0.0008})
    told = shown(compared().model_copy(update={"differences": {"pass_rate": found}}))
    assert "95 % CI −17.12 to −0.08" in told[0] or "−17.1 to −0.1" in told[0]


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (
            [0.0] * 7 + [0.01] * 5,
            [0.02] * 7 + [0.01] * 5,
            "$0.01 → $0.01   rose from 0 in 7 of 12 cases; in the others 0 % (95 %",
        ),
        ([0.0] * 12, [0.02] * 7 + [0.0] * 5, "rose from 0 in 7 of 12 cases   baseline"),
        ([0.0] * 12, [0.02] * 12, "$0 → $0.02   rose from 0 in 12 of 12 cases   baseline"),
        (
            [0.0] * 7 + [0.01] * 6,
            [0.02] * 7 + [0.0] + [0.01] * 5,
            "$0.01 → $0.01   rose from 0 in 7 of 13 cases; fell to 0 in 1 of 13 cases; in the others 0 % (95 %",
        ),
    ],
)
def test_a_rise_from_nothing_is_reported_first(before: list[float], now: list[float], told: str) -> None:
    old, new = (
        report(*(case(f"c{n}", 4, 4, cost_usd=cost) for n, cost in enumerate(costs))) for costs in (before, now)
    )
    found = compared(old, new, metrics=("cost",))
    assert baseline_line(found).startswith(f"REGRESSION   cost   {told}")
    assert "$0.0000 → $0.0000" not in shown(found)[0]


def test_a_fall_to_nothing_is_counted() -> None:
    old, new = (report(*alike(3, 1, 1, cost_usd=cost), *alike(6, 1, 1, first=3, cost_usd=0.01)) for cost in (0.01, 0.0))
    told = "$0.01 → $0.01   fell to 0 in 3 of 9 cases; in the others 0 % (95 %"
    assert line(in_full(compared(old, new)), "cost").startswith(told)


def test_a_ratio_beyond_all_measure_is_reported_in_words() -> None:
    old = report(*alike(6, 1, 1, cost_usd=1e-9))
    new = report(*(case(f"c{n}", 1, 1, cost_usd=1e6 if n else 1e-9) for n in range(6)))
    found = compared(old, new, metrics=("cost",))
    assert say(found.why).startswith("answers cost over 100,000 % more than before")
    told = line(in_full(found), "cost")
    assert told.startswith("$0.000000001 → $3,200   over +100,000 % (95 % CI over +100,000 to over +100,000 %)")
    assert "smallest rise this could detect: over 100,000 %" in baseline_basis(found)
