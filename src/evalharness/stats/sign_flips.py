"""The sign-flip permutation test: is the mean of these differences below 0 by more than chance?

If nothing changed, old and new could be swapped in every case, so each difference is equally likely with the other
sign. The test is exact where that is cheap (few differences, or differences on a common grid). Otherwise signs are
drawn from a seed, and for very many cases the normal approximation is used. `method` says which. Differences of 0 have
no sign and drop out.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import repeat
from operator import getitem
from random import Random

from evalharness.errors import UsageError
from evalharness.stats.p_values import PValues
from evalharness.stats.sum_laws import COIN, law_of_sum

_DRAWS = 100_000
_MOST_SIGNS_DRAWN = 20_000_000
_MOST_ENUMERATED = 20
_FINEST_GRID = 10_000
_WIDEST_LAW = 8_000
# Sums that differ by less than this share of the total size are equal but for rounding.
_SAME = 1e-12


def sign_flip(differences: Sequence[float], seed: int = 0) -> PValues:
    """The p-values of so low (`p_less`) or so high (`p_greater`) a mean if each difference could have either sign.

    `seed` matters, and is part of the result, only if signs are drawn.
    """
    if not all(map(math.isfinite, differences)):
        raise UsageError("every difference must be a finite number")
    changed = [difference for difference in differences if difference]
    if not changed:
        return PValues(1.0, 1.0, "sign-flip test (no case changed)", 0)
    _, exponent = math.frexp(max(map(abs, changed)))
    changed = list(map(math.ldexp, changed, repeat(-exponent)))  # so that no sum overflows
    steps = _on_a_grid(changed)
    if steps:
        return _by_convolution([steps[difference] for difference in changed])
    if len(changed) <= _MOST_ENUMERATED:
        return _by_enumeration(changed)
    if len(changed) * _DRAWS <= _MOST_SIGNS_DRAWN:
        return _by_drawing(changed, seed)
    return _by_normal_law(changed)


def _on_a_grid(differences: Sequence[float]) -> Mapping[float, int]:
    """Each difference in steps of a common grid; empty if there is none, or if there would be too many sums.

    Most scores are shares or decimals of few digits. On their grid, equal sums compare equal despite float rounding.
    """
    largest = max(map(abs, differences))
    shares: dict[float, Fraction] = {}
    grid = 1
    for difference in differences:
        if difference in shares:
            continue
        exact = Fraction(difference / largest)
        shares[difference] = exact.limit_denominator(_FINEST_GRID)
        grid = math.lcm(grid, shares[difference].denominator)
        if not shares[difference] or grid > _FINEST_GRID or abs(shares[difference] - exact) > _SAME:
            return {}
    steps = {difference: int(share * grid) for difference, share in shares.items()}
    counts = Counter(differences)
    farthest = sum(abs(steps[difference]) * repeats for difference, repeats in counts.items())
    variance = sum(steps[difference] ** 2 * repeats for difference, repeats in counts.items())
    likely_width = 10 * math.sqrt(variance)  # ten standard deviations of the sum to each side
    return steps if min(likely_width, farthest) <= _WIDEST_LAW else {}


def _by_convolution(steps: Sequence[int]) -> PValues:
    """From the sum of the positive differences, which determines the sum of all differences."""
    law = law_of_sum((COIN.times(size), repeats) for size, repeats in sorted(Counter(map(abs, steps)).items()))
    positive = sum(step for step in steps if step > 0)
    return PValues(law.at_most(positive), law.at_least(positive), "sign-flip test, exact", len(steps), law.error_bound)


def _by_enumeration(differences: Sequence[float]) -> PValues:
    """By combining every signed sum of one half of the differences with every signed sum of the other half."""
    half = len(differences) // 2
    left, right = _signed_sums(differences[:half]), sorted(_signed_sums(differences[half:]))
    observed, slack = math.fsum(differences), _slack(differences)
    low = sum(bisect_right(right, observed + slack - each) for each in left)
    high = sum(len(right) - bisect_left(right, observed - slack - each) for each in left)
    ways = 2 ** len(differences)
    return PValues(low / ways, high / ways, "sign-flip test, exact", len(differences))


def _by_drawing(differences: Sequence[float], seed: int) -> PValues:
    # Eight signs at a time: a random byte selects one of the 256 signed sums of eight differences.
    tables = [_signed_sums(differences[start : start + 8]) for start in range(0, len(differences), 8)]
    whole = [table * (256 // len(table)) for table in tables]
    observed, slack = math.fsum(differences), _slack(differences)
    random = Random(seed)
    low = high = 0
    for _ in range(_DRAWS):
        drawn = sum(map(getitem, whole, random.randbytes(len(whole))))
        low += drawn <= observed + slack
        high += drawn >= observed - slack
    # The observed signs count as one of the draws. Otherwise a p-value could be 0, which no sample can show.
    p_less, p_greater = (1 + low) / (1 + _DRAWS), (1 + high) / (1 + _DRAWS)
    return PValues(p_less, p_greater, f"sign-flip test, {_DRAWS:,} draws", len(differences), seed=seed)


def _by_normal_law(differences: Sequence[float]) -> PValues:
    z = math.fsum(differences) / math.hypot(*differences)
    p_less, p_greater = math.erfc(-z / math.sqrt(2)) / 2, math.erfc(z / math.sqrt(2)) / 2
    return PValues(p_less, p_greater, "sign-flip test, normal law", len(differences))


def _signed_sums(differences: Sequence[float]) -> list[float]:
    sums = [0.0]
    for difference in differences:
        sums = [each - difference for each in sums] + [each + difference for each in sums]
    return sums


def _slack(differences: Sequence[float]) -> float:
    return _SAME * math.fsum(map(abs, differences))
