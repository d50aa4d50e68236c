"""What a test of change answers, the same for every test: how surprising the new results are if nothing changed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PValues:
    """`p_less` is small when the new side is worse, `p_greater` when it is better.

    Exact figures are too large by at most `error_bound` and never too small, so that no rounding raises an alarm;
    figures that are drawn or approximated say so in `method`. `n` counts what the test could learn from (cases, pairs
    or differences that are not 0); `seed` is set only if the figures depend on it.
    """

    p_less: float
    p_greater: float
    method: str
    n: int
    error_bound: float = 0.0
    seed: int | None = None

    @property
    def p_two_sided(self) -> float:
        """Twice the smaller of the two, at most 1."""
        return min(1.0, 2 * min(self.p_less, self.p_greater))
