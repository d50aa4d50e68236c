"""Regressions: what came out when the newest runs of a suite were compared with a baseline, task by task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from evalharness.domain.case_result import CaseResult
from evalharness.domain.comparison import Change, Comparison
from evalharness.domain.finding import Finding
from evalharness.domain.record import Record
from evalharness.stats.thresholds import exceeds

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
    comparable = not (was.key and now.key) or was.key == now.key
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
