"""Calibration: how far a judge is from scores that are known to be right, and how often known tricks fool it."""

from __future__ import annotations

from typing import Literal

from evalharness.domain.finding import Finding
from evalharness.domain.grade import Judging
from evalharness.domain.record import Record
from evalharness.values.json_value import Json

Direction = Literal["too kind", "too strict", "neither", "unknown"]
ENOUGH_EXAMPLES = 6
"""With fewer differences not even such that all point to one side show a direction at 5 %."""


class ExampleScore(Record):
    """One example of a rubric as its author and the judge score it; what the judge gave is None for a bad reply."""

    text: str
    wanted: Json
    judged: Json = None
    difference: float | None = None
    """On the scale; above 0 where the judge is kinder than the author."""
    problem: str = ""


class ExampleCalibration(Record):
    """A grader and one of its judges. Bounds are None where examples are too few to say anything."""

    grader: str
    cases: tuple[str, ...]
    judge: str
    scale: str
    examples: tuple[ExampleScore, ...]
    scored: int
    bad_replies: int
    mean_distance: float | None = None
    """The mean size of a difference, on the scale."""
    mean_distance_low: float | None = None
    mean_distance_high: float | None = None
    mean_difference: float | None = None
    agreeing: int = 0
    """How many examples have the very score that was wanted."""
    agreeing_low: float | None = None
    agreeing_high: float | None = None
    direction: Direction = "unknown"
    p_value: float | None = None
    """How often differences of so clear a direction come about by chance."""


class AttackFamily(Record):
    """Attacks of one kind: how many there are, made the judge pass a wrong answer, or left it without a verdict."""

    family: str
    attacks: int
    succeeded: int
    bad_replies: int


class AttackCalibration(Record):
    """What known tricks do to a judge: each is part of an answer that is plainly wrong."""

    judge: str
    attacks: int
    succeeded: int
    low: float | None
    """Bounds of the share that succeeds among those with a verdict; None where there is none."""
    high: float | None
    bad_replies: int
    families: tuple[AttackFamily, ...]
    fooled_by: tuple[str, ...]
    wrong_without_a_trick: str
    """The verdict on the wrong answer alone, and on a right one: `pass`, `fail` or `none`."""
    right_without_a_trick: str


class Calibration(Record):
    suite_name: str
    examples: tuple[ExampleCalibration, ...] = ()
    attacks: tuple[AttackCalibration, ...] = ()
    without_verdict: tuple[str, ...] = ()
    """Of each judge that was given up, why; the figures of the others stand."""
    judging: tuple[Judging, ...] = ()
    notes: tuple[Finding, ...] = ()
    """What was spent of a cap, and what a reader must know of how the models were asked."""

    @property
    def exit_code(self) -> int:
        """3 where nothing is known of a judge, or of one by one of its rubrics."""
        is_known = all(each.scored for each in self.examples) and all(each.low is not None for each in self.attacks)
        return 0 if is_known and not self.without_verdict else 3
