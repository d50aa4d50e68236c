"""Exact statements about a rate from independent trials: intervals, and what a run without a failure proves.

Clopper and Pearson's interval never covers less than it says, at the price of width. The equal-tailed interval of a
uniform prior is narrower, and right on average over all rates. The default of reports is clustered Wilson, in
`intervals.py`, because trials of one case are not independent.
"""

from __future__ import annotations

import math

from evalharness.errors import UsageError
from evalharness.stats.beta import beta_quantile
from evalharness.stats.intervals import Interval, upper_probability


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval:
    """The rates that `successes` of `n` do not refute at either side."""
    upper, lower = _check(successes, n, level)
    failures = n - successes
    return Interval(
        low=beta_quantile(lower, successes, failures + 1) if successes else 0.0,
        high=beta_quantile(upper, successes + 1, failures) if failures else 1.0,
        level=level,
        method="Clopper-Pearson",
        n_eff=float(n),
    )


def uniform_beta(successes: int, n: int, level: float = 0.95) -> Interval:
    """The middle `level` of what is believed about the rate when every rate was equally likely before."""
    upper, lower = _check(successes, n, level)
    return Interval(
        low=beta_quantile(lower, successes + 1, n - successes + 1),
        high=beta_quantile(upper, successes + 1, n - successes + 1),
        level=level,
        method="uniform Beta",
        n_eff=float(n),
    )


def zero_failures_bound(n: int, level: float = 0.95) -> float:
    """The failure rate that n trials without a failure rule out: at 95 % about 3/n."""
    upper_probability(level)
    if n < 1:
        raise UsageError(f"a bound needs at least one trial, got {n}")
    return -math.expm1(math.log1p(-level) / n)


def trials_to_certify(rate: float, level: float = 0.95) -> int:
    """How many trials, all of them passing, show that the pass rate is at least `rate`."""
    upper_probability(level)
    if not 0 < rate < 1:
        raise UsageError(f"a pass rate that trials can certify lies between 0 and 1, got {rate}")
    # 1 - level is rounded: 2.0000000000000004 trials are 2.
    return math.ceil(math.log1p(-level) / math.log(rate) * (1 - 1e-12))


def _check(successes: int, n: int, level: float) -> tuple[float, float]:
    """The probabilities at both ends of an interval."""
    if not (n > 0 and 0 <= successes <= n):
        raise UsageError(f"an interval needs 0 <= successes <= n and n > 0, got {successes} and {n}")
    return upper_probability(level), (1 - level) / 2
