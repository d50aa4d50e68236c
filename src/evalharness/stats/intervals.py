"""Confidence intervals for a rate: Wilson's for independent trials, a Bayesian bootstrap for trials grouped by case.

Trials of one case resemble each other, so they carry less information than independent ones. The bootstrap gives whole
cases random weights and adds one imagined case. Unlike mean ± t·SE, it therefore keeps a width even if all cases agree.
Exact intervals for independent trials are at the end. For values outside [0, 1] (cost, latency) see `medians.py`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evalharness.errors import UsageError
from evalharness.stats.beta import beta_quantile
from evalharness.stats.means import weighted_mean
from evalharness.stats.student import normal_quantile
from evalharness.stats.thresholds import LEVEL

IMAGINED_FAILS = 0.75
"""The probability that the imagined case fails when the low end is computed, and passes when the high end is.

With 1 this is Gaffke's bound (Clopper and Pearson's with one trial per case), which covers more than its level. With
0.5 it is the mid-p version, which covers too little for some rates. docs/statistics.md has figures.
"""
Masses = Mapping[tuple[float, float], float]
"""The number of cases with this estimate and this weight."""

_MOST_CASES = 200
"""Up to so many cases are used exactly; with more, estimates and weights are placed on a grid."""
_STEPS, _STEPS_WITH_WEIGHTS = 240, 60
"""Steps of that grid. The shares of 2, 3, 4, 5, 6, 10, 12, 15 and 20 trials lie on both grids, so they stay exact."""
_MOST_WEIGHTS = 20
_LEAST_WEIGHT = 1e-9
_STEP = 0.2
_MOST_NODES, _MOST_MOVES = 1_000, 200
"""Limits for loops; never reached."""
_NEGLIGIBLE = 1e-14
_EXACT = 1e-12


def low_quantile(cases: Masses, tail: float) -> float:
    """The `tail` quantile of the random mean, one imagined case included; never above the mean itself.

    The imagined case weighs Σw²/Σw, so that all cases together count as (Σw)²/Σw² of its kind. The quantile lies
    between 0 and the mean.
    """
    mean = mean_of(cases)
    if mean <= 0:
        return 0.0
    total = math.fsum(weight * times for (_, weight), times in cases.items())
    imagined = math.fsum(weight * weight * times for (_, weight), times in cases.items()) / total
    masses = _on_a_grid(cases) if sum(cases.values()) > _MOST_CASES else dict(sorted(cases.items()))
    return _quantile_below(mean, tuple(masses.items()), imagined, tail)


@lru_cache(maxsize=256)  # a report, its gate and its verification need the same quantiles; the grid bounds their size
def _quantile_below(
    mean: float, places: tuple[tuple[tuple[float, float], float], ...], imagined: float, tail: float
) -> float:
    """The search uses the secant method, and bisects if a secant leaves the bracket from 0 to the mean."""
    masses = dict(places)

    def excess(rate: float) -> float:
        """How far the chance exceeds `tail`, on a scale on which the function is nearly linear."""
        return math.sqrt(-math.log(tail)) - math.sqrt(-math.log(max(chance_below(rate, masses, imagined), 1e-300)))

    low, high = 0.0, mean
    last, rate = mean, mean / 2
    at_last = excess(mean)
    if at_last <= 0:
        return mean
    for _ in range(_MOST_MOVES):
        found = excess(rate)
        low, high = (low, rate) if found > 0 else (rate, high)
        slope = (found - at_last) / (rate - last)
        moved = rate - found / slope if slope > 0 else high
        if abs(moved - rate) <= _EXACT * rate:
            return min(moved, mean)
        if not low < moved < high:
            moved = (low + high) / 2
        if not low < moved < high:  # no float lies between them
            break
        last, at_last, rate = rate, found, moved
    return low


def chance_below(rate: float, masses: Masses, imagined: float) -> float:
    """The chance that the mean with random weights, including the imagined case, lies below `rate`.

    That is the chance that Q = Σ wᵢEᵢ(eᵢ - rate) is negative, with Eᵢ exponential. Q's moment generating function is Π
    1/(1 - s·wᵢ(eᵢ - rate)), and P(Q < 0) is its integral over -s, along a line left of 0. The line crosses the real
    axis where the integrand is smallest, and the steps along it grow as sinh. The sum converges so fast that only
    rounding errors remain.
    """
    if rate >= 1:
        return 1.0
    terms = [(weight * (estimate - rate), mass) for (estimate, weight), mass in masses.items() if estimate != rate]
    fails, passes = -imagined * rate, imagined * (1 - rate)
    scale = -min(fails, min((term for term, _ in terms), default=0.0))
    terms = [(term / scale, mass) for term, mass in terms]
    fails, passes = fails / scale, passes / scale
    where, width, bend = _crossing([*terms, (fails, 1.0)])
    slopes = [(term / (1 - where * term), mass) for term, mass in terms]
    peak = math.exp(-math.fsum(mass * math.log1p(-where * term) for term, mass in terms)) / -where
    total = 0.0
    for node in range(_MOST_NODES):
        up, along = math.sinh(node * _STEP), math.cosh(node * _STEP)
        step = width * complex(bend * (1 - along), up)
        # The powers never cross a branch cut: above the real axis each base stays on its own side of it.
        value = peak / math.prod([(1 - step * slope) ** mass for slope, mass in slopes])
        point = where + step
        value *= IMAGINED_FAILS / (1 - point * fails) + (1 - IMAGINED_FAILS) / (1 - point * passes)
        value *= where / point * complex(along, bend * up)
        total += value.real if node else value.real / 2
        if node > 3 and abs(value) <= _NEGLIGIBLE * abs(total):
            break
    return min(1.0, max(0.0, total * width * _STEP / math.pi))


def _crossing(terms: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """The minimum of Π 1/(1 - s·term) / -s between its poles -1 and 0, its width there, and the bend of the path.

    The path follows the skewness, as the steepest descent does, so that the integrand does not oscillate along it. Many
    small terms against a few large ones act as an exponential function, which oscillates unless the path leans to their
    side. How much it leans was found by trial. The relative error of a probability is then below 1e-6, and below 1e-7
    at an interval's ends.
    """
    low, high, where = -1.0, 0.0, -0.5
    for _ in range(_MOST_MOVES):
        slopes = [(term / (1 - where * term), mass) for term, mass in terms]
        slope = sum(mass * each for each, mass in slopes) - 1 / where
        curvature = sum(mass * each * each for each, mass in slopes) + 1 / (where * where)
        low, high = (low, where) if slope > 0 else (where, high)
        moved = where - slope / curvature
        if not low < moved < high:
            moved = (low + high) / 2
        if abs(moved - where) <= 1e-3 * min(-moved, 1 + moved):  # any place gives the right result, this one is fast
            break
        where = moved
    third = 2 * sum(mass * each**3 for each, mass in slopes) - 2 / where**3
    width = 1 / math.sqrt(curvature)
    bend = -third * width**3 / 3
    above, below = (_effective([(t, mass) for t, mass in terms if t * side > 0]) for side in (1, -1))
    lean = min(0.8, 1.3 / math.sqrt(min(above, below) or 1.0)) * (above - below) / (above + below)
    return where, width, max(bend, lean) if lean > 0 else min(bend, lean)


def _effective(terms: Sequence[tuple[float, float]]) -> float:
    """The equivalent number of equal terms."""
    total = sum(mass * term for term, mass in terms)
    return total * total / sum(mass * term * term for term, mass in terms) if terms else 0.0


def mean_of(cases: Masses) -> float:
    return weighted_mean((estimate, weight * times) for (estimate, weight), times in cases.items())


def _on_a_grid(cases: Masses) -> Masses:
    """Place many cases on a grid to bound the time; a case between two grid points counts in part at both.

    The parts keep its estimate (and likewise its weight), so the mean stays exact; the interval gets a little wider.
    Raising an estimate moves a part of the case to the point above, which raises every random mean. Whether a grid is
    used depends on the number of cases and on their weights, never on outcomes.
    """
    levels = _levels({weight for _, weight in cases})
    steps = _STEPS if len(levels) == 1 else _STEPS_WITH_WEIGHTS
    rates = [step / steps for step in range(steps + 1)]
    masses: dict[tuple[float, float], float] = {}
    for (estimate, weight), times in sorted(cases.items()):
        for rate, part in _parts(estimate, rates):
            for level, share in _parts(max(weight, levels[0]), levels):
                masses[rate, level] = masses.get((rate, level), 0.0) + times * part * share
    return masses


def _levels(weights: Collection[float]) -> Sequence[float]:
    """The weights themselves if they are few, else a geometric sequence from the largest down to a negligible one."""
    if len(weights) <= _MOST_WEIGHTS:
        return sorted(weights)
    most = max(weights)
    ratio = max(min(weights) / most, _LEAST_WEIGHT) ** (1 / (_MOST_WEIGHTS - 1))
    return [most * ratio**level for level in reversed(range(_MOST_WEIGHTS))]


def _parts(value: float, grid: Sequence[float]) -> Iterable[tuple[float, float]]:
    """The grid points next to a value and the part that each gets; the value is their mean."""
    above = bisect_right(grid, value)
    if above == len(grid) or grid[above - 1] == value:
        return ((grid[above - 1], 1.0),)
    below = grid[above - 1]
    part = (value - below) / (grid[above] - below)
    return ((below, 1 - part), (grid[above], part))


@dataclass(frozen=True, slots=True)
class Interval:
    """`n_eff` is the number of independent trials whose mean would vary as much.

    It is None if all estimates are 0 or all are 1.
    """

    low: float
    high: float
    level: float
    method: str
    n_eff: float | None


def wilson(successes: float, n: float, level: float = LEVEL) -> Interval:
    """Wilson's score interval for `successes` in `n` independent trials."""
    if not (0 < n < math.inf and 0 <= successes <= n):
        raise UsageError(f"an interval needs 0 <= successes <= n and n > 0, got {successes} and {n}")
    quantile = normal_quantile(upper_probability(level))
    return _score_interval(successes / n, n, quantile, level, "Wilson")


