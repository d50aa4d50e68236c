"""The weighted mean. Callers choose the weights, and handle the case of no values."""

from __future__ import annotations

import math
from collections.abc import Iterable


def weighted_mean(weighted: Iterable[tuple[float, float]]) -> float:
    """The mean of (value, weight) pairs; at least one weight must be above 0.

    Weights are scaled by a power of two, which is exact, so that sums of very large weights do not overflow.
    """
    pairs = list(weighted)
    if len(pairs) == 1:
        return pairs[0][0]
    if all(weight == 1.0 for _, weight in pairs):
        return math.fsum(value for value, _ in pairs) / len(pairs)
    _, exponent = math.frexp(max(weight for _, weight in pairs))
    scaled = [(value, math.ldexp(weight, -exponent)) for value, weight in pairs]
    return math.fsum(value * weight for value, weight in scaled) / math.fsum(weight for _, weight in scaled)
