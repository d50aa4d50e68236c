"""Standard errors of a difference, and the smallest difference that a sample can show."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from evalharness.errors import UsageError
from evalharness.stats.student import normal_quantile
from evalharness.stats.thresholds import ALPHA, POWER


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """`between` is the variance of the cases' true pass rates, `within` the mean variance of one trial of a case."""

    between: float
    within: float


def bernoulli_standard_error(rate: float, n: int) -> float:
    """The standard error of a pass rate over n independent trials."""
    if not (0 <= rate <= 1 and n > 0):
        raise UsageError(f"a standard error needs a rate from 0 to 1 and n > 0, got {rate} and {n}")
    return math.sqrt(rate * (1 - rate) / n)


def within_variance(counts: Sequence[tuple[int, int]]) -> float | None:
    """The mean of p(1 - p) over cases, unbiased, from (trials, passes) of each; None if no case has two trials."""
    known = [spread for spread in map(_own_variance, counts) if spread is not None]
    return fmean(known) if known else None


def variance_components(
    counts: Sequence[tuple[int, int]], clusters: Sequence[Hashable] = ()
) -> VarianceComponents | None:
    """The variance components, from (trials, passes) of each case.

    None with fewer than two cases, or if no case has two trials. A case with one trial contributes to `between` and is
    assumed to vary like the others. `between` is unbiased, except that an estimate below 0 is reported as 0. With
    `clusters`, the cluster of each case, it is the variance of the clusters' rates, which are the means of their cases'
    rates.
    """
    within = within_variance(counts)
    units: defaultdict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    for unit, case in zip(clusters or range(len(counts)), counts, strict=True):
        units[unit].append(case)
    if within is None or len(units) < 2:
        return None

    def noise(case: tuple[int, int]) -> float:
        own = _own_variance(case)
        return (within if own is None else own) / case[0]

    noises = fmean(fmean(map(noise, cases)) / len(cases) for cases in units.values())
    rates = [fmean(c / n for n, c in cases) for cases in units.values()]
    return VarianceComponents(max(0.0, variance(rates) - noises), within)


def se_for_trials(between: float, within: float, cases: int, trials: float) -> float:
    """The standard error that `trials` per case on `cases` such cases would have; `math.inf` trials are allowed."""
    if not (between >= 0 and within >= 0 and cases >= 1 and trials >= 1):
        raise UsageError(
            "a standard error needs variances >= 0, cases >= 1 and trials >= 1, "
            f"got {between}, {within}, {cases} and {trials}"
        )
    return math.sqrt((between + within / trials) / cases)


def _own_variance(count: tuple[int, int]) -> float | None:
    """The unbiased variance of one trial of a case; None with a single trial."""
    n, c = count
    if not (n >= 1 and 0 <= c <= n):
        raise UsageError(f"a case needs at least one trial and 0 <= passes <= trials, got {c} of {n}")
    return c * (n - c) / (n * (n - 1)) if n > 1 else None


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
