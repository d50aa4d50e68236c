"""Alignment: the steps of two trials of one case side by side, and the first in which they differ."""

from __future__ import annotations

from evalharness.domain.record import Record


class AlignedStep(Record):
    """A text that was said, a tool that was called, or the answer; None where one of the two has no such step."""

    before: str | None
    now: str | None
    is_same: bool


class Alignment(Record):
    """`before` and `now` name the runs; trials are numbered from 1."""

    case_id: str
    before: str
    now: str
    trial_before: int
    trial_now: int
    steps: tuple[AlignedStep, ...]

    @property
    def first_difference(self) -> int | None:
        """The place of the first step that differs, from 0; None where they are the same."""
        return next((place for place, step in enumerate(self.steps) if not step.is_same), None)
