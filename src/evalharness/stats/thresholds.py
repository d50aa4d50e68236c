"""Whether a share or a score reaches what was asked for, when both may have lost their last bits to rounding."""

from __future__ import annotations

SAME = 1e-9
"""Shares, scores and differences that are nearer than this are the same, rounded differently."""


def reaches(value: float, threshold: float) -> bool:
    return value >= threshold - SAME


def exceeds(value: float, threshold: float) -> bool:
    return value > threshold + SAME
