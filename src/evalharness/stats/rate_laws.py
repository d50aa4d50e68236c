"""What the passes of cases say about their pass rates: a Beta distribution for each case.

A case's share of passes is a poor estimate of its rate: 4 of 4 is not certainty, and one trial says nothing about
chance. So rates are assumed to follow a Beta distribution with the mean and the mean p(1-p) of all cases and one
imagined case. Each case's own passes then update it. `exact_power.py` computes what a test finds with such rates.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from evalharness.stats.beta import regularised_beta

Row = tuple[int, int, int, int]
"""One case: trials before, passes before, trials now, passes now."""
Nodes = Sequence[tuple[float, float]]
"""Rates with their weights; the weights add up to 1."""

_UNSEEN_CHANCE = 0.1
"""p(1-p) of the imagined case: a few cases that never varied do not prove that none does."""
_ALIKE = 1e3
"""The weight, in trials, of the distribution if all cases are alike."""
_MOST_CHANCE = _ALIKE / (1 + _ALIKE)
_SURE = 1e-3
"""The smallest share of chance in the variance of one trial: nearly all cases then pass always or never."""


@dataclass(frozen=True, slots=True)
class CaseLaw:
    """`cases` (a fraction if more are planned) with pass rate Beta(passes, fails), and their trials."""

    passes: float
    fails: float
    n_old: int
    n_new: int
    cases: float = 1.0

    def nodes(self, number: int) -> Nodes:
        """The distribution as weights of `number` rates.

        The rates are the midpoints of equal steps of the angle whose squared sine is the rate. The steps cover only the
        range of this distribution, so that a narrow one has as many as a wide one.
        """
        n = self.passes + self.fails
        low, high = 0.0, math.pi / 2
        if n >= 4:
            centre, reach = math.asin(math.sqrt(self.passes / n)), 5 / (2 * math.sqrt(n + 1))
            low, high = max(low, centre - reach), min(high, centre + reach)
        angles = [low + (high - low) * (i + 0.5) / number for i in range(number)]
        weights = self._within(low, high, number) if min(self.passes, self.fails) < 0.5 else self._around(angles)
        total = math.fsum(weights)
        return [(math.sin(angle) ** 2, weight / total) for angle, weight in zip(angles, weights, strict=True)]

    def _around(self, angles: Sequence[float]) -> list[float]:
        """Weights proportional to the density at the angles."""
        up, down = 2 * self.passes - 1, 2 * self.fails - 1
        logs = [up * math.log(math.sin(angle)) + down * math.log(math.cos(angle)) for angle in angles]
        top = max(logs)
        return [math.exp(each - top) for each in logs]

    def _within(self, low: float, high: float, number: int) -> list[float]:
        """Weights from the distribution function, because midpoints are inaccurate where cases pile up at an end."""
        edges = [math.sin(low + (high - low) * i / number) ** 2 for i in range(number + 1)]
        below = [regularised_beta(min(1.0, edge), self.passes, self.fails) for edge in edges]
        return [after - before for before, after in pairwise(below)]


class Moments(NamedTuple):
    """What the distribution of rates is fitted to: the mean rate, and the mean p(1-p).

    That is None if no trial was repeated: then all variation counts as chance.
    """

    mean: float
    chance: float | None

    @property
    def share(self) -> float:
        """How much of the variance of one trial is chance: 1 if all cases are alike."""
        if self.chance is None:
            return _MOST_CHANCE
        return min(max(self.chance / (self.mean * (1 - self.mean)), _SURE), _MOST_CHANCE)

    @property
    def weight(self) -> float:
        """Of the Beta distribution, in trials."""
        return self.share / (1 - self.share)


def laws_of_rows(rows: Sequence[Row]) -> list[CaseLaw]:
    """What two compared runs say about their cases' rates; both count, as if nothing had changed."""
    mean, weight = _parameters(moments_of_rows(rows))
    pooled = Counter((n_old, n_new, c_old + c_new) for n_old, c_old, n_new, c_new in rows)
    return [
        CaseLaw(mean * weight + c, (1 - mean) * weight + n_old + n_new - c, n_old, n_new, cases)
        for (n_old, n_new, c), cases in sorted(pooled.items())
    ]


def laws_of_history(counts: Iterable[tuple[int, int]], cases: int, trials: int) -> list[CaseLaw]:
    """What (trials, passes) of earlier cases say about `cases` of the same kind with `trials` each in both runs.

    Without any result, every case is assumed to pass half the time, where chance is largest.
    """
    counted = Counter((n, c) for n, c in counts if n)
    if not counted:
        return [CaseLaw(_ALIKE / 2, _ALIKE / 2, trials, trials, cases)]
    mean, weight = _parameters(moments_of_counts(counted.items()))
    share = cases / counted.total()
    return [
        CaseLaw(mean * weight + c, (1 - mean) * weight + n - c, trials, trials, k * share)
        for (n, c), k in sorted(counted.items())
    ]


def shared_laws(moments: Moments, sizes: Mapping[tuple[int, int], int]) -> list[CaseLaw]:
    """One distribution for all cases, whatever their own passes; `sizes` counts cases by their trials in both runs."""
    mean, weight = _parameters(moments)
    return [
        CaseLaw(mean * weight, (1 - mean) * weight, n_old, n_new, cases)
        for (n_old, n_new), cases in sorted(sizes.items())
    ]


def law_of_counts(counts: Sequence[tuple[tuple[int, int], float]]) -> tuple[float, float]:
    """Mean and weight of the Beta distribution, from ((trials, passes), number of cases)."""
    return _parameters(moments_of_counts(counts))


def moments_of_rows(rows: Sequence[Row]) -> Moments:
    counted = Counter(rows)
    return _moments(
        [(n_old + n_new, c_old + c_new, cases) for (n_old, c_old, n_new, c_new), cases in counted.items()],
        [(_chance_of_row(row), cases) for row, cases in counted.items()],
    )


def moments_of_counts(counts: Iterable[tuple[tuple[int, int], float]]) -> Moments:
    """Chance is unbiased, from the cases with more than one trial."""
    counts = list(counts)
    return _moments(
        [(n, c, k) for (n, c), k in counts],
        [(c * (n - c) / (n * (n - 1)), k) for (n, c), k in counts if n > 1],
    )


def _moments(counts: Sequence[tuple[int, int, float]], chances: Sequence[tuple[float, float]]) -> Moments:
    """`counts` has (trials, passes, number of cases); `chances` has (p(1-p), number of cases)."""
    cases = math.fsum(k for _, _, k in counts)
    rate = (math.fsum(k * c for _, c, k in counts) + 0.5) / (math.fsum(k * n for n, _, k in counts) + 1)
    mean = (math.fsum(k * c / n for n, c, k in counts) + rate) / (cases + 1)
    if not chances:
        return Moments(mean, None)
    chance = (math.fsum(k * each for each, k in chances) + _UNSEEN_CHANCE) / (math.fsum(k for _, k in chances) + 1)
    return Moments(mean, chance)


def _parameters(moments: Moments) -> tuple[float, float]:
    return moments.mean, moments.weight


def _chance_of_row(row: Row) -> float:
    """Unbiased p(1-p), within each run if both repeat trials, so that a drop does not count as chance."""
    n_old, c_old, n_new, c_new = row
    if n_old > 1 and n_new > 1:
        return (c_old * (n_old - c_old) / n_old + c_new * (n_new - c_new) / n_new) / (n_old + n_new - 2)
    n, c = n_old + n_new, c_old + c_new
    return c * (n - c) / (n * (n - 1))
