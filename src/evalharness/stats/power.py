"""Planning: how many new cases show a difference of a given size, and which difference a number of cases shows.

Differences vary from case to case, so more trials cannot make up for too few cases. All sizes use the normal
approximation. For the power on the given cases, where only chance within cases counts, see `exact_power.py`.
"""

from __future__ import annotations

import math

from evalharness.errors import UsageError
from evalharness.stats.student import normal_quantile
from evalharness.stats.thresholds import ALPHA, POWER


def mde_sampled_cases(
    cases: float, difference_variance: float, var_a: float, var_b: float, k_a: float, k_b: float,
    alpha: float = ALPHA, power: float = POWER,
) -> float:  # fmt: skip
    """The smallest mean difference between two runs on the same cases that a two-sided test finds with this power.

    `difference_variance` is the variance of the cases' true differences, `var_a` and `var_b` are the variances of one
    trial within a case, `k_a` and `k_b` the trials per case (`math.inf` is allowed).
    """
    _check_positive(cases=cases)
    spread = _paired_variance(difference_variance, var_a, var_b, k_a, k_b)
    return _reach(alpha, power) * math.sqrt(spread / cases)


def _paired_variance(difference_variance: float, var_a: float, var_b: float, k_a: float, k_b: float) -> float:
    _check_variances(difference_variance, var_a, var_b)
    _check_positive(k_a=k_a, k_b=k_b)
    return difference_variance + var_a / k_a + var_b / k_b


def _reach(alpha: float, power: float) -> float:
    """The size of a difference, in standard errors, that is found with this power."""
    return math.fsum(_quantiles(alpha, power, two_sided=True))


def _quantiles(alpha: float, power: float, two_sided: bool) -> tuple[float, float]:
    if not (0 < alpha < 0.5 and 0.5 <= power < 1):
        raise UsageError(f"needs alpha between 0 and 0.5 and power from 0.5 to below 1, got {alpha} and {power}")
    return normal_quantile(1 - (alpha / 2 if two_sided else alpha)), normal_quantile(power)


def _check_positive(**sizes: float) -> None:
    for name, size in sizes.items():
        if not size > 0:
            raise UsageError(f"{name.replace('_', ' ')} must be above 0, got {size}")


def _check_variances(*variances: float) -> None:
    if not all(0 <= variance < math.inf for variance in variances):
        raise UsageError(f"a variance must be a finite number and at least 0, got {', '.join(map(str, variances))}")
