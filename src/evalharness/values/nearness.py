"""How near two texts are in meaning, from 0 to 1: what can be said without a model, and what its vectors say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalharness.errors import Unscored


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


# How alike two directions are: the cosine of the angle between two vectors.


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """From -1 to 1; 0 where one of them has no direction. Raises ValueError for vectors of different lengths."""
    value = math.fsum(a * b for a, b in zip(_direction(one), _direction(other), strict=True))
    return max(-1.0, min(1.0, value))


def _direction(vector: Sequence[float]) -> list[float]:
    """The same of length 1, or of length 0."""
    largest = max(map(abs, vector), default=0.0) or 1.0  # so that large numbers stay finite
    scaled = [value / largest for value in vector]
    length = math.hypot(*scaled) or 1.0
    return [value / length for value in scaled]
