"""RateCheck: whether a published row of pass^1 … pass^n can come from complete trials at all."""

from __future__ import annotations

from evalharness.domain.finding import Finding
from evalharness.domain.record import Record


class RateCheck(Record):
    """`possible` is None where the row says too little to be checked; `histogram[j]` cases passed j of the trials."""

    label: str
    tasks: int | None
    trials: int
    possible: bool | None
    histogram: tuple[int, ...] | None = None
    text: Finding
