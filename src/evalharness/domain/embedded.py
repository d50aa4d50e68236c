"""Embedded: the vectors of some texts, in their order, and what they took."""

from __future__ import annotations

from dataclasses import dataclass

from evalharness.domain.transcript import Usage


@dataclass(frozen=True, slots=True)
class Embedded:
    vectors: list[list[float]]
    usage: Usage | None = None
    """None where nobody counted."""
    cost_usd: float | None = None
    """None where no price is known."""
