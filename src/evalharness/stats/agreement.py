"""Agreement between raters (people or judges) beyond chance.

Contains Cohen's and Fleiss' kappa, Gwet's AC1 and Krippendorff's alpha. Ratings are listed per item, in the order of
the raters, with None for a missing rating. If all ratings are equal, the result is None ("no variation") and not 1,
because such raters may not have looked at the items at all. Kappa falls towards 0 when one category is rare, even if
raters agree well; AC1 does not. Agreement does not mean that the raters are right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from random import Random
from statistics import NormalDist, fmean
from typing import Literal, TypeAlias, TypeVar, get_args

from evalharness.errors import UnknownName, UsageError
from evalharness.stats.intervals import upper_probability
from evalharness.stats.medians import quantile
from evalharness.stats.thresholds import LEVEL, reaches

Item = TypeVar("Item")
Statistic = Callable[[Sequence[Item]], float | None]

FEWEST_FOR_BCA = 50
FEWEST_RESAMPLES = 100


@dataclass(frozen=True, slots=True)
class BootstrapInterval:
    """The bounds, computed without the `undefined` resamples, for which the figure does not exist."""

    low: float
    high: float
    level: float
    method: str
    seed: int
    resamples: int
    undefined: int


def bootstrap_interval(
    items: Sequence[Item],
    statistic: Statistic[Item],
    *,
    level: float = LEVEL,
    resamples: int = 2000,
    seed: int = 0,
) -> BootstrapInterval | None:
    """The interval; None with fewer than two items, or if the figure is undefined for all items or for most resamples.

    Equal input always gives equal bounds.
    """
    upper_probability(level)
    if resamples < FEWEST_RESAMPLES:
        raise UsageError(f"a bootstrap needs at least {FEWEST_RESAMPLES} resamples, got {resamples}")
    value = statistic(items) if len(items) > 1 else None
    if value is None:
        return None
    figures = resampled(items, statistic, resamples, seed)
    if 2 * len(figures) < resamples:
        return None
    bounds, method = None, "BCa bootstrap"
    if len(items) >= FEWEST_FOR_BCA:
        bounds = bca_bounds(value, figures, _leave_one_out(items, statistic), level)
    if bounds is None:
        bounds, method = percentile_bounds(figures, level), "percentile bootstrap"
    return BootstrapInterval(*bounds, level, method, seed, resamples, resamples - len(figures))


def resampled(items: Sequence[Item], statistic: Statistic[Item], resamples: int, seed: int) -> list[float]:
    """The sorted figures of `resamples` draws with replacement, without draws for which the figure is undefined."""
    random = Random(seed)
    figures = (statistic(random.choices(items, k=len(items))) for _ in range(resamples))
    return sorted(figure for figure in figures if figure is not None)


def percentile_bounds(figures: Sequence[float], level: float) -> tuple[float, float]:
    """The middle `level` of the resampled figures."""
    return quantile(figures, (1 - level) / 2), quantile(figures, upper_probability(level))


def bca_bounds(
    value: float, figures: Sequence[float], left_out: Sequence[float], level: float
) -> tuple[float, float] | None:
    """Percentiles corrected for bias (figures on one side of `value`) and skew (`left_out`: without each item in turn).

    None if a correction is undefined: all figures lie on one side, or no item makes a difference.
    """
    below = math.fsum((figure < value) + 0.5 * (figure == value) for figure in figures) / len(figures)
    centre = fmean(left_out) if left_out else 0.0
    deviations = [centre - figure for figure in left_out]
    squares = math.fsum(deviation**2 for deviation in deviations)
    if not 0 < below < 1 or squares <= 1e-24 * centre * centre:
        return None
    normal = NormalDist()
    bias = normal.inv_cdf(below)
    acceleration = math.fsum(deviation**3 for deviation in deviations) / (6 * squares**1.5)

    def bound(probability: float) -> float | None:
        shifted = bias + normal.inv_cdf(probability)
        scale = 1 - acceleration * shifted
        return quantile(figures, normal.cdf(bias + shifted / scale)) if scale > 0 else None

    low, high = bound((1 - level) / 2), bound(upper_probability(level))
    return None if low is None or high is None else (low, high)


def _leave_one_out(items: Sequence[Item], statistic: Statistic[Item]) -> list[float]:
    everything = list(items)
    figures = (statistic(everything[:i] + everything[i + 1 :]) for i in range(len(everything)))
    return [figure for figure in figures if figure is not None]


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
    """The chance that two ratings of one item are equal; None if no item has two ratings."""
    items = _compared(ratings)
    return fmean(map(_agreeing, items)) if items else None


def cohen_kappa(
    ratings: Ratings, weights: KappaWeights = "equal", categories: Sequence[Hashable] | None = None
) -> Kappa | None:
    """Cohen's kappa for two raters; items with a missing rating are left out.

    With linear or quadratic weights, near misses count in part, by their distance in `categories`. These are the scale
    in its order; the default is the sorted ratings.
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
    """Fleiss' kappa, for items that all have the same number of ratings; the raters may differ from item to item."""
    items = [Counter(rating for rating in item if rating is not None) for item in ratings]
    if len({item.total() for item in items}) > 1 or any(item.total() < 2 for item in items):
        raise UsageError(
            "Fleiss' kappa needs the same number of ratings for every item, and at least two",
            hint="use Krippendorff's alpha",
        )
    if _no_variation(items):
        return None
    pooled = sum(items, Counter[Hashable]())
    chance = math.fsum((count / pooled.total()) ** 2 for count in pooled.values())
    return _beyond_chance(fmean(map(_agreeing, items)), chance)


