"""How often 95 % intervals contain the true rate if trials are independent: exact, outcomes weighted by their chance.

Tasks that differ are in `clustered_coverage.py`, differences between runs in `difference_coverage.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from statistics import fmean

from benchmarks.findings import Finding
from benchmarks.options import BenchmarkOptions
from evalharness.stats.beta import log_beta
from evalharness.stats.intervals import Interval, clopper_pearson, uniform_beta, wilson
from evalharness.stats.power import bernoulli_standard_error
from evalharness.stats.student import normal_quantile

Bounds = tuple[float, float]
PUBLISHED = {
    (10, 0.9): (".650", ".930", ".987", ".930"),
    (10, 0.99): (".096", ".904", ".996", ".904"),
    (20, 0.95): (".639", ".925", ".984", ".925"),
    (50, 0.99): (".395", ".911", ".986", ".911"),
    (100, 0.95): (".877", ".966", ".983", ".966"),
    (300, 0.99): (".799", ".967", ".989", ".967"),
}
MEANS = {
    20: (".851", ".953", ".977", ".951"),
    100: (".926", ".950", ".965", ".950"),
    1000: (".947", ".950", ".955", ".950"),
}
GRID = [step / 200 for step in range(1, 200)]
"""The rates .005, .010, … .995. The published table does not name its grid; this one gives its figures."""


def wald(successes: int, n: int) -> Interval:
    """Mean ± two standard errors, as most tools print it."""
    half = normal_quantile(0.975) * bernoulli_standard_error(successes / n, n)
    return Interval(successes / n - half, successes / n + half, 0.95, "Wald", n)


METHODS: dict[str, Callable[[int, int], Interval]] = {
    "Wald": wald,
    "Wilson": wilson,
    "Clopper-Pearson": clopper_pearson,
    "Beta(1,1)": uniform_beta,
}


def measure(options: BenchmarkOptions) -> Iterator[Finding]:
    for (n, rate), published in PUBLISHED.items():
        for method, figure in zip(METHODS, published, strict=True):
            yield Finding(f"{method}, {n} trials, rate {rate}", coverage(all_bounds(method, n), rate), figure)
    for n, published in MEANS.items():
        if options.quick and n > 100:
            continue
        for method, figure in zip(METHODS, published, strict=True):
            mean = fmean(coverage(all_bounds(method, n), rate) for rate in GRID)
            yield Finding(f"{method}, {n:,} trials, mean over rates", mean, figure)


@cache
def all_bounds(method: str, n: int) -> Sequence[Bounds]:
    found = (METHODS[method](successes, n) for successes in range(n + 1))
    return [(interval.low, interval.high) for interval in found]


def coverage(bounds: Sequence[Bounds], rate: float) -> float:
    """The chance that the interval of an outcome contains the rate."""
    n = len(bounds) - 1
    return math.fsum(chance(n, seen, rate) for seen, (low, high) in enumerate(bounds) if low <= rate <= high)


def chance(n: int, successes: int, rate: float) -> float:
    """The chance of this many successes in n independent trials."""
    log_ways = -math.log(n + 1) - log_beta(successes + 1, n - successes + 1)
    return math.exp(log_ways + successes * math.log(rate) + (n - successes) * math.log1p(-rate))