def bootstrap_plus_one_case(
    estimates: Sequence[float],
    total_trials: int,
    level: float = LEVEL,
    weights: Sequence[float] | None = None,
) -> Interval | None:
    """The interval for the mean of one estimate per case (or cluster); None without estimates.

    Its ends are quantiles of the mean with random weights. One imagined case is added: mostly a failing one for the low
    end, a passing one for the high end. A lower estimate lowers every such mean, so it raises neither end. With weights
    the mean is weighted, and a case that outweighs the others reduces the effective number of cases. A single case has
    Wilson's interval over its trials; otherwise `total_trials` matters only for `n_eff`.
    """
    tail = 1 - upper_probability(level)
    _check(estimates, total_trials, weights)
    if not estimates:
        return None
    if len(estimates) == 1:
        quantile = normal_quantile(upper_probability(level))
        return _score_interval(estimates[0], total_trials, quantile, level, "Wilson (this case only)")
    weights = _scaled(weights or [1.0] * len(estimates))
    cases = Counter(zip(estimates, weights, strict=True))
    mirrored = Counter(zip([1 - estimate for estimate in estimates], weights, strict=True))
    return Interval(
        low=low_quantile(cases, tail),
        high=1 - low_quantile(mirrored, tail),
        level=level,
        method="Bayesian bootstrap plus one case",
        n_eff=_effective_trials(cases, total_trials),
    )


