"""Bounds and defaults that files and flags share, and what no figure of an answer can exceed."""

from __future__ import annotations

from evalharness.stats.thresholds import ALPHA, POWER

__all__ = ["ALPHA", "LEAST_ALPHA", "LONGEST_MS", "MOST_TASKS", "MOST_TOKENS", "MOST_TRIALS", "MOST_USD", "POWER"]

LEAST_ALPHA = 1e-9
"""Rarer chances cannot be distinguished from none."""

MOST_USD = 1e9
MOST_TOKENS = 10**12
LONGEST_MS = 1e12
"""What one answer can cost, use and take (30 years): more is a mistake, and sums of it would say nothing."""

MOST_TASKS = 1_000_000
MOST_TRIALS = 1000
"""What a published table of pass^k may have: the tasks of a row, and the trials of a task."""
