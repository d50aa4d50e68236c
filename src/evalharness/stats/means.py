"""The weighted mean, in one place. What weighs how much, and what a mean of nothing is worth, callers decide."""

from __future__ import annotations

import math
from collections.abc import Iterable


def weighted_mean(weighted: Iterable[tuple[float, float]]) -> float:
    """The mean of (value, weight) pairs; at least one weight is above 0.

    Weights are scaled by a power of two, which rounds nothing: sums of the largest ones would overflow.
    """
    pairs = list(weighted)
    if len(pairs) == 1:
        return pairs[0][0]
    _, exponent = math.frexp(max(weight for _, weight in pairs))
    scaled = [(value, math.ldexp(weight, -exponent)) for value, weight in pairs]
    return math.fsum(value * weight for value, weight in scaled) / math.fsum(weight for _, weight in scaled)
