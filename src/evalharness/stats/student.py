"""Student's t distribution, the regularised incomplete beta function beneath it, and the normal quantile.

Accurate to 1e-10 relative (both tails, df from 1 to 1e6), so that no numerical library is needed at run time.
Not a statistics library: other distributions and all tests built on these live elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from evalharness.errors import HarnessError, UsageError

_SMALLEST_TAIL = 1e-300
_LARGEST_PARAMETER = 1e9
_MAX_STEPS = 20_000
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_STIRLING_COEFFICIENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p."""
    if not 0 < p < 1:
        raise UsageError(f"a quantile needs a probability between 0 and 1, got {p}")
    return NormalDist().inv_cdf(p)


def student_t_cdf(t: float, df: int) -> float:
    """P(T <= t) with df degrees of freedom; the lower tail keeps its relative accuracy."""
    _check_df(df)
    if math.isnan(t):
        raise UsageError("t must be a number")
    if math.isinf(t):
        return float(t > 0)
    if df == 1:  # Cauchy: its tail outlives the square of t
        return 0.5 + math.atan(t) / math.pi if t > -1 else math.atan(-1 / t) / math.pi
    outside, inside = _split(t, df)
    tail = 0.5 * _regularised_beta(df / 2, 0.5, outside, inside)
    return tail if t <= 0 else 1 - tail


def student_t_quantile(p: float, df: int) -> float:
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


def regularised_beta(x: float, a: float, b: float) -> float:
    """I_x(a, b): the chance that a Beta(a, b) variable is at most x."""
    if not (0 < a <= _LARGEST_PARAMETER and 0 < b <= _LARGEST_PARAMETER):
        raise UsageError(f"both beta parameters must be positive and at most {_LARGEST_PARAMETER:g}, got {a} and {b}")
    if not 0 <= x <= 1:
        raise UsageError(f"x must lie between 0 and 1, got {x}")
    return _regularised_beta(a, b, x, 1 - x)


def _t_beyond(tail: float, df: int) -> float:
    """The t > 0 with P(T > t) = tail."""

    # log P is convex in v = log(1 + t²/df), and the normal quantile lies below t: no step leaps over the root.
    def step(v: float) -> float:
        outside, inside = math.exp(-v), -math.expm1(-v)
        reached = _regularised_beta(df / 2, 0.5, outside, inside)
        fall = _beta_weight(df / 2, 0.5, outside, inside) / (inside * reached)
        return math.log(reached / (2 * tail)) / fall

    return math.sqrt(df * math.expm1(_newton(step, math.log1p(normal_quantile(tail) ** 2 / df))))


def _t_within(centre: float, df: int) -> float:
    """The t > 0 with P(|T| < t) = centre; around the median its tail would say little about t."""

    # P is concave in t, and its tangent at 0 is flatter than the normal law's: no step leaps over the root.
    def step(t: float) -> float:
        outside, inside = _split(t, df)
        rise = 2 * _beta_weight(0.5, df / 2, inside, outside) / t
        return (centre - _regularised_beta(0.5, df / 2, inside, outside)) / rise

    return _newton(step, centre * math.sqrt(math.pi / 2))


def _newton(step: Callable[[float], float], start: float) -> float:
    value = start
    for _ in range(_MAX_STEPS):
        change = step(value)
        value += change
        if abs(change) <= 1e-11 * value:
            return value
    raise HarnessError("Student's quantile did not converge")


def _split(t: float, df: int) -> tuple[float, float]:
    """df/(df + t²) and t²/(df + t²), without overflow."""
    ratio = t / math.sqrt(df)
    length = math.hypot(1, ratio)
    return (1 / length) ** 2, (ratio / length) ** 2


def _regularised_beta(a: float, b: float, x: float, y: float) -> float:
    """I_x(a, b) with y = 1 - x handed in, because the smaller of the two must not be a rounded difference."""
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    if a * y < b * x:  # the fraction converges fast below the mean only
        return 1 - _beta_weight(b, a, y, x) / _beta_fraction(b, a, y, x)
    return _beta_weight(a, b, x, y) / _beta_fraction(a, b, x, y)


def _beta_fraction(a: float, b: float, x: float, y: float) -> float:
    """The continued fraction of DiDonato and Morris, by Lentz's method.

    The textbook fraction subtracts nearly equal numbers when a is large and x close to 1; this one does not.
    """
    excess = a * y - b * x
    value = numerator = a * (excess + 1) / (a + 1)
    inverse = 0.0
    for n in range(1, _MAX_STEPS):
        odd = a + 2 * n - 1
        pull = n * (b - n) * x / odd
        partial = (a + n - 1) * (a + b + n - 1) * x / odd * pull
        term = n + pull + (a + n) * (excess + 1 + n * (1 + y)) / (odd + 2)
        inverse = 1 / (term + partial * inverse)
        numerator = term + partial / numerator
        change = numerator * inverse
        value *= change
        if abs(change - 1) < 1e-15:
            return value
    raise HarnessError(f"the incomplete beta function did not converge for {a}, {b} at {x}")


def _beta_weight(a: float, b: float, x: float, y: float) -> float:
    """x^a · y^b / B(a, b), arranged so that large logarithms cancel on paper and not in floating point."""
    n = a + b
    excess = a * y - b * x
    exponent = a * _log_of_ratio(x * n / a, -excess / a) + b * _log_of_ratio(y * n / b, excess / b)
    remainders = _stirling_remainder(n) - _stirling_remainder(a) - _stirling_remainder(b)
    return math.sqrt(a / n * b / (2 * math.pi)) * math.exp(exponent + remainders)


def _log_of_ratio(ratio: float, ratio_minus_one: float) -> float:
    return math.log1p(ratio_minus_one) if abs(ratio_minus_one) < 0.5 else math.log(ratio)


def _stirling_remainder(z: float) -> float:
    """What Stirling's formula (z - ½)·log z - z + ½·log 2π leaves of log Γ(z)."""
    if z < 10:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + _HALF_LOG_TWO_PI)
    return math.fsum(c / z ** (2 * i + 1) for i, c in enumerate(_STIRLING_COEFFICIENTS))


def _check_df(df: int) -> None:
    if not 1 <= df <= _LARGEST_PARAMETER:
        raise UsageError(f"degrees of freedom must lie between 1 and {_LARGEST_PARAMETER:g}, got {df}")
