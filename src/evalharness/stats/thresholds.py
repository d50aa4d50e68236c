"""Default error rates and confidence level, and comparisons that tolerate rounding."""

from __future__ import annotations

ALPHA = 0.05
"""How often a test may find a change that does not exist."""
BETA = 0.2
"""How often a test may miss a change that exists."""
LEVEL = 1 - ALPHA
"""The confidence level of an interval."""
POWER = 1 - BETA
SAME = 1e-9
"""Shares, scores and differences closer than this are equal but for rounding."""


def reaches(value: float, threshold: float) -> bool:
    """Whether the value is at least the threshold, allowing for rounding in both."""
    return value >= threshold - SAME


def exceeds(value: float, threshold: float) -> bool:
    return value > threshold + SAME
