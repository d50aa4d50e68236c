"""Detecting: the smallest loss that a comparison of some size would find.

Plans only, by the normal law and the least evidence a test needs; what was found is in `differing.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from evalharness.domain.gate import RegressionRule
from evalharness.stats.beta import beta_quantile
from evalharness.stats.paired import left_open
from evalharness.stats.power import mde_fixed_cases
from evalharness.stats.student import normal_quantile, student_t_quantile

MOST_TRIALS = 100
"""Per case: where more were needed, more cases are the better advice."""
MOST_OF_RUN = 10**8
"""Trials of a run: whoever needs more asked for too small an effect."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Passes of so many trials per case and run, `within` the variance of one trial of a case."""

    cases: int
    per_case: float
    within: float

    def detectable(self, rule: RegressionRule) -> float:
        """The smallest drop of the pass rate on these cases that is found with the power asked for.

        Where trials hardly vary, the number of failures that the test needs at least is what counts.
        """
        planned = mde_fixed_cases(self.within, self.cases, self.per_case, rule.alpha, rule.power)
        trials, failures = round(self.cases * self.per_case), _fewest_failures(rule.alpha)
        least = beta_quantile(rule.power, failures, trials - failures + 1) if trials >= failures else 1.0
        return min(1.0, max(planned, least))


@dataclass(frozen=True, slots=True)
class Figures:
    """One figure per case, or per cluster of cases; `variance` is that of their changes, None if unknown."""

    number: int
    as_many: float
    """How many of equal weight would say as much."""
    variance: float | None

    def detectable(self, rule: RegressionRule) -> float:
        """The smallest shift of their mean; where they do not vary, what so many agreeing ones leave open."""
        if not self.variance:
            return left_open(self.as_many, 1 - rule.alpha)
        reach = normal_quantile(1 - rule.alpha) + normal_quantile(rule.power)
        return student_for_normal(self.number, rule) * reach * math.sqrt(self.variance / self.number)


def student_for_normal(number: int, rule: RegressionRule) -> float:
    """How much wider Student's law is than the normal one: few cases or clusters tell their own variance badly."""
    wanted = (1 - rule.alpha, rule.power)
    return sum(student_t_quantile(p, number - 1) for p in wanted) / sum(map(normal_quantile, wanted))


def can_show_a_loss(cases: int, trials: int, alpha: float, clusters: int | None = None) -> bool:
    """Whether the test reaches its level at all: if every trial passed before and none does now.

    Then each case is one of the C(2K, K) ways in which its trials could have fallen on the two runs, each cluster of
    cases one of two.
    """
    if clusters is not None:
        return clusters >= _fewest_failures(alpha)
    return cases * trials >= _fewest_failures(alpha) or math.comb(2 * trials, trials) ** cases * alpha >= 1


def _fewest_failures(alpha: float) -> int:
    """How many trials must turn from pass to fail, nothing else changing: each is a coin toss by chance."""
    return math.ceil(-math.log2(alpha))


def fewest(enough: Callable[[int], bool], most: int) -> int | None:
    """The smallest number from 1 on that is enough, where every larger one is too; None where `most` is too few."""
    low, high = 0, 1
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
