"""How alike two directions are: the cosine of the angle between two vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence


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
