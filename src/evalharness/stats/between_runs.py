"""Noise between runs: compare a new run with a baseline of several runs.

Trials of one run can share an influence that a test over cases cannot see: a busy machine, another version at the
provider, a changed page. Several runs of an unchanged target reveal it: their means vary more than single trials
explain.

With three or more baseline runs, a change must therefore convince two tests. One is the test over cases (exact or sign
flips, on the pooled runs); the other is Student's t-test of the new run against the baseline runs. The larger p-value
and the wider interval count. The first test keeps its level if only trials vary, the second also if runs vary, so the
larger p-value keeps it in both situations.

Which runs belong to a baseline, and how results are worded, is decided elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist, fmean, variance

from evalharness.errors import UsageError
from evalharness.stats.means import weighted_mean
from evalharness.stats.p_values import PValues
from evalharness.stats.paired import PairedDifference
from evalharness.stats.student import student_t_below, student_t_quantile
from evalharness.stats.thresholds import ALPHA, POWER

FEWEST_RUNS = 3
"""Runs that a baseline needs before its spread is used; two runs say almost nothing about it."""
FEWEST_RUNS_OF_HISTORY = 5
"""Runs needed before noise between runs is reported."""
FEWEST_EXPECTED = 5.0
"""Average passes, and failures, per run in cases that vary. With fewer, the chi² distribution is a poor approximation.
"""
Counts = Mapping[int, tuple[int, int]]
"""One run: (judged trials, passes) by case number."""
# Means that differ only in their last bits count as equal.
_NO_VARIANCE = 1e-24
_STEPS = 400
_MOST_DF = 1e6


# The test of the new run against the baseline runs.


@dataclass(frozen=True, slots=True)
class RunSpread:
    """Means of the baseline runs and of the new run, all over the same cases.

    `chance` is the variance of a run's mean that its trials alone explain; None if the figures are not passes. `extra`
    is the additional variance of the new run's mean if it has fewer trials.
    """

    before: tuple[float, ...]
    now: float
    cases: int
    chance: float | None = None
    extra: float = 0.0
    is_share: bool = False
    """Whether all means lie between 0 and 1. Near 1, noise reaches farther down than up."""

    @property
    def runs(self) -> int:
        return len(self.before)

    @property
    def difference(self) -> float:
        return self.now - fmean(self.before)

    @property
    def variance(self) -> float:
        """The variance between the runs, including that of their trials."""
        found = variance(self.before)
        return found if found > _NO_VARIANCE * max(1.0, fmean(self.before) ** 2) else 0.0

    @property
    def squared_error(self) -> float:
        """The squared error of the difference between one more run and the mean of the runs."""
        return self.variance * (1 + 1 / self.runs) + self.extra

    @property
    def df(self) -> float:
        """Degrees of freedom: runs minus one, or more (Satterthwaite) if part of the error is known without them."""
        own = self.variance * (1 + 1 / self.runs)
        return min(_MOST_DF, (self.runs - 1) * (self.squared_error / own) ** 2) if own else _MOST_DF

    def of_size(self, times: float) -> RunSpread:
        """The spread if each run had `times` as many cases or trials, which shrinks the part that trials explain."""
        if not self.chance or not self.variance:
            return self
        explained = min(self.chance, self.variance)
        shrunk = math.sqrt((self.variance - explained + explained / times) / self.variance)
        mean = fmean(self.before)
        before = tuple(mean + (each - mean) * shrunk for each in self.before)
        return replace(self, before=before, chance=self.chance / times, extra=self.extra / times)

    def on_arcsines(self) -> RunSpread:
        """The same spread after an arcsine transformation, which makes means vary alike at every level."""
        mean = fmean(self.before)
        slope = 4 * mean * (1 - mean)
        before = tuple(map(_arcsine, self.before))
        extra = self.extra / slope if slope > 0 else 0.0
        return RunSpread(before, _arcsine(self.now), self.cases, None, extra)

    def detectable(self, rate: float, alpha: float, power: float) -> float | None:
        """The smallest loss found with this power; None if there is none. It is as uncertain as the spread."""
        between = max(self.variance, self.chance or 0.0)
        if self.chance and 0 < rate < 1:
            return detectable_between(rate, between, self.chance, self.runs, alpha, power)
        return self.margin(1 - alpha) + self.margin(power)

    def margin(self, level: float) -> float:
        """The one-sided distance that one more unchanged run stays within, with probability `level`."""
        return math.sqrt(self.squared_error) * student_t_quantile(level, self.df) if self.squared_error else 0.0


def spread_of_passes(
    before: Sequence[Counts], now: Counts, weights: Mapping[int, float] | None = None
) -> RunSpread | None:
    """The spread of pass rates; None with fewer than three runs, or if no case was judged in all of them.

    A run's mean is the weighted mean of its cases' shares. Only cases with a judged trial in every run count, because
    means over different cases would differ by the cases.
    """
    shared = shared_cases([*before, now], weights)
    if len(before) < FEWEST_RUNS or not shared:
        return None
    weighing = _normed(shared, weights)
    means = [_mean_share(run, weighing) for run in before]
    variances = {case: _trial_variance([run[case] for run in before]) for case in shared}
    of_runs = [_chance_variance(run, variances, weighing) for run in before]
    chance = fmean(of_runs)
    extra = max(0.0, _chance_variance(now, variances, weighing) - chance)
    return RunSpread(tuple(means), _mean_share(now, weighing), len(shared), chance, extra, is_share=True)


def spread_of_figures(
    before: Sequence[Mapping[int, float]], now: Mapping[int, float], weights: Mapping[int, float] | None = None
) -> RunSpread | None:
    """The spread of one figure per case and run.

    The figures are scores, or negated logarithms of times and costs, so that lower is worse.
    """
    shared = shared_cases([*before, now], weights)
    if len(before) < FEWEST_RUNS or not shared:
        return None
    weighing = _normed(shared, weights)
    means = [weighted_mean((run[case], weight) for case, weight in weighing.items()) for run in (*before, now)]
    return RunSpread(tuple(means[:-1]), means[-1], len(shared))


def shared_cases(runs: Sequence[Mapping[int, object]], weights: Mapping[int, float] | None = None) -> list[int]:
    """The cases with figures in every run, in the order of the last run; cases of weight 0 are left out."""
    *before, now = runs
    return [
        case for case in now if all(case in run for run in before) and (weights is None or weights.get(case, 1.0) > 0)
    ]


def one_more_run(spread: RunSpread) -> PValues:
    """Student's t-test: could the new run be one more of the baseline runs?

    For shares, the result is the larger p-value of the tests on the plain and on the arcsine scale. Near 1, noise
    reaches farther down than up, so the plain test alone reports a loss in 6 to 9 of 100 unchanged runs. If the runs do
    not vary at all, any difference counts as significant here, and the test over cases decides.
    """
    method = f"Student's t of one run against {spread.runs}"
    found = [_student(each) for each in ([spread, spread.on_arcsines()] if spread.is_share else [spread])]
    return PValues(max(less for less, _ in found), max(greater for _, greater in found), method, spread.runs)


def _student(spread: RunSpread) -> tuple[float, float]:
    error, difference = math.sqrt(spread.squared_error), spread.difference
    if abs(difference) <= math.sqrt(_NO_VARIANCE):
        return 0.5, 0.5
    if not error:
        return float(difference > 0), float(difference < 0)
    return student_t_below(difference / error, spread.df), student_t_below(-difference / error, spread.df)


def _arcsine(share: float) -> float:
    return math.asin(math.sqrt(min(1.0, max(0.0, share))))


def larger(over_cases: PValues, over_runs: PValues | None) -> PValues:
    """The larger p-values of both tests: a change must convince both."""
    if over_runs is None:
        return over_cases
    return replace(
        over_cases,
        p_less=max(over_cases.p_less, over_runs.p_less),
        p_greater=max(over_cases.p_greater, over_runs.p_greater),
        method=f"the larger p of {over_cases.method} and {over_runs.method}",
    )


def wider(found: PairedDifference, spread: RunSpread | None, span: float = 1.0) -> PairedDifference:
    """The interval over cases, widened to at least the margin of one more run, so that it agrees with `larger`."""
    if spread is None:
        return found
    two_sided, one_sided = spread.margin((1 + found.level) / 2), spread.margin(found.level)
    low = max(-span, min(found.low, found.mean - two_sided))
    high = min(span, max(found.high, found.mean + two_sided))
    bound = max(-span, min(found.lower_bound, found.mean - one_sided))
    is_wider = low < found.low or high > found.high
    return replace(
        found,
        low=low,
        high=high,
        lower_bound=bound,
        method=f"Student's t over {spread.runs} runs, wider than {found.method}" if is_wider else found.method,
    )


def smallest_p_between(spread: RunSpread, worst: float = 0.0) -> float:
    """The p-value of the worst possible new run; combine it by max with that of the test over cases."""
    return one_more_run(replace(spread, now=worst)).p_less


# The power of such a comparison.


def power_between(drop: float, rate: float, between: float, chance: float, runs: int, alpha: float = ALPHA) -> float:
    """The power of the larger p-value for a drop from `rate`.

    `between` is the variance of a run's mean, `chance` the part of it that comes from trials; if the two are equal
    there is no other noise. Means are taken as normal, and the power is averaged over the variances that so few runs
    may show. In simulations the result is within .03 of the truth at a rate of .7 (50 x 4; 3, 5 and 8 runs). At .95 it
    is up to .075 too low and never more than .01 too high.
    """
    if runs < FEWEST_RUNS or not (chance > 0 and between > 0 and 0 < rate < 1 and drop > 0):
        raise UsageError(f"needs at least {FEWEST_RUNS} runs, a rate, a drop and variances, got {runs}, {rate}, {drop}")
    between, now = max(between, chance), max(0.0, rate - drop)
    swing = rate * (1 - rate)
    error = math.sqrt(between / runs + between - chance + chance * now * (1 - now) / swing)
    on_arcsines = 2 * math.sqrt(swing) * (_arcsine(rate) - _arcsine(now))
    by_cases = NormalDist().inv_cdf(1 - alpha) * math.sqrt(chance * (1 + 1 / runs))
    by_runs = student_t_quantile(1 - alpha, runs - 1) * math.sqrt(between * (1 + 1 / runs))
    seen = min(drop, on_arcsines)
    normal = NormalDist().cdf
    return fmean(normal(min(drop - by_cases, seen - by_runs * each) / error) for each in _chi_over_root(runs - 1))


def detectable_between(
    rate: float, between: float, chance: float, runs: int, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The smallest drop found with this power; None if there is none. With few runs, `between` itself is uncertain."""
    if power_between(rate, rate, between, chance, runs, alpha) < power:
        return None
    low, high = 0.0, rate
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if power_between(middle, rate, between, chance, runs, alpha) >= power else (middle, high)
        )
    return high


