"""How many cases and trials show a difference of a given size, and which difference a given run can show.

Two questions are kept apart. With fixed cases ("did it get worse on these cases?", what a gate asks, one-sided) only
the spread within cases counts, and trials help without end. With sampled cases ("would it be worse on others like
them?", two-sided) the differences vary from case to case, too, and no number of trials makes up for too few cases.
All sizes are planned with the normal law; the tests themselves are elsewhere.
"""

from __future__ import annotations

import math

from evalharness.errors import UsageError
from evalharness.stats.intervals import upper_probability
from evalharness.stats.student import normal_quantile

_LARGEST_SIZE = 1e12


def mde_fixed_cases(within: float, cases: int, trials: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest drop on these cases that a one-sided test finds with this power, both runs having `trials` each.

    `within` is `within_variance` of a run.
    """
    _check_positive(cases=cases, trials=trials)
    _check_variances(within)
    return _reach(alpha, power, two_sided=False) * math.sqrt(2 * within / trials / cases)


def mde_sampled_cases(
    cases: float, difference_variance: float, var_a: float, var_b: float, k_a: float, k_b: float,
    alpha: float = 0.05, power: float = 0.8,
) -> float:  # fmt: skip
    """The smallest mean difference between two runs on the same cases that a two-sided test finds with this power.

    `difference_variance` is that of the cases' true differences, `var_a` and `var_b` are the variances of one trial
    within a case, `k_a` and `k_b` the trials per case (`math.inf` is allowed).
    """
    _check_positive(cases=cases)
    spread = _paired_variance(difference_variance, var_a, var_b, k_a, k_b)
    return _reach(alpha, power, two_sided=True) * math.sqrt(spread / cases)


def sample_size_paired(
    delta: float, difference_variance: float, var_a: float, var_b: float, k_a: float, k_b: float,
    alpha: float = 0.05, power: float = 0.8,
) -> int:  # fmt: skip
    """How many cases show a mean difference `delta`; the other way round from `mde_sampled_cases`."""
    _check_positive(delta=delta)
    spread = _paired_variance(difference_variance, var_a, var_b, k_a, k_b)
    return _rounded_up(spread, _reach(alpha, power, two_sided=True) / delta)


def sample_size_mcnemar(
    discordant: float, delta: float, alpha: float = 0.05, power: float = 0.8, *, two_sided: bool = True
) -> int:
    """Cases with one trial each that show a difference `delta` in pass rate.

    `discordant` is the share of cases on which the two runs disagree; it cannot be smaller than the difference.
    """
    if not 0 < delta <= discordant <= 1:
        raise UsageError(f"needs 0 < delta <= discordant <= 1, got {delta} and {discordant}")
    z_alpha, z_power = _quantiles(alpha, power, two_sided)
    root = z_alpha * math.sqrt(discordant) + z_power * math.sqrt(discordant - delta * delta)
    return _rounded_up(1, root / delta)


def sample_size_unpaired(
    p1: float, p2: float, alpha: float = 0.05, power: float = 0.8, *, two_sided: bool = True
) -> int:
    """Independent trials per run that tell pass rates p1 and p2 apart when the runs share no cases."""
    if not (0 <= p1 <= 1 and 0 <= p2 <= 1) or p1 == p2:
        raise UsageError(f"needs two different rates from 0 to 1, got {p1} and {p2}")
    z_alpha, z_power = _quantiles(alpha, power, two_sided)
    mean = (p1 + p2) / 2
    root = z_alpha * math.sqrt(2 * mean * (1 - mean)) + z_power * math.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    return _rounded_up(1, root / (p1 - p2))


def sample_size_half_width(half_width: float, rate: float = 0.5, level: float = 0.95) -> int:
    """Independent trials after which the interval of a rate near `rate` reaches this far to each side."""
    _check_positive(half_width=half_width)
    if not 0 < rate < 1:
        raise UsageError(f"needs a rate between 0 and 1, got {rate}")
    return _rounded_up(rate * (1 - rate), normal_quantile(upper_probability(level)) / half_width)


def trials_for_effect(
    effect: float,
    within: float,
    cases: int,
    *,
    difference_variance: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
    two_sided: bool = False,
) -> int | None:
    """The fewest trials per case and run that show `effect` on so many cases; None if more cases are needed.

    Without `difference_variance` the cases are fixed, and some number of trials always suffices.
    """
    _check_positive(effect=effect, cases=cases)
    _check_variances(within, difference_variance)
    # What the noise of trials may add before the effect drowns; exactly nothing left is rounding, not room.
    room = cases * (effect / _reach(alpha, power, two_sided)) ** 2 - difference_variance
    if within == 0 and room >= 0:
        return 1
    if room <= 1e-12 * difference_variance:
        return None
    return _rounded_up(2 * within / room)


def more_trials_help(between: float, within: float, trials: float) -> bool:
    """False once the noise of trials is below a quarter of the spread between cases: then only more cases help."""
    _check_positive(trials=trials)
    _check_variances(between, within)
    return within > 0 and within / trials >= between / 4


def _paired_variance(difference_variance: float, var_a: float, var_b: float, k_a: float, k_b: float) -> float:
    _check_variances(difference_variance, var_a, var_b)
    _check_positive(k_a=k_a, k_b=k_b)
    return difference_variance + var_a / k_a + var_b / k_b


def _reach(alpha: float, power: float, two_sided: bool) -> float:
    """How many standard errors a difference must measure to be found with this power."""
    return math.fsum(_quantiles(alpha, power, two_sided))


def _quantiles(alpha: float, power: float, two_sided: bool) -> tuple[float, float]:
    if not (0 < alpha < 0.5 and 0.5 <= power < 1):
        raise UsageError(f"needs alpha between 0 and 0.5 and power from 0.5 to below 1, got {alpha} and {power}")
    return normal_quantile(1 - (alpha / 2 if two_sided else alpha)), normal_quantile(power)


def _rounded_up(variance: float, errors_per_effect: float = 1.0) -> int:
    """variance · errors_per_effect² as a count, where 12.000000000000002 is 12; never less than 1."""
    size = variance * errors_per_effect * errors_per_effect
    if not size <= _LARGEST_SIZE:
        raise UsageError(f"so small an effect needs more than {_LARGEST_SIZE:g} trials or cases")
    return max(1, math.ceil(size * (1 - 1e-12)))


def _check_positive(**sizes: float) -> None:
    for name, size in sizes.items():
        if not size > 0:
            raise UsageError(f"{name.replace('_', ' ')} must be above 0, got {size}")


def _check_variances(*variances: float) -> None:
    if not all(0 <= variance < math.inf for variance in variances):
        raise UsageError(f"a variance is a number from 0 on, got {', '.join(map(str, variances))}")
