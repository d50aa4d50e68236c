from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special, stats

from evalharness.domain.case import Case
from evalharness.domain.measurement import Measurement
from evalharness.engine.measuring.measurements import measurement_of
from evalharness.stats.beta import regularised_beta
from evalharness.stats.intervals import bootstrap_plus_one_case, wilson
from evalharness.stats.pass_k import pass_at_k, pass_hat_k, printed_k
from evalharness.stats.student import normal_quantile, student_t_quantile

probabilities = st.floats(1e-12, 1 - 1e-12)
degrees = st.one_of(st.integers(1, 30), st.integers(1, 1_000_000))
levels = st.floats(0.5, 0.999)
rates = st.integers(0, 8).map(lambda eighths: eighths / 8)
positive_weights = st.floats(0.01, 100)
ROUNDING = 1e-12
"""The ends are found by a search that stops there."""


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int, int]:
    """n trials, c passes, k up to n."""
    n = draw(st.integers(1, 200))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


def known(value: float | None) -> float:
    assert value is not None
    return value


@given(counts())
def test_pass_at_k_agrees_with_the_hypergeometric_law(n_c_k: tuple[int, int, int]) -> None:
    n, c, k = n_c_k
    assert known(pass_at_k(n, c, k)) == pytest.approx(stats.hypergeom.sf(0, n, c, k), rel=1e-9, abs=1e-9)
    assert known(pass_hat_k(n, c, k)) == pytest.approx(stats.hypergeom.pmf(k, n, c, k), rel=1e-9, abs=1e-12)


@given(counts())
def test_pass_hat_k_mirrors_pass_at_k_of_the_failures(n_c_k: tuple[int, int, int]) -> None:
    n, c, k = n_c_k
    assert known(pass_hat_k(n, c, k)) == pytest.approx(1 - known(pass_at_k(n, n - c, k)), abs=1e-15)


@given(counts())
def test_pass_k_is_ordered(n_c_k: tuple[int, int, int]) -> None:
    n, c, k = n_c_k
    at_least_one, all_pass = known(pass_at_k(n, c, k)), known(pass_hat_k(n, c, k))
    assert 0 <= all_pass <= c / n <= at_least_one <= 1
    assert all_pass <= known(pass_hat_k(n, c, k, estimator="plugin"))
    assert known(pass_at_k(n, c, 1)) == known(pass_hat_k(n, c, 1)) == c / n
    if k < n:
        assert known(pass_at_k(n, c, k + 1)) >= at_least_one
        assert known(pass_hat_k(n, c, k + 1)) <= all_pass
    if c < n:
        assert known(pass_at_k(n, c + 1, k)) >= at_least_one
        assert known(pass_hat_k(n, c + 1, k)) >= all_pass


@given(st.integers(1, 12), st.data())
def test_both_estimators_are_unbiased(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    p = data.draw(st.floats(0, 1))
    chances = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    at_least_one = math.fsum(chance * known(pass_at_k(n, c, k)) for c, chance in enumerate(chances))
    all_pass = math.fsum(chance * known(pass_hat_k(n, c, k)) for c, chance in enumerate(chances))
    assert at_least_one == pytest.approx(1 - (1 - p) ** k, abs=1e-12)
    assert all_pass == pytest.approx(p**k, abs=1e-12)


@given(st.integers(0, 300))
def test_every_printed_k_can_be_estimated(n: int) -> None:
    shown = printed_k(n)
    assert list(shown) == sorted(set(shown))
    assert all(pass_at_k(n, 0, k) is not None for k in shown)
    assert (1 in shown) == (n >= 1)
    assert (3 in shown) == (n >= 3)


@given(probabilities, degrees)
def test_t_quantile_agrees_with_scipy(p: float, df: int) -> None:
    assume(abs(p - 0.5) > 1e-6)  # scipy itself loses digits around the median
    assert student_t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-9)


@given(probabilities, probabilities, degrees)
def test_t_quantile_rises_with_p(p: float, other: float, df: int) -> None:
    assume(other - p > 1e-9)
    assert student_t_quantile(p, df) < student_t_quantile(other, df)


@given(st.floats(0.51, 0.9999), st.integers(1, 1_000))
def test_t_quantile_shrinks_towards_the_normal_one(p: float, df: int) -> None:
    assert student_t_quantile(p, df) > student_t_quantile(p, df + 1) > normal_quantile(p)


@given(probabilities)
def test_normal_quantile_agrees_with_scipy(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-9, abs=1e-12)


# Within 1e-9 of 1 scipy loses half its digits: at a = b = 1/2 the exact value is 2 asin(√x) / π, which is ours.
@given(st.floats(0, 1 - 1e-9, allow_subnormal=False), st.floats(0.5, 1e5), st.floats(0.5, 1e5))
def test_beta_agrees_with_scipy(x: float, a: float, b: float) -> None:
    assert regularised_beta(x, a, b) == pytest.approx(special.betainc(a, b, x), rel=1e-9, abs=1e-250)


