"""What the passes of cases say about their pass rates: a Beta distribution for each case.

A case's share of passes is a poor estimate of its rate: 4 of 4 is not certainty, and one trial says nothing about
chance. So rates are assumed to follow a Beta distribution with the mean and the mean p(1-p) of all cases and one
imagined case. Each case's own passes then update it. `exact_power.py` computes what a test finds with such rates.
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
"""Rates with their weights; the weights add up to 1."""

_UNSEEN_CHANCE = 0.1
"""p(1-p) of the imagined case: a few cases that never varied do not prove that none does."""
_ALIKE = 1e3
"""The weight, in trials, of the distribution if all cases are alike."""
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


def laws_of_rows(rows: Iterable[Row]) -> list[CaseLaw]:
    """What two compared runs say about their cases' rates; both count, as if nothing had changed.

    If no run repeats a trial, all cases share one distribution: two results hardly update it, and only their sum
    counts.
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

    Without repeated trials, chance cannot be distinguished from differences between cases; then all variation counts as
    chance. Without any result, every case is assumed to pass half the time, where chance is largest.
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
    """Mean and weight of the Beta distribution, from ((trials, passes), number of cases)."""
    return fitted_law([(n, c, k) for (n, c), k in counts], _chances(counts))


def fitted_law(counts: Sequence[tuple[int, int, float]], chances: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Mean and weight (in trials) of the Beta distribution, by moments.

    `counts` has (trials, passes, number of cases); `chances` has (p(1-p), number of cases).
    """
    cases = math.fsum(k for _, _, k in counts)
    rate = (math.fsum(k * c for _, c, k in counts) + 0.5) / (math.fsum(k * n for n, _, k in counts) + 1)
    mean = (math.fsum(k * c / n for n, c, k in counts) + rate) / (cases + 1)
    if not chances:
        return mean, _ALIKE
    chance = (math.fsum(k * each for each, k in chances) + _UNSEEN_CHANCE) / (math.fsum(k for _, k in chances) + 1)
    share = min(max(chance / (mean * (1 - mean)), _SURE), _ALIKE / (1 + _ALIKE))
    return mean, share / (1 - share)


def _chances(counts: Iterable[tuple[tuple[int, int], float]]) -> list[tuple[float, float]]:
    """Unbiased p(1-p) of the cases with more than one trial."""
    return [(c * (n - c) / (n * (n - 1)), k) for (n, c), k in counts if n > 1]


def _chance_of_row(row: Row) -> float:
    """Unbiased p(1-p), within each run if both repeat trials, so that a drop does not count as chance."""
    n_old, c_old, n_new, c_new = row
    if n_old > 1 and n_new > 1:
        return (c_old * (n_old - c_old) / n_old + c_new * (n_new - c_new) / n_new) / (n_old + n_new - 2)
    n, c = n_old + n_new, c_old + c_new
    return c * (n - c) / (n * (n - 1))
