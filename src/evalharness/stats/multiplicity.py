"""p-values adjusted for having asked several questions at once, in the order they were given.

Holm for gates: the chance of even one false alarm stays below the level. Benjamini-Hochberg for lists to look
through: the share of false entries among those listed stays below it. Which questions form a family, callers decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from evalharness.errors import UsageError


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment; compare each with the level as if it were the only one."""
    order = _ascending(p_values)
    raised = [p_values[index] * (len(order) - rank) for rank, index in enumerate(order)]
    return _in_given_order(order, accumulate(raised, max))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's step-up adjustment (also known as q-values)."""
    order = _ascending(p_values)[::-1]
    raised = [p_values[index] / ((len(order) - rank) / len(order)) for rank, index in enumerate(order)]
    return _in_given_order(order, accumulate(raised, min))


def _ascending(p_values: Sequence[float]) -> list[int]:
    if not all(0 <= p <= 1 for p in p_values):
        raise UsageError("every p-value must lie between 0 and 1")
    return sorted(range(len(p_values)), key=p_values.__getitem__)


def _in_given_order(order: Sequence[int], adjusted: Iterable[float]) -> list[float]:
    placed = [0.0] * len(order)
    for index, p in zip(order, adjusted, strict=True):
        placed[index] = min(1.0, p)
    return placed
