"""Noise between runs: the test for one more run, its interval, its power, and what a history shows."""

from __future__ import annotations

import math
from statistics import fmean, stdev

import pytest

from evalharness.errors import UsageError
from evalharness.stats.between_runs import (
    NoiseBetweenRuns,
    RunSpread,
    alarms_of_unchanged,
    chi2_above,
    detectable_between,
    larger,
    noise_between_runs,
    one_more_run,
    power_between,
    spread_of_figures,
    spread_of_passes,
    wider,
)
from evalharness.stats.p_values import PValues
from evalharness.stats.paired import PairedDifference
from evalharness.stats.student import student_t_below, student_t_quantile

MEANS = (0.70, 0.74, 0.66, 0.72, 0.68)


@pytest.mark.parametrize("p", [0.001, 0.05, 0.3, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("df", [1, 2, 4.5, 30])
def test_the_distribution_function_undoes_the_quantile(p: float, df: float) -> None:
    assert student_t_below(student_t_quantile(p, df), df) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize(("x", "df", "p"), [(3.841458820694124, 1, 0.05), (9.487729036781154, 4, 0.05), (0.0, 3, 1.0),
                                            (16.918977604620448, 9, 0.05)])  # fmt: skip
def test_the_upper_tail_of_chi_squared(x: float, df: int, p: float) -> None:
    assert chi2_above(x, df) == pytest.approx(p, rel=1e-10)


def test_one_more_run_is_students_test() -> None:
    spread = RunSpread(MEANS, 0.6, 50)
    t = (0.6 - fmean(MEANS)) / (stdev(MEANS) * math.sqrt(1 + 1 / 5))
    found = one_more_run(spread)
    assert found.p_less == pytest.approx(student_t_below(t, 4))
    assert found.p_less + found.p_greater == pytest.approx(1)
    on_arcsines = one_more_run(RunSpread(MEANS, 0.6, 50, is_share=True))
    assert found.p_less < on_arcsines.p_less < 2 * found.p_less, "the more cautious of the two counts"


def test_the_larger_p_and_the_wider_interval_count() -> None:
    spread = RunSpread(MEANS, 0.6, 50)
    both = larger(PValues(0.01, 0.995, "exact", 50), one_more_run(spread))
    assert (both.p_less, both.p_greater) == (one_more_run(spread).p_less, 0.995)
    found = PairedDifference(-0.1, -0.12, -0.08, -0.115, 0.95, "Student's t over cases", 50)
    wide = wider(found, spread)
    assert wide.low < -0.12 and wide.high > -0.08 and wide.lower_bound < -0.115
    assert wide.lower_bound == pytest.approx(-0.1 - spread.margin(0.95))
    narrow = wider(PairedDifference(0.0, -0.9, 0.9, -0.8, 0.95, "all that is possible", 1), spread)
    assert (narrow.low, narrow.high, narrow.method) == (-0.9, 0.9, "all that is possible")


def test_only_cases_of_all_runs_count_and_fewer_trials_now_add_their_chance() -> None:
    runs = [{1: (4, 3), 2: (4, n), 3: (4, 4)} for n in (1, 2, 3)]
    spread = spread_of_passes(runs, {1: (4, 3), 2: (4, 2), 4: (4, 4)})
    assert spread is not None
    assert (spread.cases, spread.before, spread.extra) == (2, (0.5, 0.625, 0.75), 0.0)
    few = spread_of_passes(runs, {1: (1, 1), 2: (1, 0)})
    assert few is not None and few.extra > 0 and few.df > 2
    assert spread_of_passes(runs[:2], {1: (4, 3)}) is None
    assert spread_of_passes(runs, {5: (4, 3)}) is None
    weighted = spread_of_figures([{1: 0.0, 2: 1.0}] * 3, {1: 0.0, 2: 1.0}, {1: 1.0, 2: 3.0})
    assert weighted is not None and weighted.now == 0.75


def test_where_runs_do_not_vary_any_difference_is_more_than_they_explain() -> None:
    same = RunSpread((0.5,) * 4, 0.4, 10, is_share=True)
    assert (one_more_run(same).p_less, one_more_run(same).p_greater) == (0.0, 1.0)
    assert one_more_run(RunSpread((0.5,) * 4, 0.5, 10)).p_less == 0.5


def test_power_rises_with_runs_and_falls_with_noise() -> None:
    chance = 0.21 / 200
    powers = [power_between(0.1, 0.7, chance, chance, runs) for runs in (3, 5, 8)]
    assert powers == pytest.approx([0.498, 0.697, 0.786], abs=0.005), "simulated: .495, .698, .788"
    noisy = power_between(0.1, 0.7, chance + 0.0625**2, chance, 5)
    assert noisy == pytest.approx(0.275, abs=0.02), "simulated: .267"
    drop = detectable_between(0.7, chance, chance, 5)
    assert drop is not None and power_between(drop, 0.7, chance, chance, 5) == pytest.approx(0.8, abs=1e-3)
    assert detectable_between(0.1, 0.04, chance, 3) is None
    with pytest.raises(UsageError, match="at least 3 runs"):
        power_between(0.1, 0.7, chance, chance, 2)


def history(*rates: int) -> NoiseBetweenRuns | None:
    """40 cases × 5 trials, all with the same rate in a run."""
    return noise_between_runs([dict.fromkeys(range(40), (5, rate)) for rate in rates])


def test_noise_is_named_where_runs_differ_by_more_than_trials_explain() -> None:
    noisy, calm = history(2, 4, 3, 2, 4), history(3, 3, 3, 3, 3)
    assert noisy is not None and noisy.is_shown
    assert noisy.low < noisy.sd < noisy.high
    assert noisy.sd == pytest.approx(0.2, abs=0.01)
    assert calm is not None and (calm.is_shown, calm.sd) == (False, 0.0)
    assert history(2, 4, 3, 2) is None, "too few runs"
    assert history(5, 5, 5, 5, 5) is None, "nothing varies"
    assert alarms_of_unchanged(0.0, 0.03) == pytest.approx(0.05)
    assert alarms_of_unchanged(0.0625, 0.0324) == pytest.approx(0.226, abs=0.01)