def upper_probability(level: float) -> float:
    """The probability whose quantile is the upper end of a two-sided interval of this level."""
    if not 0 < level < 1:
        raise UsageError(f"a confidence level must be between 0 and 1, got {level}")
    return (1 + level) / 2


def _effective_trials(cases: Masses, total_trials: int) -> float | None:
    """The effective number of trials, from the standard error over cases; it is not used for any interval."""
    if {estimate for estimate, _ in cases} in ({0.0}, {1.0}):
        return None
    mean = mean_of(cases)
    total = math.fsum(weight * times for (_, weight), times in cases.items())
    squares = math.fsum(weight * weight * times for (_, weight), times in cases.items())
    variance = weighted_mean(((estimate - mean) ** 2, weight * times) for (estimate, weight), times in cases.items())
    # (Σw)²/Σw² - 1, summed from its parts: the difference would round to 0 if one case outweighs all others.
    freedom = math.fsum(weight * (total - weight) * times for (_, weight), times in cases.items()) / squares
    # variance/freedom is the unbiased squared error of the weighted mean; sd²/M without weights.
    spread = mean * (1 - mean) * freedom
    return spread / variance if spread < total_trials * variance else float(total_trials)


def _score_interval(mean: float, n: float, quantile: float, level: float, method: str) -> Interval:
    return Interval(
        low=_score_bound(mean, n, quantile),
        high=1 - _score_bound(1 - mean, n, quantile),
        level=level,
        method=method,
        n_eff=float(n),
    )


