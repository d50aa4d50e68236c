"""Verified: what became of computing a report's figures anew."""

from __future__ import annotations

from typing import Any, Literal

from evalharness.domain.finding import Finding
from evalharness.domain.record import Record


class Mismatch(Record):
    """A figure that does not follow from the rows."""

    figure: str
    told: Any
    found: Any


class Verified(Record):
    """How many figures were computed anew, from how many rows, which of them differ, and what was believed."""

    source: str = ""
    figures: int
    rows: int
    basis: Literal["trials", "cases"] = "trials"
    mismatches: tuple[Mismatch, ...] = ()
    believed: tuple[Finding, ...] = ()
