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
from evalharness.stats.student import normal_quantile

MOST_TRIALS = 100
"""Per case: where more were needed, more cases are the better advice."""
MOST_OF_RUN = 10**8
"""Trials of a run: whoever needs more asked for too small an effect."""


@dataclass(frozen=True, slots=True)
class Size:
    """`trials` per case and run; `within`: the variance of one trial of a case; `between`: that of the cases' changes.

    For scores and ratios, which have one figure per case, `between` is all the variance there is; None if unknown.
    """

    cases: int
    trials: float
    within: float
    between: float | None


def detectable_drop(size: Size, rule: RegressionRule) -> float:
    """The smallest drop of the pass rate on these cases that is found with the power asked for.

    Where trials hardly vary, the number of failures that the test needs at least is what counts.
    """
    planned = mde_fixed_cases(size.within, size.cases, size.trials, rule.alpha, rule.power)
    trials, failures = round(size.cases * size.trials), _fewest_failures(rule.alpha)
    least = beta_quantile(rule.power, failures, trials - failures + 1) if trials >= failures else 1.0
    return min(1.0, max(planned, least))


def detectable_shift(size: Size, rule: RegressionRule) -> float:
    """The same for one figure per case; where they do not vary, what so many agreeing cases leave open."""
    if not size.between:
        return left_open(size.cases, 1 - rule.alpha)
    return _reach(rule) * math.sqrt(size.between / size.cases)


def can_show_a_loss(cases: int, trials: int, alpha: float) -> bool:
    """Whether the test reaches its level at all: if every trial passed before and none does now.

    Then each case is one of the C(2K, K) ways in which its trials could have fallen on the two runs.
    """
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


def _reach(rule: RegressionRule) -> float:
    return normal_quantile(1 - rule.alpha) + normal_quantile(rule.power)
