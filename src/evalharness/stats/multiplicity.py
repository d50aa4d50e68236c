"""p-values adjusted for having asked several questions at once, in the order they were given.

Holm for gates: the chance of even one false alarm stays below the level. Benjamini-Hochberg for lists to look
through: the share of false entries among those listed stays below it. Which questions form a family, callers decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from evalharness.errors import UsageError


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment; compare each with the level as if it were the only one."""
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
    """Each p-value once, with how often it is there: equal ones are adjusted alike, and many cases have few."""
    counted = sorted(Counter(p_values).items())
    if not all(0 <= p <= 1 for p, _ in counted):
        raise UsageError("every p-value must lie between 0 and 1")
    return counted
