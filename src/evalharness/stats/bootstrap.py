"""Bootstrap intervals over items: how much would a figure change with another sample of such cases?

Whole items (cases with all their trials or ratings) are resampled, never single trials. The bounds are percentiles for
few items and bias-corrected and accelerated (BCa) from 50 items on. For pass rates, use `intervals.py`: near 0 and 1, a
bootstrap of few cases gives intervals that are far too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist, fmean
from typing import TypeVar

from evalharness.errors import UsageError
from evalharness.stats.intervals import upper_probability
from evalharness.stats.medians import quantile
from evalharness.stats.thresholds import LEVEL

Item = TypeVar("Item")
Statistic = Callable[[Sequence[Item]], float | None]

FEWEST_FOR_BCA = 50
FEWEST_RESAMPLES = 100


@dataclass(frozen=True, slots=True)
class BootstrapInterval:
    """The bounds, computed without the `undefined` resamples, for which the figure does not exist."""

    low: float
    high: float
    level: float
    method: str
    seed: int
    resamples: int
    undefined: int


def bootstrap_interval(
    items: Sequence[Item],
    statistic: Statistic[Item],
    *,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> BootstrapInterval | None:
    """The interval; None with fewer than two items, or if the figure is undefined for all items or for most resamples.

    Equal input always gives equal bounds.
    """
    upper_probability(level)
    if resamples < FEWEST_RESAMPLES:
        raise UsageError(f"a bootstrap needs at least {FEWEST_RESAMPLES} resamples, got {resamples}")
    value = statistic(items) if len(items) > 1 else None
    if value is None:
        return None
    figures = resampled(items, statistic, resamples, seed)
    if 2 * len(figures) < resamples:
        return None
    bounds, method = None, "BCa bootstrap"
    if len(items) >= FEWEST_FOR_BCA:
        bounds = bca_bounds(value, figures, _leave_one_out(items, statistic), level)
    if bounds is None:
        bounds, method = percentile_bounds(figures, level), "percentile bootstrap"
    return BootstrapInterval(*bounds, level, method, seed, resamples, resamples - len(figures))


def resampled(items: Sequence[Item], statistic: Statistic[Item], resamples: int, seed: int) -> list[float]:
    """The sorted figures of `resamples` draws with replacement, without draws for which the figure is undefined."""
    random = Random(seed)
    figures = (statistic(random.choices(items, k=len(items))) for _ in range(resamples))
    return sorted(figure for figure in figures if figure is not None)


def percentile_bounds(figures: Sequence[float], level: float) -> tuple[float, float]:
    """The middle `level` of the resampled figures."""
    return quantile(figures, (1 - level) / 2), quantile(figures, upper_probability(level))


def bca_bounds(
    value: float, figures: Sequence[float], left_out: Sequence[float], level: float
) -> tuple[float, float] | None:
    """Percentiles corrected for bias (figures on one side of `value`) and skew (`left_out`: without each item in turn).

    None if a correction is undefined: all figures lie on one side, or no item makes a difference.
    """
    below = math.fsum((figure < value) + 0.5 * (figure == value) for figure in figures) / len(figures)
    centre = fmean(left_out) if left_out else 0.0
    deviations = [centre - figure for figure in left_out]
    squares = math.fsum(deviation**2 for deviation in deviations)
    if not 0 < below < 1 or squares <= 1e-24 * centre * centre:
        return None
    normal = NormalDist()
    bias = normal.inv_cdf(below)
    acceleration = math.fsum(deviation**3 for deviation in deviations) / (6 * squares**1.5)

    def bound(probability: float) -> float | None:
        shifted = bias + normal.inv_cdf(probability)
        scale = 1 - acceleration * shifted
        return quantile(figures, normal.cdf(bias + shifted / scale)) if scale > 0 else None

    low, high = bound((1 - level) / 2), bound(upper_probability(level))
    return None if low is None or high is None else (low, high)


def _leave_one_out(items: Sequence[Item], statistic: Statistic[Item]) -> list[float]:
    everything = list(items)
    figures = (statistic(everything[:i] + everything[i + 1 :]) for i in range(len(everything)))
    return [figure for figure in figures if figure is not None]
