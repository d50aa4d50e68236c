"""Krippendorff's alpha: agreement of any number of raters, with gaps, on four kinds of scale.

alpha = 1 - observed / expected disagreement. Ratings are given per item with None for a gap; an item with fewer than
two ratings says nothing and is left out. Where all ratings are equal there is "no variation": None, not 1. What an
alpha is good for says `agreement.reliability`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import accumulate, combinations
from statistics import fmean
from typing import Literal, TypeAlias, get_args

from evalharness.errors import UnknownName, UsageError

Scale = Literal["nominal", "ordinal", "interval", "ratio"]
Disagreement: TypeAlias = Callable[[Sequence[float]], float]


def krippendorff_alpha(ratings: Sequence[Sequence[Hashable | None]], scale: Scale = "nominal") -> float | None:
    """Nominal ratings are any labels; the other scales need numbers, a ratio scale none below 0."""
    if scale not in get_args(Scale):
        raise UnknownName("scale", scale, get_args(Scale))
    items = [given for item in ratings if len(given := [rating for rating in item if rating is not None]) > 1]
    every = [rating for item in items for rating in item]
    if len(set(every)) < 2:
        return None
    place, disagreement = _measured(every, scale)
    observed = math.fsum(disagreement([place[rating] for rating in item]) / (len(item) - 1) for item in items)
    expected = disagreement([place[rating] for rating in every]) / (len(every) - 1)
    return 1 - observed / expected


def _measured(ratings: Sequence[Hashable], scale: Scale) -> tuple[Mapping[Hashable, float], Disagreement]:
    """Each rating as a number, and the sum of squared distances over all ordered pairs of such numbers."""
    counts = Counter(ratings)
    if scale == "nominal":
        return {label: float(place) for place, label in enumerate(counts)}, _unequal
    numbers: dict[Hashable, float] = {rating: float(rating) for rating in counts if isinstance(rating, int | float)}
    if len(numbers) < len(counts) or not all(map(math.isfinite, numbers.values())):
        raise UsageError(f'ratings on the scale "{scale}" must be numbers', hint='use the scale "nominal" for labels')
    if scale == "interval":
        return numbers, _squared_differences
    if scale == "ordinal":
        ordered = sorted(numbers, key=numbers.__getitem__)
        last_ranks = accumulate(counts[rating] for rating in ordered)
        # Equal ratings share the middle of their ranks.
        middles = {rating: last - counts[rating] / 2 for rating, last in zip(ordered, last_ranks, strict=True)}
        return middles, _squared_differences
    if min(numbers.values()) < 0:
        raise UsageError("ratings on a ratio scale cannot be below 0")
    return numbers, _squared_ratios


def _unequal(values: Sequence[float]) -> float:
    return float(len(values) ** 2 - sum(count * count for count in Counter(values).values()))


def _squared_differences(values: Sequence[float]) -> float:
    mean = fmean(values)
    return 2 * len(values) * math.fsum((value - mean) ** 2 for value in values)


def _squared_ratios(values: Sequence[float]) -> float:
    pairs = combinations(Counter(values).items(), 2)
    return 2 * math.fsum(m * n * ((a - b) / (a + b)) ** 2 for (a, m), (b, n) in pairs)
