"""Smallest loss: what a comparison of some size would find.

Plans only: passes by the law of the exact test, other figures by the normal law and the least evidence a test needs.
What was found is in `engine/comparing/metric_difference.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evalharness.domain.gate import RegressionRule
from evalharness.stats.beta import beta_quantile
from evalharness.stats.drop_range import DropRange, drops_of_rows
from evalharness.stats.paired import left_open
from evalharness.stats.rate_laws import Row
from evalharness.stats.student import normal_quantile, student_t_quantile

MOST_TRIALS = 100
"""Per case: where more were needed, more cases are the better advice."""
MOST_OF_RUN = 10**8
"""Trials of a run: whoever needs more asked for too small an effect."""


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials and passes of each case in both runs."""

    rows: Sequence[Row]

    def detectable(self, rule: RegressionRule) -> DropRange:
        """The smallest drop of the pass rate on these cases that two such runs show with the power asked for."""
        return drops_of_rows(self.rows, rule.alpha, rule.power)


@dataclass(frozen=True, slots=True)
class Figures:
    """One figure per case, or per cluster of cases; `variance` is that of their changes, None if unknown."""

    number: int
    as_many: float
    """How many of equal weight would say as much."""
    variance: float | None
    trials: float = math.inf
    """How many pass/fail trials are behind each: of few, most do not show a small loss at all."""

    def detectable(self, rule: RegressionRule) -> DropRange:
        """The smallest shift of their mean; where they do not vary, what so many agreeing ones leave open."""
        return DropRange.of(self._smallest_shift(rule))

    def _smallest_shift(self, rule: RegressionRule) -> float:
        if not self.variance:
            return left_open(self.as_many, 1 - rule.alpha)
        reach = normal_quantile(1 - rule.alpha) + normal_quantile(rule.power)
        planned = few_for_many(self.as_many, rule) * reach * math.sqrt(self.variance / self.number)
        return max(planned, least_flipped(self.number, self.trials, rule))


def few_for_many(number: float, rule: RegressionRule) -> float:
    """How much more a test of so few figures needs than the normal law says: they tell their own variance badly.

    It is estimated twice, for the size that is reported and by the test: hence half the degrees of freedom. Where only
    the outermost of all sign flips is rare enough, every one of them must fall.
    """
    wanted = (1 - rule.alpha, rule.power)
    figures = max(2, math.floor(number + 1e-9))
    reach = sum(map(normal_quantile, wanted))
    by_student = sum(student_t_quantile(p, max(1.0, (figures - 1) / 2)) for p in wanted) / reach
    if figures > _fewest_failures(rule.alpha):
        return by_student
    all_fall = student_t_quantile(math.pow(rule.power, 1 / figures), figures - 1)
    return max(by_student, all_fall * math.sqrt(figures) / reach)


def least_flipped(number: int, trials: float, rule: RegressionRule) -> float:
    """The loss at which as many of them fall as a sign-flip test needs at least; 0 where any loss is seen in each."""
    needed = _fewest_failures(rule.alpha)
    if math.isinf(trials) or number < needed:
        return 0.0 if math.isinf(trials) else 1.0
    return 1 - math.pow(1 - beta_quantile(rule.power, needed, number - needed + 1), 1 / trials)


def least_failed(trials: int, rule: RegressionRule) -> float:
    """The loss at which as many of so many trials fail as the exact test needs at least."""
    needed = _fewest_failures(rule.alpha)
    return beta_quantile(rule.power, needed, trials - needed + 1) if trials >= needed else 1.0


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
