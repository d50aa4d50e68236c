"""Noise between runs: a new run against a baseline of several runs, and what their spread says.

Trials of one run can share what no test over cases sees: a busy machine, a provider's other version, a changed page.
Several runs of an unchanged target show it, as a spread of their means beyond what single trials explain. From three
runs on the new run must therefore lie outside what both tests call chance: the one over cases (exact or sign flips, on
the pool of the runs) and Student's of one more run against the runs. The larger p counts, and the wider interval.
The first keeps its level where only trials vary, the second where runs do, too; so the larger p keeps it in both.
Pure numbers; which runs belong to a baseline, and in which words this is said, is decided elsewhere.
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
"""Of a baseline, for its spread to enter test and interval: two say next to nothing about it."""
FEWEST_RUNS_OF_HISTORY = 5
"""For noise between runs to be named."""
FEWEST_EXPECTED = 5.0
"""Passes, and failures, that a run has on average in cases that vary: below, the law of chi² is no guide."""
Counts = Mapping[int, tuple[int, int]]
"""Of one run: judged trials and passes by case, which any number stands for."""
# Means that are equal but for their last bits do not vary.
_NO_VARIANCE = 1e-24
_STEPS = 400
_MOST_DF = 1e6


# The test of one more run.


@dataclass(frozen=True, slots=True)
class RunSpread:
    """Means of the runs of a baseline and of the new run, all over the same cases.

    `chance` is the variance of a run's mean that its trials alone explain, None where figures are no passes. `extra` is
    what the new run's mean varies more than theirs because it has fewer trials.
    """

    before: tuple[float, ...]
    now: float
    cases: int
    chance: float | None = None
    extra: float = 0.0
    is_share: bool = False
    """Whether all means lie between 0 and 1, where noise reaches farther down than up near 1."""

    @property
    def runs(self) -> int:
        return len(self.before)

    @property
    def difference(self) -> float:
        return self.now - fmean(self.before)

    @property
    def variance(self) -> float:
        """Between the runs, trials included."""
        found = variance(self.before)
        return found if found > _NO_VARIANCE * max(1.0, fmean(self.before) ** 2) else 0.0

    @property
    def squared_error(self) -> float:
        """Of the difference of one more run from the mean of the runs."""
        return self.variance * (1 + 1 / self.runs) + self.extra

    @property
    def df(self) -> float:
        """Runs less one; more (Satterthwaite) as far as the error is known without them."""
        own = self.variance * (1 + 1 / self.runs)
        return min(_MOST_DF, (self.runs - 1) * (self.squared_error / own) ** 2) if own else _MOST_DF

    def of_size(self, times: float) -> RunSpread:
        """As it would be if each run had so many times the cases or trials: what they explain of it shrinks."""
        if not self.chance or not self.variance:
            return self
        explained = min(self.chance, self.variance)
        shrunk = math.sqrt((self.variance - explained + explained / times) / self.variance)
        mean = fmean(self.before)
        before = tuple(mean + (each - mean) * shrunk for each in self.before)
        return replace(self, before=before, chance=self.chance / times, extra=self.extra / times)

    def on_arcsines(self) -> RunSpread:
        """The same, of means that vary alike wherever they lie."""
        mean = fmean(self.before)
        slope = 4 * mean * (1 - mean)
        before = tuple(map(_arcsine, self.before))
        extra = self.extra / slope if slope > 0 else 0.0
        return RunSpread(before, _arcsine(self.now), self.cases, None, extra)

    def detectable(self, rate: float, alpha: float, power: float) -> float | None:
        """The smallest loss that shows with this power; None if none does. As sure as the spread of so few runs is."""
        between = max(self.variance, self.chance or 0.0)
        if self.chance and 0 < rate < 1:
            return detectable_between(rate, between, self.chance, self.runs, alpha, power)
        return self.margin(1 - alpha) + self.margin(power)

    def margin(self, level: float) -> float:
        """What one more unchanged run stays within, to one side, with this chance."""
        return math.sqrt(self.squared_error) * student_t_quantile(level, self.df) if self.squared_error else 0.0


def spread_of_passes(
    before: Sequence[Counts], now: Counts, weights: Mapping[int, float] | None = None
) -> RunSpread | None:
    """Of pass rates; None below three runs, or where no case was judged in all of them.

    A run's mean is that of its cases' shares, by weight. Only cases with a judged trial in every run count: means over
    different cases would differ by the cases.
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
    """Of scores, or of logarithms of times and costs (turned, so that below is worse), one figure per case and run."""
    shared = shared_cases([*before, now], weights)
    if len(before) < FEWEST_RUNS or not shared:
        return None
    weighing = _normed(shared, weights)
    means = [weighted_mean((run[case], weight) for case, weight in weighing.items()) for run in (*before, now)]
    return RunSpread(tuple(means[:-1]), means[-1], len(shared))


def shared_cases(runs: Sequence[Mapping[int, object]], weights: Mapping[int, float] | None = None) -> list[int]:
    """Those that every run has figures for, in the last one's order; what weighs nothing is left out."""
    *before, now = runs
    return [
        case for case in now if all(case in run for run in before) and (weights is None or weights.get(case, 1.0) > 0)
    ]


