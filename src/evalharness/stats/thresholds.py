"""Whether a share or a score reaches what was asked for, when both may have lost their last bits to rounding."""

from __future__ import annotations

_SLACK = 1e-9


def reaches(value: float, threshold: float) -> bool:
    return value >= threshold - _SLACK


def exceeds(value: float, threshold: float) -> bool:
    return value > threshold + _SLACK
