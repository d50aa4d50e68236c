"""Independent values: what two runs differ by, one value per case or per cluster of cases, none depending on another.

Their interval and their test are in `metric_difference.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from evalharness.domain.case import observation
from evalharness.domain.case_result import CaseResult
from evalharness.engine.comparing.pairs import Pair
from evalharness.engine.planning.smallest_loss import Figures
from evalharness.stats.thresholds import SAME


class Observed(NamedTuple):
    """One value per case, or per cluster of cases; `weights` is None where all weigh the same."""

    values: list[float]
    weights: list[float] | None

    @property
    def steps(self) -> list[float]:
        """Values whose plain mean is the weighted one; what only rounding left of a value is nothing."""
        steps = self._weighted(self.values)
        dust = SAME * max(map(abs, steps))
        return [step if abs(step) > dust else 0.0 for step in steps]

    def _weighted(self, values: list[float]) -> list[float]:
        if self.weights is None:
            return values
        scale = len(values) / math.fsum(self.weights)
        return [value * weight * scale for value, weight in zip(values, self.weights, strict=True)]

    def figures(self, trials: float = math.inf) -> Figures:
        """`trials`: pass/fail trials behind all of them, where they are nothing but shares of passes."""
        largest = max(self.weights, default=1.0) if self.weights else 1.0  # squares must neither overflow nor vanish
        weights = [weight / largest for weight in self.weights or [1.0] * len(self.values)]
        as_many = math.fsum(weights) ** 2 / math.fsum([weight * weight for weight in weights])
        return Figures(len(self.values), as_many, self.variance, trials / len(self.values))

    @property
    def variance(self) -> float | None:
        """Of values that count by their weights around their mean: a change that all share is none of it.

        0 where only rounding tells them apart; None of a single one.
        """
        number = len(self.values)
        if number < 2:
            return None
        mean = math.fsum(self._weighted(self.values)) / number
        apart = self._weighted([value - mean for value in self.values])
        found = math.fsum([each * each for each in apart]) / (number - 1)
        return found if found > (SAME * mean) ** 2 else 0.0


def observed_in(pairs: Sequence[Pair], values: list[float], weights: list[float] | None = None) -> Observed:
    """Cases of one cluster become one: their weighted mean, weighing what they weigh together."""
    if weights is not None and len(set(weights)) == 1:
        weights = None
    if not any(pair.new.cluster for pair in pairs):
        return Observed(values, weights)
    clusters: dict[str, list[float]] = {}
    for pair, value, weight in zip(pairs, values, weights or [1.0] * len(values), strict=True):
        sums = clusters.setdefault(observation(pair.new.case_id, pair.new.cluster), [0.0, 0.0])
        sums[0] += value * weight
        sums[1] += weight
    means = [total / weight for total, weight in clusters.values()]
    sizes = [weight for _, weight in clusters.values()]
    return Observed(means, sizes if len(set(sizes)) > 1 else None)


# Which cases a ratio of times or costs can hold, and what became of the others. It computes nothing.


class Sides(NamedTuple):
    """Pairs by what a figure of theirs did. `compared` are those above 0 in both runs, as far as there are any."""

    compared: list[tuple[Pair, float, float]]
    risen: list[Pair]
    fallen: list[Pair]
    unstated: list[Pair]

    @classmethod
    def of(cls, pairs: Sequence[Pair], figure: Callable[[CaseResult], float | None]) -> Sides:
        parts = [(pair, old, new) for pair in pairs for old, new in [(figure(pair.old), figure(pair.new))]]
        # What is free now is no loss, whatever it was; what is not reported now may be one.
        unstated = [pair for pair, old, new in parts if (new is None) != (old is None) and new != 0]
        known = [(pair, old, new) for pair, old, new in parts if old is not None and new is not None]
        risen = [(pair, old, new) for pair, old, new in known if old <= 0 < new]
        fallen = [(pair, old, new) for pair, old, new in known if new <= 0 < old]
        level = [each for each in known if each[1] > 0 < each[2]] or [each for each in known if each[1] <= 0 >= each[2]]
        if level:
            return cls(level, [pair for pair, _, _ in risen], [pair for pair, _, _ in fallen], unstated)
        if fallen and not (risen or unstated):
            return cls(fallen, [], [], [])
        return cls(risen if not fallen else [], [], [], unstated)
