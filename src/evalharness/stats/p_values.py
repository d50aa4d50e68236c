"""The result of a test of change, the same for every test, and adjustments for testing several hypotheses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evalharness.errors import UsageError


@dataclass(frozen=True, slots=True)
class PValues:
    """`p_less` is small if the new side is worse, `p_greater` if it is better.

    Exact p-values are too large by at most `error_bound` and never too small, so that rounding raises no alarm.
    `method` says if they are simulated or approximated. `n` counts what the test could use: cases, pairs or differences
    that are not 0. `seed` is set only if the p-values depend on it.
    """

    p_less: float
    p_greater: float
    method: str
    n: int
    error_bound: float = 0.0
    seed: int | None = None


# p-values adjusted for several hypotheses, in the given order.
#
# Holm is for gates: the chance of even one false alarm stays below the level. Benjamini-Hochberg is for lists to look
# through: the share of false entries in the list stays below it. Callers decide which hypotheses form a family.


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment; compare each result with the level as if it were the only one."""
    adjusted: dict[float, float] = {}
    left, highest = len(p_values), 0.0
    for p, repeats in _ascending(p_values):
        highest = max(highest, p * left)
        adjusted[p] = min(1.0, highest)
        left -= repeats
    return [adjusted[p] for p in p_values]


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's step-up adjustment (also known as q-values)."""
    adjusted: dict[float, float] = {}
    left, lowest = len(p_values), 1.0
    for p, repeats in reversed(_ascending(p_values)):
        lowest = min(lowest, p / (left / len(p_values)))
        adjusted[p] = lowest
        left -= repeats
    return [adjusted[p] for p in p_values]


def _ascending(p_values: Sequence[float]) -> list[tuple[float, int]]:
    """The distinct p-values with their counts, ascending; equal ones are adjusted alike."""
    counted = sorted(Counter(p_values).items())
    if not all(0 <= p <= 1 for p, _ in counted):
        raise UsageError("every p-value must be between 0 and 1")
    return counted
