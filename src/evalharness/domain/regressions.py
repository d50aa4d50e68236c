"""Regressions: what came out when the newest runs of a suite were held against a baseline."""

from __future__ import annotations

from typing import Literal

from evalharness.domain.comparison import Change, Comparison
from evalharness.domain.finding import Finding
from evalharness.domain.record import Record
from evalharness.domain.task_change import TaskChange

ORDER: tuple[Change, ...] = ("REGRESSION", "INCONCLUSIVE", "NO REGRESSION")
"""Worst first."""


class Regressions(Record):
    """The worst comparison decides; a run that is INVALID decides nothing, and says so.

    `tasks` has every case that the old run and a new one share, whatever became of it.
    """

    suite_name: str
    verdict: Change | Literal["INVALID"]
    exit_code: int
    notes: tuple[Finding, ...] = ()
    comparisons: tuple[Comparison, ...]
    threshold: float
    tasks: tuple[TaskChange, ...] = ()
