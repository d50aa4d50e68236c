"""Session comparison: a run of recorded sessions beside results of docker-agent, by docker-agent's own rule.

It compares figures as they are, without asking what chance can do; `comparison.py` has the other one.
"""

from __future__ import annotations

from typing import Literal

from evalharness.domain.record import Record

EvalState = Literal["pass", "fail", "absent"]


class SessionFigure(Record):
    """One figure in both runs. An `informational` one never is a regression."""

    name: str
    before: float
    now: float
    regressed: bool = False
    informational: bool = False


class EvalChange(Record):
    """One eval that does not stand as it did, by the name of its file; of its repeats the worst counts."""

    name: str
    before: EvalState
    now: EvalState

    @property
    def regressed(self) -> bool:
        return (self.before, self.now) == ("pass", "fail")


class SessionComparison(Record):
    baseline: str
    """What the results are called, or the file they are in."""
    tolerance: float = 0.0
    figures: tuple[SessionFigure, ...] = ()
    changes: tuple[EvalChange, ...] = ()
    """Regressions first, then by name."""

    @property
    def is_worse(self) -> bool:
        return any(figure.regressed for figure in self.figures) or any(change.regressed for change in self.changes)
