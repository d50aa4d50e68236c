"""How alike two directions are: the cosine of the angle between two vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """From -1 to 1; 0 where one of them has no direction. Raises ValueError for vectors of different lengths."""
    lengths = math.hypot(*one), math.hypot(*other)
    if 0.0 in lengths:
        return 0.0
    # Divided before they are multiplied, so that large numbers stay finite.
    value = math.fsum((a / lengths[0]) * (b / lengths[1]) for a, b in zip(one, other, strict=True))
    return max(-1.0, min(1.0, value))