def one_more_run(spread: RunSpread) -> PValues:
    """Student's test: could the new run be one more of the runs of the baseline?

    Of shares the larger p of the test on their own scale and on that of arcsines: near 1 noise reaches farther down
    than up, which the former alone takes for a loss in 6 to 9 of 100 unchanged runs. Where the runs do not vary at
    all, every difference is more than they explain; the test over cases then decides.
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
    """Both must be convinced. So each p-value is at least that of either test."""
    if over_runs is None:
        return over_cases
    return replace(
        over_cases,
        p_less=max(over_cases.p_less, over_runs.p_less),
        p_greater=max(over_cases.p_greater, over_runs.p_greater),
        method=f"the larger p of {over_cases.method} and {over_runs.method}",
    )


def wider(found: PairedDifference, spread: RunSpread | None, span: float = 1.0) -> PairedDifference:
    """The interval over cases, no narrower than what one more run may differ by: it agrees with `larger`."""
    if spread is None:
        return found
    two_sided, one_sided = spread.margin((1 + found.level) / 2), spread.margin(found.level)
    low, high = min(found.low, found.mean - two_sided), max(found.high, found.mean + two_sided)
    bound = min(found.lower_bound, found.mean - one_sided)
    is_wider = low < found.low or high > found.high
    return replace(
        found,
        low=max(-span, low),
        high=min(span, high),
        lower_bound=max(-span, bound),
        method=f"Student's t over {spread.runs} runs, wider than {found.method}" if is_wider else found.method,
    )


def smallest_p_between(spread: RunSpread, worst: float = 0.0) -> float:
    """The p-value of the worst possible new run: join it by max with that of the test over cases."""
    return one_more_run(replace(spread, now=worst)).p_less


# What such a comparison can show.


def power_between(drop: float, rate: float, between: float, chance: float, runs: int, alpha: float = ALPHA) -> float:
    """How often the larger p shows a drop from `rate`, if a run's mean varies by `between` and `chance` of that.

    Variances both: `chance` is that of the trials, and where the two are equal there is no other noise. By the normal
    law for means, integrated over what so few runs may show of their own variance. Simulated within .03 of the truth at
    a rate of .7 (50 x 4; 3, 5 and 8 runs); at .95 up to .075 too low and never more than .01 too high.
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
    """The smallest drop found with this power, None if none is; as sure as `between`, of which few runs say little."""
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
    """Equally likely values of s/σ, one from the middle of each of many slices of the law of chi²."""
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


# What a history of runs shows.


@dataclass(frozen=True, slots=True)
class NoiseBetweenRuns:
    """`sd` is that of the runs' true pass rates beyond their trials' chance, `sd_by_chance` that of the latter.

    Both as shares: times 100 they are points. `low` to `high` is the interval of `sd`. `is_shown` where so much
    spread is rare (`p` <= alpha) if only trials vary.
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
    """From finished runs of one target and equal cases; None where they are too few, or hardly ever disagree.

    Given the passes of a case in all runs together, chance alone says which run they fell to: that gives the spread to
    expect, exactly. How much more there is, is measured by the law of chi², a good guide where enough trials vary.
    """
    if len(runs) < FEWEST_RUNS_OF_HISTORY:
        return None
    shared = shared_cases(runs, weights)
    if not shared:
        return None
    weighing = _normed(shared, weights)
    variances = {case: _trial_variance([run[case] for run in runs]) for case in shared}
    # Cases that always pass or always fail say nothing about chance; too few others, and the law of chi² is off.
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

    Against one run or the pool of several alike: the new run has its own noise, which no pool takes away. A little too
    high for few trials, which keep the exact test below its level.
    """
    if not sd_by_chance > 0:
        return alpha
    inflation = math.sqrt(1 + (sd / sd_by_chance) ** 2)
    return NormalDist().cdf(NormalDist().inv_cdf(alpha) / inflation)


def chi2_above(x: float, df: int) -> float:
    """P(chi² > x), in closed form for whole degrees of freedom."""
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
    """Each case's share of all weights."""
    if weights is None:
        return dict.fromkeys(cases, 1 / len(cases))
    largest = max(weights.get(case, 1.0) for case in cases)
    scaled = {case: weights.get(case, 1.0) / largest for case in cases}
    total = math.fsum(scaled.values())
    return {case: weight / total for case, weight in scaled.items()}


def _mean_share(run: Counts, weighing: Mapping[int, float]) -> float:
    return math.fsum(weight * run[case][1] / run[case][0] for case, weight in weighing.items())


def _trial_variance(counts: Sequence[tuple[int, int]]) -> float:
    """Of one trial of a case, from all runs together: what falling to the runs by chance makes of their totals."""
    n, c = (sum(each) for each in zip(*counts, strict=True))
    return c * (n - c) / (n * (n - 1)) if n > 1 else 0.0


def _chance_variance(run: Counts, variances: Mapping[int, float], weighing: Mapping[int, float]) -> float:
    return math.fsum(weight * weight * variances[case] / run[case][0] for case, weight in weighing.items())
