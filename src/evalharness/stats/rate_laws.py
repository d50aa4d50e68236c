"""What the passes of cases say about their pass rates: a Beta law for each case, its mean and spread those of all.

A case's own share of passes will not do as its rate: 4 of 4 is not certainty, and one trial says nothing about chance.
So rates are taken to follow a Beta law with the mean and the chance, p(1-p), of all cases and one imaginary case, and
each case's own passes sharpen it. What a test would find with such rates is in `exact_power.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evalharness.stats.beta import regularised_beta

Row = tuple[int, int, int, int]
"""One case: trials before, passes before, trials now, passes now."""
Nodes = Sequence[tuple[float, float]]
"""Rates, each with its weight; the weights add up to 1."""

_UNSEEN_CHANCE = 0.1
"""p(1-p) of the imaginary case: a few cases that never varied do not prove that none does."""
_ALIKE = 1e3
"""The weight in trials of a law of cases that are all alike."""
_SURE = 1e-3
"""The least share of chance in the variance of one trial: so nearly all cases pass always or never."""


@dataclass(frozen=True, slots=True)
class CaseLaw:
    """`cases` (a number, or a share where more are planned) with pass rate Beta(passes, fails), and their trials."""

    passes: float
    fails: float
    n_old: int
    n_new: int
    cases: float = 1.0

    def nodes(self, number: int) -> Nodes:
        """The law as weights of so many rates: the middles of equal steps of the angle whose squared sine is the rate.

        The steps cover the law's own range only, so that a narrow law has as many as a wide one.
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
        """As high as the law's density of angles is there."""
        up, down = 2 * self.passes - 1, 2 * self.fails - 1
        logs = [up * math.log(math.sin(angle)) + down * math.log(math.cos(angle)) for angle in angles]
        top = max(logs)
        return [math.exp(each - top) for each in logs]

    def _within(self, low: float, high: float, number: int) -> list[float]:
        """By the law itself: where sure cases pile up at an end, the middle of a step says too little of it."""
        edges = [math.sin(low + (high - low) * i / number) ** 2 for i in range(number + 1)]
        below = [regularised_beta(min(1.0, edge), self.passes, self.fails) for edge in edges]
        return [after - before for before, after in pairwise(below)]


def laws_of_rows(rows: Iterable[Row]) -> list[CaseLaw]:
    """What two compared runs say about their cases' rates; both count, as if nothing had changed.

    Where no run repeats a trial, all cases share one law: two results hardly sharpen it, and only their sum counts.
    """
    counted = Counter(rows)
    pooled: Counter[tuple[int, int, int]] = Counter()
    for (n_old, c_old, n_new, c_new), cases in counted.items():
        pooled[n_old, n_new, c_old + c_new] += cases
    mean, weight = fitted_law(
        [(n_old + n_new, c, cases) for (n_old, n_new, c), cases in pooled.items()],
        [(_chance_of_row(row), cases) for row, cases in counted.items()],
    )
    if all(n_old == n_new == 1 for n_old, n_new, _ in pooled):
        return [CaseLaw(mean * weight, (1 - mean) * weight, 1, 1, pooled.total())]
    return [
        CaseLaw(mean * weight + c, (1 - mean) * weight + n_old + n_new - c, n_old, n_new, cases)
        for (n_old, n_new, c), cases in sorted(pooled.items())
    ]


def laws_of_history(counts: Iterable[tuple[int, int]], cases: int, trials: int) -> list[CaseLaw]:
    """What (trials, passes) of earlier cases say about `cases` of the same kind with `trials` each in both runs.

    Without repeated trials chance cannot be told from cases that differ: then all of it is taken for chance. Without
    any result every case passes half the time, where chance is largest.
    """
    counted = Counter((n, c) for n, c in counts if n)
    if not counted:
        return [CaseLaw(_ALIKE / 2, _ALIKE / 2, trials, trials, cases)]
    mean, weight = fitted_law([(n, c, k) for (n, c), k in counted.items()], _chances(counted.items()))
    share = cases / counted.total()
    return [
        CaseLaw(mean * weight + c, (1 - mean) * weight + n - c, trials, trials, k * share)
        for (n, c), k in sorted(counted.items())
    ]


def law_of_counts(counts: Sequence[tuple[tuple[int, int], float]]) -> tuple[float, float]:
    """Mean and weight of the Beta law of cases with (trials, passes), each standing for so many."""
    return fitted_law([(n, c, k) for (n, c), k in counts], _chances(counts))


def fitted_law(counts: Sequence[tuple[int, int, float]], chances: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Mean and weight (in trials) of the Beta law, by moments: trials and passes, and p(1-p), each of so many cases."""
    cases = math.fsum(k for _, _, k in counts)
    rate = (math.fsum(k * c for _, c, k in counts) + 0.5) / (math.fsum(k * n for n, _, k in counts) + 1)
    mean = (math.fsum(k * c / n for n, c, k in counts) + rate) / (cases + 1)
    if not chances:
        return mean, _ALIKE
    chance = (math.fsum(k * each for each, k in chances) + _UNSEEN_CHANCE) / (math.fsum(k for _, k in chances) + 1)
    share = min(max(chance / (mean * (1 - mean)), _SURE), _ALIKE / (1 + _ALIKE))
    return mean, share / (1 - share)


def _chances(counts: Iterable[tuple[tuple[int, int], float]]) -> list[tuple[float, float]]:
    """p(1-p), unbiased, of the cases that were tried more than once."""
    return [(c * (n - c) / (n * (n - 1)), k) for (n, c), k in counts if n > 1]


def _chance_of_row(row: Row) -> float:
    """p(1-p), unbiased: within each run where both repeat trials, so that a drop does not count as chance."""
    n_old, c_old, n_new, c_new = row
    if n_old > 1 and n_new > 1:
        return (c_old * (n_old - c_old) / n_old + c_new * (n_new - c_new) / n_new) / (n_old + n_new - 2)
    n, c = n_old + n_new, c_old + c_new
    return c * (n - c) / (n * (n - 1))