@cache
def _chi_over_root(df: int) -> tuple[float, ...]:
    """Equally likely values of s/σ: the middle of each of many equal slices of the chi² distribution."""
    found: list[float] = []
    width = (df + 12 * math.sqrt(2 * df) + 30) / (_STEPS * 20)
    total, x = 0.0, 0.0
    log_norm = -(df / 2) * math.log(2) - math.lgamma(df / 2)
    for _ in range(_STEPS * 20):
        x += width
        middle = x - width / 2
        total += width * math.exp(log_norm + (df / 2 - 1) * math.log(middle) - middle / 2)
        while len(found) < _STEPS and total >= (len(found) + 0.5) / _STEPS:
            found.append(math.sqrt(middle / df))
    return (*found, *[math.sqrt(x / df)] * (_STEPS - len(found)))


# Noise in a history of runs.


@dataclass(frozen=True, slots=True)
class NoiseBetweenRuns:
    """How much runs vary beyond their trials, as shares (times 100 they are points).

    `sd` is the standard deviation of the runs' true pass rates, with the interval `low` to `high`. `sd_by_chance` is
    the one that trials alone explain. `is_shown` is true if so much spread is rare (`p` <= alpha) when only trials
    vary.
    """

    sd: float
    low: float
    high: float
    sd_by_chance: float
    p: float
    runs: int
    cases: int
    is_shown: bool


