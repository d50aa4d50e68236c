"""Advice: what could be chosen better in a suite (graders, metric, gate). Advice is no verdict."""

from __future__ import annotations

from typing import Literal

from evalharness.domain.finding import Finding
from evalharness.domain.gate import Preset
from evalharness.domain.record import Record

Goal = Literal["retries", "reliable"]
"""`retries`: one right answer in several tries is enough. `reliable`: every answer has to be right."""


class Choice(Record):
    """Something to choose otherwise, or to know before choosing, with the cases it is about."""

    about: Literal["grader", "metric", "gate"]
    finding: Finding
    cases: tuple[str, ...] = ()


class Advice(Record):
    """`fitting` counts the cases whose graders nothing is said against; `metric` and `preset` fit the goal."""

    suite_name: str
    source: str = ""
    """How it is named on a command line: its file, or its own name."""
    cases: int
    fitting: int
    goal: Goal | None
    """None where neither the caller nor the suite says."""
    metric: str
    preset: Preset
    choices: tuple[Choice, ...] = ()

    def of(self, about: str) -> list[Choice]:
        return [choice for choice in self.choices if choice.about == about]
