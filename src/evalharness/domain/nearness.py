"""How near two texts are in meaning, from 0 to 1: what can be said without a model, and what its vectors say."""

from __future__ import annotations

from collections.abc import Sequence

from evalharness.errors import Unscored
from evalharness.stats.cosine import cosine


def nearness_of_texts(one: str, other: str) -> float | None:
    """1 for the same text but for white space around it, 0 where only one is blank; None where a model must say."""
    if one.strip() == other.strip():
        return 1.0
    return None if one.strip() and other.strip() else 0.0


def nearness_of_vectors(one: Sequence[float], other: Sequence[float], model: str) -> float:
    """The cosine, where negative ones count as 0. Raises Unscored where a vector of this model has no direction."""
    if not (any(one) and any(other)):
        raise unusable(model, "a vector of zeros has no direction")
    return max(0.0, cosine(one, other))


def unusable(model: str, why: str) -> Unscored:
    return Unscored(f"the embeddings of {model} cannot be used: {why}")
