"""How sure figures are where nobody asks otherwise, and when a share or a score reaches what was asked for."""

from __future__ import annotations

ALPHA = 0.05
"""How often a test may find a change where there is none."""
BETA = 0.2
"""How often a test may miss a change that is there."""
LEVEL = 1 - ALPHA
"""The level of an interval."""
POWER = 1 - BETA
SAME = 1e-9
"""Shares, scores and differences that are nearer than this are the same, rounded differently."""


def reaches(value: float, threshold: float) -> bool:
    """Both may have lost their last bits to rounding."""
    return value >= threshold - SAME


def exceeds(value: float, threshold: float) -> bool:
    return value > threshold + SAME
