"""Standard errors of a mean, and how the variance splits into a part between cases and a part within a case.

A run of K trials per case on M cases has Var(mean) = (between + within/K) / M: more trials shrink only the second part.
These are building blocks for plans and comparisons. Headlines use an interval of `intervals.py` instead, because mean ±
2 standard errors fails near 0 and 1.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from evalharness.errors import UsageError


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
