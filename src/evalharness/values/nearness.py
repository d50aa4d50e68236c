"""The similarity of two texts in meaning, from 0 to 1: the cases that need no model, and the cosine of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evalharness.errors import Unscored


def nearness_of_texts(one: str, other: str) -> float | None:
    """1 if the texts are equal but for surrounding white space, 0 if only one is blank; None if a model must decide."""
    if one.strip() == other.strip():
        return 1.0
    return None if one.strip() and other.strip() else 0.0


def nearness_of_vectors(one: Sequence[float], other: Sequence[float], model: str) -> float:
    """The cosine, with negative values as 0. Raises Unscored if a vector of this model has length 0."""
    if not (any(one) and any(other)):
        raise unusable(model, "a vector of zeros has no direction")
    return max(0.0, cosine(one, other))


def unusable(model: str, why: str) -> Unscored:
    return Unscored(f"the embeddings of {model} cannot be used: {why}")


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors, from -1 to 1; 0 if one has length 0.

    Raises ValueError for vectors of different sizes.
    """
    value = math.fsum(a * b for a, b in zip(_direction(one), _direction(other), strict=True))
    return max(-1.0, min(1.0, value))


def _direction(vector: Sequence[float]) -> list[float]:
    """The vector scaled to length 1; a vector of length 0 stays as it is."""
    largest = max(map(abs, vector), default=0.0) or 1.0  # so that large numbers stay finite
    scaled = [value / largest for value in vector]
    length = math.hypot(*scaled) or 1.0
    return [value / length for value in scaled]
