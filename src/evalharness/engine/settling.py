"""Settling: what a comparison can show at its size, and what size would show the loss that matters.

Plans only, by the normal law and the least evidence a test needs; what was found is in `differing.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from evalharness.domain.gate import RegressionRule
from evalharness.domain.plain_numbers import points
from evalharness.stats.beta import beta_quantile
from evalharness.stats.power import mde_fixed_cases, trials_for_effect
from evalharness.stats.student import normal_quantile

MOST_TRIALS = 100
"""Per case: where more were needed, more cases are the better advice."""
_MOST = 10**8
_FINEST = 1e-4


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


def detectable_shift(size: Size, rule: RegressionRule) -> float | None:
    """The same for one figure per case; None where their spread is not known or seems to be none."""
    return _reach(rule) * math.sqrt(size.between / size.cases) if size.between else None


def settle_drop(size: Size, rule: RegressionRule, drop: float) -> str:
    """What would show a drop of the pass rate by the margin; `drop` is the one that was seen."""
    margin = points(rule.least_loss)
    fewest = _fewest_trials(rule)
    if size.within == 0 and not size.between:
        return f"about {fewest:,} cases (now {size.cases:,}) would show a drop of {margin}"
    needed = _trials_for(size, rule, rule.least_loss)
    if needed is not None and needed <= size.trials and drop > 0:
        needed = _trials_for(size, rule, drop)
        margin = f"{points(drop)}, if it is real,"
    now = f"now {size.trials:.3g}"
    if needed is not None and size.trials < needed <= MOST_TRIALS:
        return f"{needed:,} trials per case in both runs ({now}) would show a drop of {margin}"
    per_case = (size.between or 0.0) + 2 * size.within / size.trials
    cases = max(math.ceil(per_case * (_reach(rule) / rule.least_loss) ** 2), math.ceil(fewest / size.trials))
    why = "more trials cannot help, because some cases got better and others worse; " if needed is None else ""
    told = f"about {max(cases, size.cases + 1):,} cases (now {size.cases:,}) with as many trials"
    return f"{why}{told} would show a drop of {points(rule.least_loss)}"


def settle_shift(size: Size, rule: RegressionRule, margin: float) -> str:
    """The same for one figure per case; `margin` on the scale of the figures."""
    if not size.between:
        return "more cases"
    cases = math.ceil(size.between * (_reach(rule) / margin) ** 2)
    return f"about {max(cases, size.cases + 1):,} cases (now {size.cases:,}), or more trials of each to steady its mean"


def _trials_for(size: Size, rule: RegressionRule, effect: float) -> int | None:
    effect = max(effect, _FINEST)
    needed = trials_for_effect(
        effect, size.within, size.cases, difference_variance=size.between or 0.0, alpha=rule.alpha, power=rule.power
    )
    return None if needed is None else max(needed, math.ceil(_fewest_trials(rule) / size.cases))


def _fewest_failures(alpha: float) -> int:
    """How many trials must turn from pass to fail, nothing else changing: each is a coin toss by chance."""
    return math.ceil(-math.log2(alpha))


def _fewest_trials(rule: RegressionRule) -> int:
    """How many trials it takes for a drop by the margin to bring that many failures about."""
    failures = _fewest_failures(rule.alpha)
    low, high = failures - 1, failures
    while high < _MOST and beta_quantile(rule.power, failures, high - failures + 1) > rule.least_loss:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = beta_quantile(rule.power, failures, middle - failures + 1) <= rule.least_loss
        low, high = (low, middle) if enough else (middle, high)
    return high


def _reach(rule: RegressionRule) -> float:
    return normal_quantile(1 - rule.alpha) + normal_quantile(rule.power)