def noise_between_runs(
    runs: Sequence[Counts], weights: Mapping[int, float] | None = None, alpha: float = ALPHA
) -> NoiseBetweenRuns | None:
    """Noise in finished runs of one target on the same cases; None if runs are too few or hardly ever disagree.

    Given all passes of a case, chance alone decides which run each of them belongs to if only trials vary. This gives
    the expected spread exactly. The excess is measured with the chi² distribution, a good approximation if enough
    trials vary.
    """
    if len(runs) < FEWEST_RUNS_OF_HISTORY:
        return None
    shared = shared_cases(runs, weights)
    if not shared:
        return None
    weighing = _normed(shared, weights)
    variances = {case: _trial_variance([run[case] for run in runs]) for case in shared}
    # Cases that always pass or always fail say nothing about chance; with too few others, chi² is inaccurate.
    varying = [case for case in shared if variances[case] > 0]
    passes = sum(run[case][1] for run in runs for case in varying) / len(runs)
    fails = sum(run[case][0] - run[case][1] for run in runs for case in varying) / len(runs)
    if min(passes, fails) < FEWEST_EXPECTED:
        return None
    chance = fmean(_chance_variance(run, variances, weighing) for run in runs)
    total = variance([_mean_share(run, weighing) for run in runs])
    df = len(runs) - 1
    p = chi2_above(df * total / chance, df)
    low, high = (df * total / _chi2_quantile(q, df) - chance for q in (1 - alpha / 2, alpha / 2))
    beyond, lowest, highest = (math.sqrt(max(0.0, each)) for each in (total - chance, low, high))
    return NoiseBetweenRuns(beyond, lowest, highest, math.sqrt(chance), p, len(runs), len(shared), p <= alpha)


