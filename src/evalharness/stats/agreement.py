"""How far raters (people, judges) agree beyond chance: Cohen's and Fleiss' kappa, Gwet's AC1, Krippendorff's alpha.

Ratings are given per item, in the raters' order, with None for a gap. Where all ratings are equal, agreement cannot
be distinguished from raters who never look: the answer is None, "no variation", never 1. Kappa falls to 0 when one
category is rare, however well raters agree; AC1 does not. Whether the raters are right is another question.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from statistics import fmean
from typing import Literal, TypeAlias, get_args

from evalharness.errors import UnknownName, UsageError
from evalharness.stats.bootstrap import BootstrapInterval, bootstrap_interval
from evalharness.stats.thresholds import LEVEL, reaches

Ratings: TypeAlias = Sequence[Sequence[Hashable | None]]
Measure: TypeAlias = Callable[[Ratings], float | None]
KappaWeights = Literal["equal", "linear", "quadratic"]
Reliability = Literal["reliable", "tentative", "do not gate", "no variation"]

_RELIABLE = 0.8
_TENTATIVE = 0.667
_RARE = 0.1


@dataclass(frozen=True, slots=True)
class Kappa:
    value: float
    standard_error: float


def percent_agreement(ratings: Ratings) -> float | None:
    """The chance that two ratings of one item are equal; None if no item has two."""
    items = _compared(ratings)
    return fmean(map(_agreeing, items)) if items else None


def cohen_kappa(
    ratings: Ratings, weights: KappaWeights = "equal", categories: Sequence[Hashable] | None = None
) -> Kappa | None:
    """For two raters; items with a gap are left out.

    With linear or quadratic weights near misses count in part, by their distance in `categories`: the scale in its
    order, by default the sorted ratings.
    """
    if weights not in get_args(KappaWeights):
        raise UnknownName("kappa weights", weights, get_args(KappaWeights))
    if not all(len(item) == 2 for item in ratings):
        raise UsageError("Cohen's kappa compares two raters", hint="for more use Fleiss' kappa or Krippendorff's alpha")
    pairs = [(a, b) for a, b in ratings if a is not None and b is not None]
    if _no_variation(pairs):
        return None
    order = _order([rating for pair in pairs for rating in pair], categories, by_value=weights != "equal")
    table = Counter((order[a], order[b]) for a, b in pairs)
    return _kappa(table, len(order), weights)


def fleiss_kappa(ratings: Ratings) -> float | None:
    """For the same number of ratings on every item, by whomever."""
    items = [Counter(rating for rating in item if rating is not None) for item in ratings]
    if len({item.total() for item in items}) > 1 or any(item.total() < 2 for item in items):
        raise UsageError(
            "Fleiss' kappa needs equally many ratings of every item, at least two", hint="use Krippendorff's alpha"
        )
    if _no_variation(items):
        return None
    pooled = sum(items, Counter[Hashable]())
    chance = math.fsum((count / pooled.total()) ** 2 for count in pooled.values())
    return _beyond_chance(fmean(map(_agreeing, items)), chance)


def gwet_ac1(ratings: Ratings, categories: Sequence[Hashable] | None = None) -> float | None:
    """Agreement beyond chance that stays meaningful when one category is rare.

    Name all `categories` where some may never have been chosen; by default those count that were.
    """
    items = _compared(ratings)
    if _no_variation(items):
        return None
    order = _order([rating for item in items for rating in item], categories, by_value=False)
    shares = [fmean(item[category] / item.total() for item in items) for category in order]
    chance = math.fsum(share * (1 - share) for share in shares) / (len(order) - 1)
    return _beyond_chance(fmean(map(_agreeing, items)), chance)


def agreement_interval(
    ratings: Ratings, measure: Measure, *, level: float = LEVEL, resamples: int = 2000, seed: int = 0
) -> BootstrapInterval | None:
    """Bootstrap over items of any measure: `agreement_interval(ratings, krippendorff_alpha)`.

    With three or more categories fix them, since a draw may miss one: `partial(gwet_ac1, categories=…)`.
    """
    return bootstrap_interval(ratings, measure, level=level, resamples=resamples, seed=seed)


def reliability(alpha: float | None) -> Reliability:
    """What Krippendorff's thresholds say of an alpha: whether a gate may rest on these raters."""
    if alpha is None:
        return "no variation"
    if reaches(alpha, _RELIABLE):
        return "reliable"
    return "tentative" if reaches(alpha, _TENTATIVE) else "do not gate"