def gwet_ac1(ratings: Ratings, categories: Sequence[Hashable] | None = None) -> float | None:
    """Gwet's AC1: agreement beyond chance that stays meaningful when one category is rare.

    Pass all `categories` if some may never have been chosen. By default, only the chosen ones count.
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
    """A bootstrap interval over items for any measure: `agreement_interval(ratings, krippendorff_alpha)`.

    With three or more categories, fix them with `partial(gwet_ac1, categories=…)`, since a resample may miss one.
    """
    return bootstrap_interval(ratings, measure, level=level, resamples=resamples, seed=seed)


def reliability(alpha: float | None) -> Reliability:
    """How far a gate may rely on these raters, by Krippendorff's thresholds for alpha."""
    if alpha is None:
        return "no variation"
    if reaches(alpha, _RELIABLE):
        return "reliable"
    return "tentative" if reaches(alpha, _TENTATIVE) else "do not gate"


def leading_measure(ratings: Ratings) -> Literal["alpha", "AC1"]:
    """Which measure to print first: AC1 if the rarest category has less than a tenth of the ratings, else alpha."""
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
    """The position of every category on its scale."""
    seen = dict.fromkeys(ratings)
    if categories is None:
        return {category: place for place, category in enumerate(_sorted(seen) if by_value else seen)}
    scale = {category: place for place, category in enumerate(dict.fromkeys(categories))}
    if unknown := [category for category in seen if category not in scale]:
        raise UsageError(f"{unknown[0]!r} is not one of the categories {', '.join(map(repr, scale))}")
    return scale


def _sorted(categories: dict[Hashable, None]) -> list[Hashable]:
    numbers = [category for category in categories if isinstance(category, int | float)]
    if len(numbers) < len(categories):
        raise UsageError("weights need an order", hint="give the categories in their order, or rate with numbers")
    return [*sorted(numbers)]


# Krippendorff's alpha: agreement of any number of raters, with missing ratings, on four kinds of scale.
#
# alpha = 1 - observed / expected disagreement. Items with fewer than two ratings are left out.

Scale = Literal["nominal", "ordinal", "interval", "ratio"]
Disagreement: TypeAlias = Callable[[Sequence[float]], float]


def krippendorff_alpha(ratings: Sequence[Sequence[Hashable | None]], scale: Scale = "nominal") -> float | None:
    """Krippendorff's alpha; None if all ratings are equal.

    Nominal ratings can be any labels. The other scales need numbers, and a ratio scale none below 0.
    """
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
    """Each rating as a number, and a function that sums squared distances over all ordered pairs of such numbers."""
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