def alarms_of_unchanged(sd: float, sd_by_chance: float, alpha: float = ALPHA) -> float:
    """About how often the test over cases alone calls an unchanged target worse, given noise between runs.

    This is the same against one run and against several pooled runs, because pooling does not remove the new run's own
    noise. With few trials it is a little too high, because the exact test stays below its level.
    """
    if not sd_by_chance > 0:
        return alpha
    inflation = math.sqrt(1 + (sd / sd_by_chance) ** 2)
    return NormalDist().cdf(NormalDist().inv_cdf(alpha) / inflation)


def chi2_above(x: float, df: int) -> float:
    """P(chi² > x), in closed form for integer degrees of freedom."""
    if x <= 0:
        return 1.0
    half = x / 2
    if df % 2 == 0:
        term, total = math.exp(-half), 0.0
        for j in range(df // 2):
            total += term
            term *= half / (j + 1)
        return min(1.0, total)
    total = math.erfc(math.sqrt(half))
    term = math.exp(-half) * math.sqrt(half) / math.gamma(1.5)
    for j in range((df - 1) // 2):
        total += term
        term *= half / (j + 1.5)
    return min(1.0, total)


def _chi2_quantile(p: float, df: int) -> float:
    low, high = 0.0, df + 20 * math.sqrt(2 * df) + 60.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if chi2_above(middle, df) > 1 - p else (low, middle)
    return (low + high) / 2


def _normed(cases: Sequence[int], weights: Mapping[int, float] | None) -> dict[int, float]:
    """Each case's share of the total weight."""
    if weights is None:
        return dict.fromkeys(cases, 1 / len(cases))
    largest = max(weights.get(case, 1.0) for case in cases)
    scaled = {case: weights.get(case, 1.0) / largest for case in cases}
    total = math.fsum(scaled.values())
    return {case: weight / total for case, weight in scaled.items()}


def _mean_share(run: Counts, weighing: Mapping[int, float]) -> float:
    return math.fsum(weight * run[case][1] / run[case][0] for case, weight in weighing.items())


def _trial_variance(counts: Sequence[tuple[int, int]]) -> float:
    """The variance of one trial of a case, estimated from all runs together."""
    n, c = (sum(each) for each in zip(*counts, strict=True))
    return c * (n - c) / (n * (n - 1)) if n > 1 else 0.0


def _chance_variance(run: Counts, variances: Mapping[int, float], weighing: Mapping[int, float]) -> float:
    return math.fsum(weight * weight * variances[case] / run[case][0] for case, weight in weighing.items())
