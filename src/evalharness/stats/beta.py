"""The beta distribution: its distribution function I_x(a, b), its quantile, and log B(a, b).

Accurate to about 1e-10 relative for parameters up to 1e9. It also gives binomial tails: of n trials with chance p, at
least k pass with probability I_p(k, n - k + 1). The intervals that use this are in `intervals.py`.
"""

from __future__ import annotations

import math

from evalharness.errors import HarnessError, UsageError

LARGEST_PARAMETER = 1e9
_MAX_STEPS = 20_000
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_STIRLING_COEFFICIENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def regularised_beta(x: float, a: float, b: float) -> float:
    """I_x(a, b): the chance that a Beta(a, b) variable is at most x."""
    _check_parameters(a, b)
    if not 0 <= x <= 1:
        raise UsageError(f"x must be between 0 and 1, got {x}")
    return regularised_beta_split(a, b, x, 1 - x)


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p."""
    _check_parameters(a, b)
    if not 0 < p < 1:
        raise UsageError(f"a quantile needs a probability between 0 and 1, got {p}")
    if p > 0.5:  # computing the smaller tail keeps its digits
        return _share(-_log_odds(1 - p, b, a))
    return _share(_log_odds(p, a, b))


def log_beta(a: float, b: float) -> float:
    """log B(a, b), without the cancellation that a difference of log Γ suffers from for large parameters."""
    _check_parameters(a, b)
    small, large = sorted((a, b))
    n = a + b
    remainders = _stirling_remainder(a) + _stirling_remainder(b) - _stirling_remainder(n)
    powers = small * math.log(small / n) - large * math.log1p(small / large)
    return powers + 0.5 * math.log(n / small / large) + _HALF_LOG_TWO_PI + remainders


def regularised_beta_split(a: float, b: float, x: float, y: float) -> float:
    """I_x(a, b) with y = 1 - x passed in, because the smaller of the two must not be a rounded difference."""
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    if a * y < b * x:  # the fraction converges fast only below the mean
        return 1 - beta_weight(b, a, y, x) / _beta_fraction(b, a, y, x)
    return beta_weight(a, b, x, y) / _beta_fraction(a, b, x, y)


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


def beta_weight(a: float, b: float, x: float, y: float) -> float:
    """x^a · y^b / B(a, b), arranged so that large logarithms cancel on paper and not in floating point."""
    n = a + b
    excess = a * y - b * x
    exponent = a * _log_of_ratio(x * n / a, -excess / a) + b * _log_of_ratio(y * n / b, excess / b)
    remainders = _stirling_remainder(n) - _stirling_remainder(a) - _stirling_remainder(b)
    return math.sqrt(a / n * b / (2 * math.pi)) * math.exp(exponent + remainders)


def _log_of_ratio(ratio: float, ratio_minus_one: float) -> float:
    return math.log1p(ratio_minus_one) if abs(ratio_minus_one) < 0.5 else math.log(ratio)


def _stirling_remainder(z: float) -> float:
    """log Γ(z) minus Stirling's formula (z - ½)·log z - z + ½·log 2π."""
    if z < 10:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + _HALF_LOG_TWO_PI)
    return math.fsum(c / z ** (2 * i + 1) for i, c in enumerate(_STIRLING_COEFFICIENTS))


def _log_odds(p: float, a: float, b: float) -> float:
    """log(x / (1 - x)) of the p-quantile, for p up to ½.

    log I is concave in the log odds, so a Newton step from the left never jumps past the root. The search starts where
    the asymptote of log I on the far left reaches log p, which is left of the root. Where I rounds to 0, steps are
    halved.
    """
    value = leftmost = (math.log(p) + math.log(a) + log_beta(a, b)) / a
    right = math.log(a / b)
    for _ in range(_MAX_STEPS):
        x, y = _share(value), _share(-value)
        if x == 0:
            return value  # smaller than the smallest float
        reached = regularised_beta_split(a, b, x, y)
        if reached == 0:
            value = (value + right) / 2
            continue
        missing = math.log(p) - math.log(reached)
        right, value = value, max(leftmost, value + missing * reached / beta_weight(a, b, x, y))
        if abs(missing) < 1e-7:  # each step squares the error
            return value
    raise HarnessError(f"the beta quantile did not converge for {p} of {a}, {b}")


def _share(log_odds: float) -> float:
    if log_odds > 0:
        return 1 / (1 + math.exp(-log_odds))
    odds = math.exp(log_odds)
    return odds / (1 + odds)


def _check_parameters(a: float, b: float) -> None:
    if not (0 < a <= LARGEST_PARAMETER and 0 < b <= LARGEST_PARAMETER):
        raise UsageError(f"both beta parameters must be positive and at most {LARGEST_PARAMETER:g}, got {a} and {b}")
