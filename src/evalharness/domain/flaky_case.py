"""FlakyCase: a case whose trials disagree though neither it, nor who judges it, nor the target changed."""

from __future__ import annotations

from evalharness.domain.record import Record

FLAKY_FROM = 0.3
"""From this flip rate on a case is told as flaky."""


class FlakyCase(Record):
    """`flip_rate`: the chance that two trials of the case disagree, estimated without bias from all comparable runs.

    `new` says that it counts as flaky since this run.
    """

    case_id: str
    flip_rate: float
    passed: int
    trials: int
    runs: int = 1
    new: bool = False

    @property
    def counts_as_flaky(self) -> bool:
        return self.flip_rate >= FLAKY_FROM
