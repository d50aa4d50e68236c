"""Exit codes of several runs together: which one counts."""

from __future__ import annotations

PRECEDENCE = (2, 130, 3, 1, 4, 0)


def worst(exit_codes: list[int]) -> int:
    return min(exit_codes, key=PRECEDENCE.index, default=0)
