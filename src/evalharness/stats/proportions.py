"""Exact intervals for a rate from independent trials, against which the default interval is measured.

Clopper and Pearson's interval never covers less than it says, at the price of width. The equal-tailed interval of a
uniform prior is narrower, and right on average over all rates. The default of reports is clustered Wilson, in
`intervals.py`, because trials of one case are not independent.
"""

from __future__ import annotations

from evalharness.errors import UsageError
from evalharness.stats.beta import beta_quantile
from evalharness.stats.intervals import Interval, upper_probability
from evalharness.stats.thresholds import LEVEL


def clopper_pearson(successes: int, n: int, level: float = LEVEL) -> Interval:
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


def uniform_beta(successes: int, n: int, level: float = LEVEL) -> Interval:
    """The middle `level` of what is believed about the rate when every rate was equally likely before."""
    upper, lower = _check(successes, n, level)
    return Interval(
        low=beta_quantile(lower, successes + 1, n - successes + 1),
        high=beta_quantile(upper, successes + 1, n - successes + 1),
        level=level,
        method="uniform Beta",
        n_eff=float(n),
    )


def _check(successes: int, n: int, level: float) -> tuple[float, float]:
    """The probabilities at both ends of an interval."""
    if not (n > 0 and 0 <= successes <= n):
        raise UsageError(f"an interval needs 0 <= successes <= n and n > 0, got {successes} and {n}")
    return upper_probability(level), (1 - level) / 2
