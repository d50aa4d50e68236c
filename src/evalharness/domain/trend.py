"""Trend: past runs of one suite, target by target: how its figures moved, what changed in it, which cases changed."""

from __future__ import annotations

from typing import Literal

from evalharness.domain.measurement import Measurement
from evalharness.domain.record import Record
from evalharness.domain.report import FlakyCase

CaseMoment = Literal["passed", "failed", "flaky", "error", "skipped", "awaiting", "pending", "absent"]
"""What became of a case in one run. `flaky`: its trials disagreed. `absent`: the run did not ask it, or broke and has
no error of this case."""


class SuiteChange(Record):
    """How the cases of a run differ from those of the target's run before, by case key."""

    changed: int = 0
    """Asked or judged in another way."""
    added: int = 0
    removed: int = 0
    """Which no later run asks, and which the suite no longer has."""


class TrendRun(Record):
    """One run in a trend. `is_gap`: it broke or was not finished, so its figures say nothing of the target."""

    run_id: str
    run_name: str
    started_at: str
    verdict: str
    """Empty where it never came to a stop."""
    is_gap: bool
    pass_rate: Measurement | None = None
    latency_s: float | None = None
    """Of a trial, the median over cases; so is the cost."""
    cost_usd: float | None = None
    cases: int = 0
    left_out: int = 0
    """Cases that the suite had and the run did not ask: it was run on a selection."""
    change: SuiteChange | None = None
    baselines: tuple[str, ...] = ()
    """The names of the baselines that it belongs to."""

    @property
    def rate(self) -> Measurement | None:
        """The pass rate, where it says something of the target."""
        return None if self.is_gap else self.pass_rate


class CaseTrend(Record):
    """What became of one case: a moment for each run, in the order of the runs."""

    case_id: str
    moments: tuple[CaseMoment, ...]

    @property
    def always_passed(self) -> bool:
        return {"passed", "absent"}.issuperset(self.moments)

    @property
    def newest(self) -> CaseMoment:
        """When it was last asked."""
        return next((moment for moment in reversed(self.moments) if moment != "absent"), "absent")

    @property
    def lapses(self) -> int:
        """In how many runs it did not simply pass."""
        return sum(moment not in ("passed", "absent") for moment in self.moments)


class TargetTrend(Record):
    """The runs of one target, oldest first, and what moved with the newest one that counts.

    `now_failing` and `fixed` compare each case with the last run before in which it was judged, unless the case itself
    was changed since. `flaky` judges by that run and comparable ones before it.
    """

    target: str
    runs: tuple[TrendRun, ...]
    cases: tuple[CaseTrend, ...] = ()
    """Those that any of the runs asked, in the suite's order, the newest cases last."""
    now_failing: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    flaky: tuple[FlakyCase, ...] = ()

    @property
    def counted(self) -> list[TrendRun]:
        """The runs that have a pass rate."""
        return [run for run in self.runs if run.rate is not None]

    @property
    def before(self) -> TrendRun | None:
        """What the newest run that counts is set against: the last one before it that asked all cases."""
        earlier = self.counted[:-1]
        return next((run for run in reversed(earlier) if not run.left_out), earlier[-1] if earlier else None)


class Trend(Record):
    suite_name: str
    source: str = ""
    """The file or the name that was asked for."""
    targets: tuple[TargetTrend, ...] = ()
    """Those with the newest runs first."""
    has_earlier: bool = False
    """Whether there are earlier runs than were asked for."""
