"""Compare two runs on the same cases, one figure per case: tests of change and an interval for the mean difference.

McNemar's test is for one pass/fail trial per side. The test for scores is in `sign_flips.py`, the one for several
pass/fail trials per case in `stratified.py`. Differences are always new - old: below 0 is worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.errors import UsageError
from evalharness.stats.means import weighted_mean
from evalharness.stats.p_values import PValues
from evalharness.stats.student import student_t_quantile
from evalharness.stats.sum_laws import COIN, law_of_sum
from evalharness.stats.thresholds import LEVEL

# Equal differences can differ in their last bits; a smaller variance counts as none.
_NO_VARIANCE = 1e-24


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """`low` to `high` is the two-sided interval at `level`; `lower_bound` is the one-sided bound, for non-inferiority.

    `formula` is set if the margin does not come from a spread.
    """

    mean: float
    low: float
    high: float
    lower_bound: float
    level: float
    method: str
    n: int
    formula: str = ""


def mcnemar_exact(b: int, c: int) -> PValues:
    """McNemar's exact test: b cases passed before and fail now, c failed before and pass now."""
    if b < 0 or c < 0:
        raise UsageError(f"the numbers of changed cases cannot be negative, got {b} and {c}")
    if not b + c:
        return PValues(1.0, 1.0, "McNemar's exact test (no case changed)", 0)
    # Under the null hypothesis, each changed case is a coin toss: worse or better.
    law = law_of_sum([(COIN, b + c)])
    return PValues(law.at_least(b), law.at_most(b), "McNemar's exact test", b + c, law.error_bound)


def paired_difference(
    differences: Sequence[float],
    level: float = LEVEL,
    weights: Sequence[float] | None = None,
    span: float = 1.0,
    *,
    of_clusters: bool = False,
) -> PairedDifference | None:
    """The mean of one difference per case with Student's interval; None without cases.

    `span` is the width of the scale: 1 for rates and for scores from 0 to 1, infinite without a limit. The bounds stay
    within [-span, span].

    If all differences are equal, a spread of 0 is luck. The margin is then what so many agreeing cases cannot rule out.
    Without a limited scale, it is relative to 1 or to that difference, whichever is larger. A single case rules out
    nothing. On a limited scale, Student's margin is never narrower than this, so that one case that differs does not
    make the others look more certain. Cases of unequal weights count as correspondingly fewer cases of equal weight.
    With `of_clusters`, each difference is that of a cluster of cases, and `method` and `formula` say so.
    """
    if not 0 < level < 1:
        raise UsageError(f"a confidence level must be between 0 and 1, got {level}")
    if not span > 0:
        raise UsageError(f"the span of a scale is positive, got {span}")
    _check(differences, span)
    if not differences:
        return None
    cases = len(differences)
    mean, squared_error, as_many = _mean_and_squared_error(differences, _scaled(weights, cases))
    units = "clusters" if of_clusters else "cases"
    formula = f"1 - (1 - level)^(1/{units if math.isclose(as_many, cases) else f'{units} of equal weight'})"
    number = f", over {cases:,} clusters" if of_clusters else ""
    if cases == 1:
        two_sided = one_sided = 2 * span
        single = "one cluster only" if of_clusters else "a single case"
        method, formula = f"all that is possible ({single} says nothing about others)", ""
    elif squared_error * cases <= _NO_VARIANCE * max(1.0, mean * mean):
        two_sided = one_sided = left_open(as_many, level) * (span if math.isfinite(span) else max(1.0, abs(mean)))
        method = f"margin of equal differences{number}"
    else:
        error = math.sqrt(squared_error)
        two_sided = error * student_t_quantile((1 + level) / 2, cases - 1)
        one_sided = error * student_t_quantile(level, cases - 1)
        method = f"Student's t over {cases:,} clusters" if of_clusters else "Student's t over cases"
        least = left_open(as_many, level) * span if math.isfinite(span) else 0.0
        if one_sided < least:
            margin = f"least margin of so few {units}"
            bound = f"{method} (one-sided bound: {margin})"
            method = f"{margin}, wider than Student's t{number}" if two_sided < least else bound
            two_sided, one_sided = max(two_sided, least), least
        else:
            formula = ""
    low, high, lower_bound = (min(span, max(-span, mean + margin)) for margin in (-two_sided, two_sided, -one_sided))
    return PairedDifference(mean, low, high, lower_bound, level, method, cases, formula)


def left_open(cases: float, level: float) -> float:
    """The largest share of cases that may change although none of `cases` cases of equal weight did."""
    return 1 - math.pow(1 - level, 1 / cases)


def _mean_and_squared_error(
    differences: Sequence[float], weights: Sequence[float] | None
) -> tuple[float, float, float]:
    """The weighted mean, its squared standard error, and the equivalent number of cases of equal weight.

    Without weights the last two are sd²/M and M.
    """
    if weights is None:
        cases = len(differences)
        mean = math.fsum(differences) / cases
        squares = math.fsum([(difference - mean) ** 2 for difference in differences])
        return mean, squares / cases / (cases - 1) if cases > 1 else 0.0, cases
    mean = weighted_mean(zip(differences, weights, strict=True))
    total = math.fsum(weights)
    squares = math.fsum(weight * weight for weight in weights)
    deviations = [(difference - mean) ** 2 for difference in differences]
    variance = weighted_mean(zip(deviations, weights, strict=True))
    # The equivalent number of cases minus one, summed from its parts so that it does not round to 0.
    freedom = math.fsum(weight * (total - weight) for weight in weights) / squares
    return mean, variance / freedom if freedom else 0.0, freedom + 1


def _scaled(weights: Sequence[float] | None, cases: int) -> Sequence[float] | None:
    if weights is None:
        return None
    if len(weights) != cases:
        raise UsageError(f"{len(weights)} weights do not fit {cases} differences")
    if not all(0 < weight < math.inf for weight in weights):
        raise UsageError("every weight must be a positive number", hint="leave out cases of weight 0")
    largest = max(weights)
    return [weight / largest for weight in weights]


def _check(differences: Sequence[float], span: float) -> None:
    if not all(map(math.isfinite, differences)):
        raise UsageError("every difference must be a finite number")
    if differences and max(map(abs, differences)) > span:
        raise UsageError(f"a difference on a scale of width {span:g} lies between {-span:g} and {span:g}")
