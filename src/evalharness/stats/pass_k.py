"""pass@k and pass^k of one case, from its trials.

pass@k is the chance that at least one of k trials passes (capability), pass^k that all k pass (reliability). Both are
unbiased combinatorial estimators, computed per case in exact integers. Callers average them over cases; pooling the
trials of different cases first would measure something else. Intervals are in `intervals.py`.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

from evalharness.errors import UnknownName, UsageError

MOST_IN_INTEGERS = 20_000
MOST_DRAWN_IN_INTEGERS = 2_000
"""Beyond both limits, exact integers would take seconds."""
PassHatEstimator = Literal["unbiased", "plugin"]


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that at least one of k trials passes, given c passes in n; None if k > n."""
    _check(n, c, k)
    if k > n:
        return None
    if _is_too_large(n, k):
        return -math.expm1(_log_chance_of_all(n, n - c, k))
    draws = math.comb(n, k)
    # One division of integers is correctly rounded; the product form in floats loses digits when passes are rare.
    return (draws - math.comb(n - c, k)) / draws


def pass_hat_k(n: int, c: int, k: int, estimator: PassHatEstimator = "unbiased") -> float | None:
    """The chance that all of k trials pass, given c passes in n; None if k > n.

    "plugin" is (c/n)^k, which overstates reliability, most of all for k > n, so it is None there too.
    """
    _check(n, c, k)
    if estimator not in get_args(PassHatEstimator):
        raise UnknownName("pass^k estimator", str(estimator), get_args(PassHatEstimator))
    if k > n:
        return None
    if estimator == "plugin":
        plugin: float = c**k / n**k
        return plugin
    return math.exp(_log_chance_of_all(n, c, k)) if _is_too_large(n, k) else math.comb(c, k) / math.comb(n, k)


def printed_k(n: int) -> tuple[int, ...]:
    """The values of k that a report shows for n trials per case: 1, 3 and the largest k up to n/2."""
    if n < 0:
        raise UsageError(f"the number of trials cannot be negative, got {n}")
    return tuple(sorted(k for k in {1, 3, n // 2} if 1 <= k <= n))


def _is_too_large(n: int, k: int) -> bool:
    return n > MOST_IN_INTEGERS and k > MOST_DRAWN_IN_INTEGERS


def _log_chance_of_all(n: int, c: int, k: int) -> float:
    """log of C(c, k)/C(n, k), summed over k or n - c factors, whichever are fewer."""
    if c < k:
        return -math.inf
    if k <= n - c:
        return math.fsum(math.log1p((c - n) / (n - drawn)) for drawn in range(k))
    return math.fsum(math.log1p(-k / left) for left in range(c + 1, n + 1))


def _check(n: int, c: int, k: int) -> None:
    if not all(isinstance(number, int) for number in (n, c, k)):
        raise UsageError(f"trials, passes and k are whole numbers, got {n}, {c} and {k}")
    if k < 1:
        raise UsageError(f"k must be at least 1, got {k}")
    if not 0 <= c <= n:
        raise UsageError(f"passes must be between 0 and the {n} trials, got {c}")
