"""Item analysis: what the results of several targets say about the cases themselves.

A good case separates strong targets from weak ones. A case that all targets pass, or all fail, separates none. A case
that weak targets pass more often than strong ones often has a wrong expected answer. With few targets these are hints
where to look, not proof. Targets are compared only on cases that all of them were tried on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evalharness.errors import UsageError
from evalharness.stats.student import student_t_quantile
from evalharness.stats.thresholds import LEVEL, reaches

FEWEST_TARGETS = 5
Flag = Literal["everyone passes", "everyone fails", "negative discrimination"]
# A smaller variance is a rounding error.
_NO_VARIANCE = 1e-18


@dataclass(frozen=True, slots=True)
class Item:
    """`difficulty` is the mean share passed: near 1 is easy.

    `discrimination` is the correlation, over targets, between the share passed and the target's mean on all other cases
    that the same targets were tried on. It is None if one of the two does not vary.
    """

    case: str
    difficulty: float
    discrimination: float | None
    targets: int
    flag: Flag | None


@dataclass(frozen=True, slots=True)
class ItemFigures:
    """`reliability` is Cronbach's alpha (KR-20 for pass/fail) over the cases that all targets were tried on."""

    items: tuple[Item, ...]
    reliability: float | None
    targets: int


def item_analysis(shares_by_target: Sequence[Mapping[str, float]]) -> ItemFigures | None:
    """Analyse the cases, from one mapping of case to share passed per target; None with fewer than five targets.

    A case that fewer than five targets were tried on is left out.
    """
    if not all(0 <= share <= 1 for shares in shares_by_target for share in shares.values()):
        raise UsageError("every share passed must be between 0 and 1")
    if len(shares_by_target) < FEWEST_TARGETS:
        return None
    cases = dict.fromkeys(case for shares in shares_by_target for case in shares)
    tried = {case: tuple(n for n, shares in enumerate(shares_by_target) if case in shares) for case in cases}
    found: dict[str, Item] = {}
    for group in {targets for targets in tried.values() if len(targets) >= FEWEST_TARGETS}:
        shared = [case for case in cases if set(group) <= set(tried[case])]
        members = [shares_by_target[target] for target in group]
        totals = [math.fsum(shares[case] for case in shared) for shares in members]
        found |= {case: _item(case, members, totals, len(shared)) for case in shared if tried[case] == group}
    everywhere = [case for case in cases if len(tried[case]) == len(shares_by_target)]
    return ItemFigures(
        tuple(found[case] for case in cases if case in found),
        _reliability(everywhere, shares_by_target),
        len(shares_by_target),
    )


def _item(case: str, members: Sequence[Mapping[str, float]], totals: Sequence[float], shared: int) -> Item:
    """Analyse one case; `totals` sum over the `shared` cases that all of these targets were tried on."""
    own = [shares[case] for shares in members]
    # Leave out the case itself, because it would correlate with its own part of the total.
    rest = [(total - share) / (shared - 1) if shared > 1 else 0.0 for total, share in zip(totals, own, strict=True)]
    difficulty = math.fsum(own) / len(own)
    discrimination = _correlation(own, rest)
    return Item(case, difficulty, discrimination, len(own), _flag(difficulty, discrimination, len(own)))


def _flag(difficulty: float, discrimination: float | None, targets: int) -> Flag | None:
    if reaches(difficulty, 1):
        return "everyone passes"
    if reaches(-difficulty, 0):
        return "everyone fails"
    if discrimination is not None and reaches(-discrimination, _beyond_chance(targets)):
        return "negative discrimination"
    return None


def _beyond_chance(targets: int) -> float:
    """The smallest correlation that Student's test calls significant, one-sided."""
    quantile = student_t_quantile(LEVEL, targets - 2)
    return quantile / math.sqrt(targets - 2 + quantile**2)


def _correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    x_variance, y_variance = _variance(xs), _variance(ys)
    if min(x_variance, y_variance) <= _NO_VARIANCE:
        return None
    x_mean, y_mean = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    covariance = math.fsum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / len(xs)
    return max(-1.0, min(1.0, covariance / math.sqrt(x_variance * y_variance)))


def _reliability(cases: Sequence[str], shares_by_target: Sequence[Mapping[str, float]]) -> float | None:
    """The share of the variance between targets that is not noise of single cases; None if nothing varies."""
    if len(cases) < 2:
        return None
    of_totals = _variance([math.fsum(shares[case] for case in cases) for shares in shares_by_target])
    if of_totals <= _NO_VARIANCE:
        return None
    of_cases = math.fsum(_variance([shares[case] for shares in shares_by_target]) for case in cases)
    return len(cases) / (len(cases) - 1) * (1 - of_cases / of_totals)


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / len(values)
