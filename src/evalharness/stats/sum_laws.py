"""The distribution of a sum of independent integers, by convolution, with a proven bound on its error.

Probabilities are integer multiples of 2^-128 and are only ever rounded down: in the first distributions, in every
product, and where a negligible tail is cut. So no probability is too large, and the total error is what their sum lacks
to 1. A whole distribution is one large integer with a slot for each value. Multiplying two such integers convolves the
distributions, at the speed of Python's integers and with the same result everywhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

_BITS = 128
ONE = 1 << _BITS
# A tail with less than this probability is cut at each end. A hundred thousand such cuts stay below 1e-18.
_NEGLIGIBLE = ONE >> 80
# Products of two probabilities below 1, summed, fit into twice the bits.
_SLOT_BYTES = 2 * _BITS // 8


@dataclass(frozen=True, slots=True)
class SumLaw:
    """P(sum = start + i) is at least `weights[i] / ONE`; all shortfalls together are `missing / ONE`."""

    start: int
    weights: Sequence[int]

    @property
    def missing(self) -> int:
        return ONE - sum(self.weights)

    @property
    def error_bound(self) -> float:
        return self.missing / ONE

    def at_most(self, value: int) -> float:
        """P(sum <= value), too large by at most `error_bound`."""
        return (sum(self.weights[: max(0, value - self.start + 1)]) + self.missing) / ONE

    def at_least(self, value: int) -> float:
        """P(sum >= value), too large by at most `error_bound`."""
        return (sum(self.weights[max(0, value - self.start) :]) + self.missing) / ONE

    def times(self, factor: int) -> SumLaw:
        """The distribution of `factor` (1 or more) times the sum."""
        stretched = [0] * (factor * (len(self.weights) - 1) + 1)
        stretched[::factor] = self.weights
        return SumLaw(factor * self.start, stretched)


COIN = SumLaw(0, (ONE // 2, ONE // 2))
"""0 or 1, equally likely."""


def law_of_sum(laws_with_repeats: Iterable[tuple[SumLaw, int]]) -> SumLaw:
    """The distribution of the sum, from pairs of a distribution and the number of variables that have it."""
    pairs = list(laws_with_repeats)
    result = SumLaw(0, [ONE])
    # Square and multiply, from the highest bit of the repeats to the lowest, so that all powers share the squarings.
    for bit in reversed(range(max((repeats for _, repeats in pairs), default=0).bit_length())):
        result = _convolved(result, result)
        result = _convolved(result, _product([law for law, repeats in pairs if repeats >> bit & 1]))
    return result


def _product(laws: Iterable[SumLaw]) -> SumLaw:
    # Neighbours in the queue have similar widths, which keeps the tree of products balanced.
    queue = deque(laws) or deque([SumLaw(0, [ONE])])
    while len(queue) > 1:
        queue.append(_convolved(queue.popleft(), queue.popleft()))
    return queue[0]


def _convolved(left: SumLaw, right: SumLaw) -> SumLaw:
    if len(left.weights) == 1 or len(right.weights) == 1:
        return _plain_product(left, right)
    packed = _packed(left.weights)
    product = packed * (packed if left is right else _packed(right.weights))
    slots = len(left.weights) + len(right.weights) - 1
    digits = product.to_bytes(slots * _SLOT_BYTES, "little")
    # The upper half of each slot is the probability, the lower half is rounded off.
    weights = [
        int.from_bytes(digits[end - _SLOT_BYTES // 2 : end], "little")
        for end in range(_SLOT_BYTES, len(digits) + 1, _SLOT_BYTES)
    ]
    return without_tails(left.start + right.start, weights)


def _plain_product(left: SumLaw, right: SumLaw) -> SumLaw:
    """For a constant, whose probability 1 would not fit into the slot."""
    weights = [ours * theirs >> _BITS for ours in left.weights for theirs in right.weights]
    return SumLaw(left.start + right.start, weights)


def _packed(weights: Sequence[int]) -> int:
    return int.from_bytes(b"".join(weight.to_bytes(_SLOT_BYTES, "little") for weight in weights), "little")


def without_tails(start: int, weights: Sequence[int]) -> SumLaw:
    low = sum(1 for total in accumulate(weights) if total < _NEGLIGIBLE)
    high = sum(1 for total in accumulate(reversed(weights)) if total < _NEGLIGIBLE)
    return SumLaw(start + low, weights[low : len(weights) - high])
