"""Comparison: two runs of one suite, paired case by case; Regressions: a suite's newest runs against a baseline.

The old side may be several runs. Everywhere: new minus old, so a negative value is a loss.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from evalharness.domain.case_result import CaseResult, asks_the_same
from evalharness.domain.finding import Finding, MaybeFinding, finding
from evalharness.domain.record import Record
from evalharness.stats.drop_range import Unknown
from evalharness.stats.thresholds import ALPHA, LEVEL, POWER, SAME, exceeds

Change = Literal["REGRESSION", "NO REGRESSION", "INCONCLUSIVE"]
"""Of one metric."""
ComparisonVerdict = Change | Literal["IMPROVEMENT"]
"""Of all of them: IMPROVEMENT is NO REGRESSION, and more."""
_FORMULA = re.compile(r", (1 - \(1 - level\)\^\(1/[a-z ]+\))")
KEPT_CASES = 1000
"""So many of the cases that changed are stored with a report, the worst first."""


class ComparedRun(Record):
    """One run of a comparison: a run of the store, or the run that a report or baseline file tells of."""

    run_id: str
    run_name: str
    suite_name: str
    variant: str = ""
    timestamp: str = ""
    source: str = ""
    """`baseline NAME`, a file's path, or empty for a run named by itself."""


class Difference(Record):
    """One metric, new minus old, over the cases that both runs share.

    `unit` is `points` for shares and scores (0.05 is 5 points) and `ratio` for times and costs (0.2 is 20 % more).
    `p` is the chance of a loss at least this large if nothing had changed; `p_adjusted` allows for all gated metrics.
    `detectable` is the smallest loss that a comparison of this size would find with the power asked for; None where it
    would find none, not even if every trial failed. Where results do not show the rates well enough for one number, it
    lies between `detectable_from` and `detectable`.
    """

    metric: str
    unit: Literal["points", "ratio"] = "points"
    old: float | None
    new: float | None
    """None where that run tells none; no case is then compared, and `value` is 0."""
    value: float
    low: float | None = None
    high: float | None = None
    lower_bound: float | None = None
    upper_bound: float | None = None
    """One-sided, at `level`: the value is not worse than this. Of points the lower one, of a ratio the upper one."""
    level: float = LEVEL
    p: float | None = None
    p_better: float | None = None
    p_adjusted: float | None = None
    method: str = ""
    interval_method: str = ""
    interval_formula: str = ""
    limited_by: Literal["", "cases", "trials", "clusters", "runs"] = ""
    """What more of would let it show smaller losses: `trials` is cases or trials, `runs` is runs of the baseline."""
    these_cases: tuple[float, float] | None = None
    """An interval for the compared cases alone, at level 1 − 2·alpha: 0 is outside just where the test finds a change.

    `low` to `high` is for others like them, too.
    """
    seed: int | None = None
    n_cases: int = 0
    n_trials_old: int = 0
    n_trials_new: int = 0
    detectable: float | None = None
    detectable_from: float | None = None
    detectable_unknown: Unknown = ""
    """Why it is a range: the results do not show how much the cases differ (`spread`), or the pass rate (`rate`)."""
    incomparable: tuple[str, ...] = ()
    """Cases with a time or cost above 0, or a score, in one of the runs only."""
    lacking: int = 0
    """Judged trials of both runs without a cost or a whole score: what they hide is not ruled out."""
    risen: int = 0
    """How many of these, the first ones, had 0 before."""
    from_nothing: bool = False
    """More rose from 0 than fell to 0, so the whole is a rise."""
    to_nothing: tuple[str, ...] = ()
    """Cases whose time or cost fell to 0."""
    gated: bool = False
    verdict: Change = "INCONCLUSIVE"
    why: MaybeFinding = None

    @model_validator(mode="before")
    @classmethod
    def _with_formula(cls, written: Any) -> Any:
        """Earlier reports have the formula among the words of the method."""
        method = written.get("interval_method") if isinstance(written, Mapping) else None
        if not isinstance(method, str) or not (formula := _FORMULA.search(method)):
            return written
        return {**written, "interval_method": _FORMULA.sub("", method), "interval_formula": formula[1]}

    @model_validator(mode="before")
    @classmethod
    def _with_limit(cls, written: Any) -> Any:
        """Earlier reports say in the words of their methods alone what limits them."""
        if not isinstance(written, Mapping) or "limited_by" in written or not written.get("n_cases"):
            return written
        method, interval_method = str(written.get("method", "")), str(written.get("interval_method", ""))
        is_rate = written.get("metric") in ("pass_rate", "critical")
        limited_by = "trials" if is_rate and not method.startswith("sign-flip") else "cases"
        if "cluster" in interval_method:
            limited_by = "clusters"
        if is_rate and "Student's t of one run" in method:
            limited_by = "runs"
        return {**written, "limited_by": limited_by}

    @property
    def ends(self) -> tuple[float, float]:
        """Old and new where cases are compared."""
        return self.old or 0.0, self.new or 0.0

    @property
    def at_worst(self) -> float | None:
        return self.upper_bound if self.unit == "ratio" else self.lower_bound

    @property
    def half_width(self) -> float | None:
        """How far the interval reaches to each side, in the middle."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


class CaseChange(Record):
    """One case that both runs share. `q` is p after Benjamini and Hochberg, over all cases of its family."""

    case_id: str
    old_passed: int
    old_trials: int
    new_passed: int
    new_trials: int
    old_score: float | None = None
    new_score: float | None = None
    delta: float = 0.0
    p: float | None = None
    q: float | None = None
    flagged: bool = False
    critical: bool = False
    flipped: bool = False
    """Every trial passed before, and now one fails."""
    divergence: MaybeFinding = None
    """The first step at which a passing and a failing transcript part."""

    @property
    def direction(self) -> int:
        """-1 for worse, 1 for better: of the share that passed, and where that stayed, of the score."""
        moved = self.delta
        if not moved and self.old_score is not None and self.new_score is not None:
            moved = self.new_score - self.old_score
        return (moved > SAME) - (moved < -SAME)


class PastAnswers(Record):
    """First answers to a case in earlier runs on the same target that asked and judged the same.

    Without the newest runs in which it always failed: it may be lost ever since.
    """

    results: int = 0
    passed: int = 0
    flips: bool = False
    """Whether one target both passed and failed it."""


LOST: Final = "gate.flips"


class Flips(Record):
    """Cases that passed every trial before and pass none now, judged one by one."""

    cases: tuple[str, ...] = ()
    """Each of these fails the gate."""
    excused: tuple[str, ...] = ()
    """These passed and failed by themselves in earlier runs, so the statistical rule decides."""
    past: dict[str, PastAnswers] = Field(default_factory=dict)


class Comparison(Record):
    old: ComparedRun
    """Of a baseline of several runs, the first one."""
    before: tuple[ComparedRun, ...] = ()
    """All runs of the old side."""
    new: ComparedRun
    verdict: ComparisonVerdict
    why: Finding
    decisive: tuple[str, ...] = ()
    """The metrics that the verdict rests on; `critical` is the pass rate of the critical cases."""
    settle: MaybeFinding = None
    """What would settle an inconclusive comparison."""
    notes: tuple[Finding, ...] = ()
    n_cases: int = 0
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """In the new run only, and in the old one only: the suite may have changed, or other cases were selected."""
    unjudged: tuple[str, ...] = ()
    """In both runs, but without a judged trial in one of them."""
    differences: dict[str, Difference] = Field(default_factory=dict)
    critical: Difference | None = None
    """The pass rate of the critical cases alone; it shares the error rate with the gated metrics."""
    cases: tuple[CaseChange, ...] = ()
    """Those that changed."""
    flips: Flips | None = None
    """None where no gate asks for them."""
    flip_alarm: tuple[float, float] | None = None
    """How often a case that always passed in the old run would fail in a new one if nothing had changed: a 90 % range,
    None where too little is known of the cases."""
    alpha: float = ALPHA
    margin: float = 0.05
    tolerance: float = 0.0
    power: float = POWER

    @field_validator("flip_alarm", mode="before")
    @classmethod
    def _is_a_range(cls, value: object) -> object:
        """Earlier reports have one figure, which could be off by a quarter: as good as not known."""
        return None if isinstance(value, float | int) else value

    @model_validator(mode="before")
    @classmethod
    def _with_all_runs(cls, written: Any) -> Any:
        """Reports that were written before baselines could have several runs name the one."""
        if not isinstance(written, Mapping) or written.get("before") or "old" not in written:
            return written
        return {**written, "before": (written["old"],)}

    @property
    def lost(self) -> Finding | None:
        """The note about lost cases, where they alone decide: each of them fails a comparison that is no REGRESSION."""
        if self.verdict == "REGRESSION":
            return None
        return next((note for note in self.notes if note.code == LOST and note.severity == "error"), None)

    @property
    def is_of_one_run(self) -> bool:
        """Whether a run is compared with itself."""
        return bool(self.new.run_id) and self.new.run_id in [run.run_id for run in self.before]

    @property
    def against(self) -> str:
        """What it is compared with, as people name it."""
        several = f" ({len(self.before)} runs)" if len(self.before) > 1 else ""
        return f"{self.old.source or self.old.run_name}{several}"

    @property
    def tells_all(self) -> bool:
        """Whether every case that changed is among `cases`."""
        return len(self.cases) != KEPT_CASES

    @property
    def storable(self) -> Comparison:
        return self.model_copy(update={"cases": self.cases[:KEPT_CASES]}) if len(self.cases) > KEPT_CASES else self

    @property
    def left_out(self) -> Finding | None:
        """`1 of 20 cases changed, 2 only in the old run; compared on 17`; None where all cases are compared."""
        counts = {name: len(getattr(self, name)) for name in ("changed", "removed", "unjudged", "added")}
        return finding("comparison.left_out", **counts, compared=self.n_cases) if any(counts.values()) else None

    @property
    def worse(self) -> list[CaseChange]:
        """The surest first."""
        return [case for case in self.cases if case.direction < 0]

    @property
    def better(self) -> list[CaseChange]:
        """The surest last."""
        return [case for case in self.cases if case.direction > 0]


def asked_at_once(comparisons: Sequence[Comparison]) -> tuple[Finding, ...]:
    """Each of several comparisons is judged by itself: how often at least one of them is then wrong, at most.

    Bound by that of independent ones: sharing a baseline, they are wrong in the same rounds rather than in others.
    """
    real = [each for each in comparisons if not each.is_of_one_run]
    if len(real) < 2:
        return ()
    none = math.prod(1 - each.alpha for each in real)
    of_100 = math.ceil(100 * (1 - none))
    return (finding("comparison.asked_at_once", "warning", comparisons=len(real), wrong_of_100=of_100),)


# TaskChange: one case of two runs by its score, in the words of task suites. A positive `delta` is a degradation.

THRESHOLD = 0.1


class TaskChange(Record):
    """Scores and `delta` are None where a run has not judged the task, or a trial of it lacks a part of its score.

    `comparable` is false where the task asks, or is judged by, something else now: it is then never `degraded`.
    """

    model_config = ConfigDict(alias_generator=to_camel)

    task_id: str
    previous_score: float | None
    current_score: float | None
    degraded: bool
    delta: float | None
    previous_state: str
    current_state: str
    comparable: bool = True
    variant: str = ""

    @property
    def broken(self) -> bool:
        """Passed before and fails now, whatever became of the score."""
        return self.comparable and (self.previous_state, self.current_state) == ("passed", "failed")

    def improved(self, threshold: float) -> bool:
        return self.comparable and self.delta is not None and exceeds(-self.delta, threshold)


def degradation(previous_score: float, current_score: float, threshold: float) -> tuple[bool, float]:
    """Whether a score fell by more than the threshold, and by how much it fell. 0.8 → 0.7 is not more than 0.1."""
    delta = previous_score - current_score
    return exceeds(delta, threshold), delta


def task_changes(
    old: Iterable[CaseResult], new: Iterable[CaseResult], threshold: float, variant: str = ""
) -> Iterator[TaskChange]:
    """Every case that both have, in the new order."""
    before = {case.case_id: case for case in old}
    for now in new:
        was = before.get(now.case_id)
        if was is not None:
            yield _change(was, now, threshold, variant)


def _change(was: CaseResult, now: CaseResult, threshold: float, variant: str) -> TaskChange:
    scores = [case.whole_score if case.trials else None for case in (was, now)]
    comparable = asks_the_same(was, now)
    degraded, delta = False, None
    if scores[0] is not None and scores[1] is not None:
        degraded, delta = degradation(scores[0], scores[1], threshold)
    return TaskChange(
        task_id=now.case_id,
        previous_score=scores[0],
        current_score=scores[1],
        degraded=degraded and comparable,
        delta=delta,
        previous_state=was.state,
        current_state=now.state,
        comparable=comparable,
        variant=variant,
    )


ORDER: tuple[ComparisonVerdict, ...] = ("REGRESSION", "INCONCLUSIVE", "NO REGRESSION", "IMPROVEMENT")
"""Worst first."""


Rule = Literal["comparison", "flips", "threshold"]


class Regressions(Record):
    """By `rule`, what decides: the worst comparison; cases that are lost (`flips`: FAILED); or a task's score that fell
    by more than the threshold that was asked for. A run that is INVALID decides nothing, and says so.

    `tasks` has every case that the old run and a new one share, whatever became of it, but for quarantined ones.
    """

    suite_name: str
    verdict: ComparisonVerdict | Literal["FAILED", "INVALID"]
    exit_code: int
    rule: Rule = "comparison"
    notes: tuple[Finding, ...] = ()
    comparisons: tuple[Comparison, ...]
    threshold: float
    tasks: tuple[TaskChange, ...] = ()
