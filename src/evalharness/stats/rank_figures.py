"""Figures of a ranked list: whether the expected documents are in it, and how far up. Ranks start at 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class RankFigures(NamedTuple):
    """Each from 0 to 1. The two hits are 0 or 1."""

    hit_at_1: float
    hit_at_k: float
    recall: float
    precision_at_k: float
    mrr: float
    """Of one list: 1 ÷ the rank of the first expected document. Its mean over lists gives the measure its name."""
    ndcg: float


def rank_figures(gains: Sequence[float], ranks: Sequence[int | None], retrieved: int, k: int | None) -> RankFigures:
    """`gains` has what each expected document is worth, `ranks` where it was found; None means nowhere.

    `retrieved` is the length of the list. Only its first `k` places count; None means all of them. If the list is
    shorter than `k`, the places that are missing count as misses in the precision.
    """
    found = [(rank, gain) for rank, gain in zip(ranks, gains, strict=True) if rank and (k is None or rank <= k)]
    first = min((rank for rank, _ in found), default=None)
    places = retrieved if k is None else k
    return RankFigures(
        hit_at_1=float(first == 1),
        hit_at_k=float(first is not None),
        recall=len(found) / len(gains),
        precision_at_k=len({rank for rank, _ in found}) / places if places else 0.0,
        mrr=1 / first if first else 0.0,
        ndcg=_ndcg(gains, found, k),
    )


def _ndcg(gains: Sequence[float], found: Iterable[tuple[int, float]], k: int | None) -> float:
    """Gains are used as they are and divided by log2(rank + 1). The ideal list has the largest gains first.

    One place may have several expected documents, such as a long text that contains them all. They then count as if
    they filled places from the top, so that no list is better than the ideal one.
    """
    largest = max(gains)  # scaled, so that sums of very large gains do not overflow
    ideal = [(place, gain) for place, gain in enumerate(sorted(gains, reverse=True), 1)][:k]
    ordered = sorted(found, key=lambda each: (each[0], -each[1]))[:k]
    actual = [(max(rank, place), gain) for place, (rank, gain) in enumerate(ordered, 1)]
    return min(1.0, _dcg(actual, largest) / _dcg(ideal, largest))


def _dcg(placed: Iterable[tuple[int, float]], unit: float) -> float:
    return math.fsum(gain / unit / math.log2(place + 1) for place, gain in placed)
