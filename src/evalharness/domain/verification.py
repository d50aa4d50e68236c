"""Verified: what came of computing a report's figures again; RateCheck: the same of a published row of rates."""

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
    """How many figures were computed again, from how many rows, which of them differ, and what was believed."""

    source: str = ""
    figures: int
    rows: int
    basis: Literal["trials", "cases"] = "trials"
    mismatches: tuple[Mismatch, ...] = ()
    believed: tuple[Finding, ...] = ()


class RateCheck(Record):
    """`possible` is None where the row says too little to be checked; `histogram[j]` cases passed j of the trials."""

    label: str
    tasks: int | None
    trials: int
    possible: bool | None
    histogram: tuple[int, ...] | None = None
    text: Finding
