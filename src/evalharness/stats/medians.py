"""Median and quantiles, for figures without an upper limit such as latency and cost.

A few slow trials distort a mean and its standard error, so neither is offered here. Values must be independent: one per
case, not one per trial. For rates and scores between 0 and 1 see `intervals.py`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.errors import UsageError
from evalharness.stats.beta import regularised_beta
from evalharness.stats.intervals import upper_probability
from evalharness.stats.thresholds import LEVEL


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its interval; the bounds are None if the values say nothing about their spread.

    `level` is the level that the interval reaches. For a median this is at least the requested one, unless there are
    too few values to reach it.
    """

    value: float
    low: float | None
    high: float | None
    level: float
    method: str


def median(values: Sequence[float], level: float = LEVEL) -> Estimate | None:
    """The median, with two of the values as bounds, chosen by rank; valid for any distribution."""
    tail = 1 - upper_probability(level)
    ordered = _sorted(values)
    n = len(ordered)
    if n == 0:
        return None
    value = quantile(ordered, 0.5)
    if n == 1:
        return Estimate(value, None, None, 0.0, "one value only")

    def chance_below(rank: int) -> float:
        """The chance that fewer than `rank` of n values lie below the median."""
        return regularised_beta(0.5, n - rank + 1, rank) if rank else 0.0

    # The narrowest symmetric pair of ranks that reaches the level, or the outermost pair.
    rank = max(1, bisect_right(range(n // 2 + 1), tail + 1e-12, key=chance_below) - 1)
    reached = 1 - 2 * chance_below(rank)
    return Estimate(value, ordered[rank - 1], ordered[n - rank], reached, f"order statistics {rank} and {n - rank + 1}")


def quantile(values: Sequence[float], p: float) -> float:
    """The value below which a share p of the values lies, interpolated between neighbours: p95 is quantile(…, 0.95)."""
    if not 0 <= p <= 1:
        raise UsageError(f"a quantile needs a share from 0 to 1, got {p}")
    if not values:
        raise UsageError("a quantile needs at least one value")
    ordered = _sorted(values)
    position = p * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def _sorted(values: Sequence[float]) -> list[float]:
    if not all(-math.inf < value < math.inf for value in values):
        raise UsageError("every value must be a finite number")
    return sorted(values)
