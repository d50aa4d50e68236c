"""How far the plug-in (c/n)^k overstates pass^k, and that the unbiased estimator does not: exact expectations."""

from __future__ import annotations

import math
from collections.abc import Iterator

from benchmarks.coverage import chance
from benchmarks.findings import Finding
from benchmarks.options import BenchmarkOptions
from evalharness.stats.pass_k import PassHatEstimator, pass_hat_k

RATES = (0.5, 0.7, 0.9)
PUBLISHED = {
    (4, 4): ("0.1660", ("0.104", "0.147", "0.095")),
    (8, 4): ("0.1121", ("0.050", "0.076", "0.051")),
    (10, 5): ("0.0669", ("0.036", "0.072", "0.061")),
    (20, 5): ("0.0480", ("0.017", "0.036", "0.032")),
    (100, 5): ("0.0344", ("0.003", "0.007", "0.007")),
}


def measure(options: BenchmarkOptions) -> Iterator[Finding]:  # noqa: ARG001
    for (n, k), (at_half, biases) in PUBLISHED.items():
        yield Finding(f"plug-in pass^{k} of {n} trials, rate .5: mean", mean_of("plugin", n, k, 0.5), at_half)
        for rate, published in zip(RATES, biases, strict=True):
            bias = mean_of("plugin", n, k, rate) - rate**k
            yield Finding(f"plug-in pass^{k} of {n} trials, rate {rate}: bias", bias, published)
        worst = max(abs(mean_of("unbiased", n, k, rate) - rate**k) for rate in RATES)
        yield Finding(f"unbiased pass^{k} of {n} trials: largest bias", worst, "0.000000000")


def mean_of(estimator: PassHatEstimator, n: int, k: int, rate: float) -> float:
    return math.fsum(chance(n, c, rate) * (pass_hat_k(n, c, k, estimator) or 0.0) for c in range(n + 1))
