"""Bounds that files and flags share."""

from __future__ import annotations

LEAST_ALPHA = 1e-9
"""Rarer chances cannot be distinguished from none."""
