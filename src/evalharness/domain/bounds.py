"""Bounds and defaults that files and flags share."""

from __future__ import annotations

from evalharness.stats.thresholds import ALPHA, POWER

__all__ = ["ALPHA", "LEAST_ALPHA", "MOST_TASKS", "MOST_TRIALS", "POWER"]

LEAST_ALPHA = 1e-9
"""Rarer chances cannot be distinguished from none."""

MOST_TASKS = 1_000_000
MOST_TRIALS = 1000
"""What a published table of pass^k may have: the tasks of a row, and the trials of a task."""