@given(st.floats(0.001, 0.999), st.floats(0.5, 1e4), st.floats(0.5, 1e4))
def test_beta_and_its_mirror_sum_to_one(x: float, a: float, b: float) -> None:
    mirrored = 1 - x
    assume(1 - mirrored == x)
    assert regularised_beta(x, a, b) + regularised_beta(mirrored, b, a) == pytest.approx(1, abs=1e-12)


@given(st.integers(1, 10_000), st.floats(0, 1), levels)
def test_wilson_agrees_with_scipy(n: int, share: float, level: float) -> None:
    successes = round(share * n)
    want = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    interval = wilson(successes, n, level)
    assert (interval.low, interval.high) == pytest.approx((want.low, want.high), rel=1e-9, abs=1e-12)


@given(st.integers(1, 1_000), st.floats(0, 1), levels, levels)
def test_wilson_contains_its_share_and_widens_with_the_level(n: int, share: float, level: float, other: float) -> None:
    narrow, wide = wilson(share * n, n, min(level, other)), wilson(share * n, n, max(level, other))
    assert 0 <= wide.low <= narrow.low <= share + 1e-12
    assert share - 1e-12 <= narrow.high <= wide.high <= 1
    more = wilson(2 * share * n, 2 * n, level)
    assert more.high - more.low < wilson(share * n, n, level).high - wilson(share * n, n, level).low


@st.composite
def runs(draw: st.DrawFn) -> list[tuple[int, int, float]]:
    """Trials, passes and weight of each case: equal or unequal trials and weights, often all equal or nearly so."""
    cases = draw(st.integers(1, 30))
    equal_trials = draw(st.one_of(st.none(), st.integers(1, 10)))
    trials = [equal_trials or draw(st.integers(1, 10)) for _ in range(cases)]
    share = draw(st.one_of(st.none(), st.sampled_from([0.0, 0.5, 0.9, 1.0])))
    passes = [round(share * n) if share is not None else draw(st.integers(0, n)) for n in trials]
    weights = [1.0] * cases if draw(st.booleans()) else [draw(positive_weights) for _ in range(cases)]
    return list(zip(trials, passes, weights, strict=True))


@given(runs(), st.data())
def test_turning_a_pass_into_a_fail_raises_neither_end(run: list[tuple[int, int, float]], data: st.DataObject) -> None:
    passing = [position for position, (_, passed, _) in enumerate(run) if passed]
    assume(passing)
    changed = data.draw(st.sampled_from(passing))
    k = data.draw(st.integers(1, min(n for n, _, _ in run)))
    worse = [(n, c - (position == changed), weight) for position, (n, c, weight) in enumerate(run)]
    case = Case(id="case", input="?")
    for estimator in (pass_at_k, pass_hat_k):
        before, after = (measured_by(estimator, each, k, case) for each in (run, worse))
        assert after.value <= before.value
        assert known(after.low) <= known(before.low) + ROUNDING
        assert known(after.high) <= known(before.high) + ROUNDING


def measured_by(
    estimator: Callable[[int, int, int], float | None], run: list[tuple[int, int, float]], k: int, case: Case
) -> Measurement:
    estimates = [
        (case.model_copy(update={"id": f"{case.id} {position}", "weight": weight}), known(estimator(n, c, k)))
        for position, (n, c, weight) in enumerate(run)
    ]
    return measurement_of(estimates, sum(n for n, _, _ in run))


@given(st.lists(st.tuples(st.floats(0, 1), positive_weights), min_size=1, max_size=40), st.integers(1, 20), levels)
def test_weighted_interval_contains_the_weighted_mean(
    cases: list[tuple[float, float]], trials_per_case: int, level: float
) -> None:
    estimates, weights = [estimate for estimate, _ in cases], [weight for _, weight in cases]
    total = trials_per_case * len(cases)
    interval = bootstrap_plus_one_case(estimates, total, level, weights)
    assert interval is not None
    mean = math.fsum(estimate * weight for estimate, weight in cases) / math.fsum(weights)
    assert 0 <= interval.low <= mean + 1e-12
    assert mean - 1e-12 <= interval.high <= 1
    assert interval.low < interval.high
    assert interval.n_eff is None or 0 < interval.n_eff <= total


@given(st.lists(st.tuples(rates, positive_weights), min_size=2, max_size=30))
def test_order_and_scale_of_the_weights_do_not_matter(cases: list[tuple[float, float]]) -> None:
    ordered = sorted(cases, key=lambda case: (case[1], case[0]))
    one = bootstrap_plus_one_case([case[0] for case in cases], 8 * len(cases), weights=[case[1] for case in cases])
    other = bootstrap_plus_one_case(
        [case[0] for case in ordered], 8 * len(cases), weights=[5 * case[1] for case in ordered]
    )
    assert one is not None
    assert other is not None
    assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9, abs=1e-12)


@given(st.lists(rates, min_size=1, max_size=40), levels)
def test_swapping_pass_and_fail_mirrors_the_interval(estimates: list[float], level: float) -> None:
    trials = 8 * len(estimates)
    interval = bootstrap_plus_one_case(estimates, trials, level)
    mirrored = bootstrap_plus_one_case([1 - estimate for estimate in estimates], trials, level)
    assert interval is not None
    assert mirrored is not None
    assert (interval.low, interval.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), rel=1e-9, abs=1e-12)
