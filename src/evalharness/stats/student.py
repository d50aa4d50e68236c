"""Student's t distribution and the normal quantile.

Accurate to 1e-10 relative (both tails, df from 1 to 1e6), so that no numerical library is needed at run time. The beta
function that it uses is in `beta.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from evalharness.errors import HarnessError, UsageError
from evalharness.stats.beta import LARGEST_PARAMETER, beta_weight, regularised_beta_split

_SMALLEST_TAIL = 1e-300
_MAX_STEPS = 20_000


def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p."""
    if not 0 < p < 1:
        raise UsageError(f"a quantile needs a probability between 0 and 1, got {p}")
    return NormalDist().inv_cdf(p)


def student_t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p."""
    _check_df(df)
    if not _SMALLEST_TAIL <= p < 1:
        raise UsageError(f"a quantile needs a probability between {_SMALLEST_TAIL} and 1, got {p}")
    if p > 0.5:
        return -student_t_quantile(1 - p, df)
    if p == 0.5:
        return 0.0
    if df == 1:
        return -1 / math.tan(math.pi * p) if p < 0.25 else math.tan(math.pi * (p - 0.5))
    return -_t_beyond(p, df) if p < 0.25 else -_t_within(1 - 2 * p, df)


def student_t_below(t: float, df: float) -> float:
    """P(T <= t)."""
    _check_df(df)
    outside, inside = _split(t, df)
    tail = regularised_beta_split(df / 2, 0.5, outside, inside) / 2 if t else 0.5
    return tail if t < 0 else 1 - tail


def _t_beyond(tail: float, df: float) -> float:
    """The t > 0 with P(T > t) = tail."""

    # log P is convex in v = log(1 + t²/df), and the normal quantile lies below t: no step jumps past the root.
    def step(v: float) -> float:
        outside, inside = math.exp(-v), -math.expm1(-v)
        reached = regularised_beta_split(df / 2, 0.5, outside, inside)
        fall = beta_weight(df / 2, 0.5, outside, inside) / (inside * reached)
        return math.log(reached / (2 * tail)) / fall

    return math.sqrt(df * math.expm1(_newton(step, math.log1p(normal_quantile(tail) ** 2 / df))))


def _t_within(centre: float, df: float) -> float:
    """The t > 0 with P(|T| < t) = centre; near the median, the tail would determine t poorly."""

    # P is concave in t, and its tangent at 0 is flatter than the normal distribution's: no step jumps past the root.
    def step(t: float) -> float:
        outside, inside = _split(t, df)
        rise = 2 * beta_weight(0.5, df / 2, inside, outside) / t
        return (centre - regularised_beta_split(0.5, df / 2, inside, outside)) / rise

    return _newton(step, centre * math.sqrt(math.pi / 2))


def _newton(step: Callable[[float], float], start: float) -> float:
    value = start
    for _ in range(_MAX_STEPS):
        change = step(value)
        value += change
        if abs(change) <= 1e-11 * value:
            return value
    raise HarnessError("Student's quantile did not converge")


def _split(t: float, df: float) -> tuple[float, float]:
    """df/(df + t²) and t²/(df + t²), without overflow."""
    ratio = t / math.sqrt(df)
    length = math.hypot(1, ratio)
    return (1 / length) ** 2, (ratio / length) ** 2


def _check_df(df: float) -> None:
    if not 1 <= df <= LARGEST_PARAMETER:
        raise UsageError(f"degrees of freedom must be between 1 and {LARGEST_PARAMETER:g}, got {df}")