def leading_measure(ratings: Ratings) -> Literal["alpha", "AC1"]:
    """Which measure to print first: AC1 where the rarest category makes up less than a tenth of the ratings."""
    counts = sum(_compared(ratings), Counter[Hashable]())
    return "AC1" if counts and min(counts.values()) < _RARE * counts.total() else "alpha"


def _kappa(table: Counter[tuple[int, int]], size: int, weights: KappaWeights) -> Kappa:
    """Cohen's kappa and its large-sample standard error, from counts of (first, second) category."""
    n = table.total()
    row, column = [0.0] * size, [0.0] * size
    for (i, j), count in table.items():
        row[i] += count / n
        column[j] += count / n
    credit = [[_credit(i, j, size, weights) for j in range(size)] for i in range(size)]
    by_row = [math.fsum(credit[i][j] * column[j] for j in range(size)) for i in range(size)]
    by_column = [math.fsum(credit[i][j] * row[i] for i in range(size)) for j in range(size)]
    observed = math.fsum(count / n * credit[i][j] for (i, j), count in table.items())
    chance = math.fsum(share * mean for share, mean in zip(row, by_row, strict=True))
    value = _beyond_chance(observed, chance)
    squares = math.fsum(
        count / n * (credit[i][j] - (by_row[i] + by_column[j]) * (1 - value)) ** 2 for (i, j), count in table.items()
    )
    spread = max(0.0, squares - (value - chance * (1 - value)) ** 2)
    return Kappa(value, math.sqrt(spread / n) / (1 - chance))


def _credit(i: int, j: int, size: int, weights: KappaWeights) -> float:
    if weights == "equal":
        return float(i == j)
    distance = abs(i - j) / (size - 1)
    return 1 - (distance if weights == "linear" else distance * distance)


def _beyond_chance(observed: float, chance: float) -> float:
    return (observed - chance) / (1 - chance)


def _compared(ratings: Ratings) -> list[Counter[Hashable]]:
    """How often each category was chosen, for every item with at least two ratings."""
    items = (Counter(rating for rating in item if rating is not None) for item in ratings)
    return [item for item in items if item.total() > 1]


def _agreeing(item: Counter[Hashable]) -> float:
    """The share of pairs of ratings that agree."""
    n = item.total()
    return sum(count * (count - 1) for count in item.values()) / (n * (n - 1))


def _no_variation(items: Sequence[Counter[Hashable]] | Sequence[tuple[Hashable, Hashable]]) -> bool:
    return len({rating for item in items for rating in item}) < 2


def _order(
    ratings: Sequence[Hashable], categories: Sequence[Hashable] | None, *, by_value: bool
) -> dict[Hashable, int]:
    """The place of every category in its scale."""
    seen = dict.fromkeys(ratings)
    if categories is None:
        return {category: place for place, category in enumerate(_sorted(seen) if by_value else seen)}
    scale = {category: place for place, category in enumerate(dict.fromkeys(categories))}
    if unknown := [category for category in seen if category not in scale]:
        raise UsageError(f"{unknown[0]!r} is none of the categories {', '.join(map(repr, scale))}")
    return scale


def _sorted(categories: dict[Hashable, None]) -> list[Hashable]:
    numbers = [category for category in categories if isinstance(category, int | float)]
    if len(numbers) < len(categories):
        raise UsageError("weights need an order", hint="give the categories in their order, or rate with numbers")
    return [*sorted(numbers)]


# Krippendorff's alpha: agreement of any number of raters, with gaps, on four kinds of scale.
#
# alpha = 1 - observed / expected disagreement. Ratings are given per item with None for a gap; an item with fewer than
# two ratings says nothing and is left out. Where all ratings are equal there is "no variation": None, not 1. What an
# alpha is good for says `agreement.reliability`.

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