def _score_bound(mean: float, n: float, quantile: float) -> float:
    """The lower end of the score interval, rewritten without a subtraction: exact at 0, never outside [0, mean]."""
    if mean == 0:
        return 0.0
    pull = quantile * quantile / (2 * n)
    return mean * mean / (mean + pull + quantile * math.sqrt(mean * (1 - mean) / n + pull / (2 * n)))


def _scaled(weights: Sequence[float]) -> list[float]:
    largest = max(weights)
    return [weight / largest for weight in weights]


def _check(estimates: Sequence[float], total_trials: int, weights: Sequence[float] | None) -> None:
    if not all(0 <= estimate <= 1 for estimate in estimates):
        raise UsageError("every estimate must be between 0 and 1")
    if total_trials < len(estimates):
        raise UsageError(f"{len(estimates)} estimates cannot come from {total_trials} trials")
    if weights is None:
        return
    if len(weights) != len(estimates):
        raise UsageError(f"{len(weights)} weights do not fit {len(estimates)} estimates")
    if not all(0 < weight < math.inf for weight in weights):
        raise UsageError("every weight must be a positive number", hint="leave out cases of weight 0 and their trials")


# Exact intervals for a rate from independent trials, used to check the default interval.
#
# Clopper and Pearson's interval never covers less than its level, but it is wide. The equal-tailed interval of a
# uniform prior is narrower, and has the right coverage on average over all rates. Reports use the bootstrap above,
# because trials of one case are not independent.


def clopper_pearson(successes: int, n: int, level: float = LEVEL) -> Interval:
    """The rates that neither tail rejects after `successes` in `n` trials."""
    upper, lower = _check_counts(successes, n, level)
    failures = n - successes
    return Interval(
        low=beta_quantile(lower, successes, failures + 1) if successes else 0.0,
        high=beta_quantile(upper, successes + 1, failures) if failures else 1.0,
        level=level,
        method="Clopper-Pearson",
        n_eff=float(n),
    )


def uniform_beta(successes: int, n: int, level: float = LEVEL) -> Interval:
    """The middle `level` of the posterior distribution of the rate, with a uniform prior."""
    upper, lower = _check_counts(successes, n, level)
    return Interval(
        low=beta_quantile(lower, successes + 1, n - successes + 1),
        high=beta_quantile(upper, successes + 1, n - successes + 1),
        level=level,
        method="uniform Beta",
        n_eff=float(n),
    )


def _check_counts(successes: int, n: int, level: float) -> tuple[float, float]:
    """The probabilities of the upper and the lower end of an interval."""
    if not (n > 0 and 0 <= successes <= n):
        raise UsageError(f"an interval needs 0 <= successes <= n and n > 0, got {successes} and {n}")
    return upper_probability(level), (1 - level) / 2
