"""Confidence intervals for a rate: Wilson's for independent trials, a Bayesian bootstrap for trials grouped by case.

Trials of one case resemble each other, so they carry less information than independent ones. The bootstrap gives whole
cases random weights and adds one imagined case. Unlike mean ± t·SE, it therefore keeps a width even if all cases agree.
Exact intervals for independent trials are at the end. For values outside [0, 1] (cost, latency) see `medians.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.errors import UsageError
from evalharness.stats.beta import beta_quantile
from evalharness.stats.means import weighted_mean
from evalharness.stats.random_means import Masses, low_quantile, mean_of
from evalharness.stats.student import normal_quantile
from evalharness.stats.thresholds import LEVEL


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
        raise UsageError(f"a confidence level lies between 0 and 1, got {level}")
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
        raise UsageError("every estimate must lie between 0 and 1")
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
