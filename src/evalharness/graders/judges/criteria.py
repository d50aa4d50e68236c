"""Criteria: what gets a score each, what it weighs, and on which scale it is scored. Weights count by their share.

How they are read from the text of a rubric is the business of `reading.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from evalharness.domain.options import Number
from evalharness.domain.record import Record
from evalharness.graders.human import Range, ascending

LONGEST_NAME = 120


class Criterion(Record):
    """`range` is its own scale; without one it is scored as the others are."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    weight: Annotated[Number, Field(ge=0)] = 1.0
    description: str = ""
    range: Range | None = None

    @field_validator("range")
    @classmethod
    def _ascends(cls, bounds: Range | None) -> Range | None:
        return None if bounds is None else ascending(bounds)

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, written: Any) -> Any:
        return {"name": written} if isinstance(written, str) else written

    @cached_property
    def key(self) -> str:
        """As a judge writes it: `best_practices`."""
        return re.sub(r"\W+", "_", self.name.lower()).strip("_") or "criterion"


def given_criteria(written: Any) -> Any:
    """`criteria:` as people write it: names, mappings, or `{name: weight}`."""
    if isinstance(written, str):
        return (written,)
    if isinstance(written, Mapping):
        return tuple({"name": name, "weight": weight} for name, weight in written.items())
    return written


def checked(criteria: Iterable[Criterion]) -> tuple[Criterion, ...]:
    found = tuple(criteria)
    for key, times in Counter(each.key for each in found).items():
        if times > 1:
            raise ValueError(f"criterion '{key}' is listed {times} times")
    if found and not any(each.weight for each in found):
        raise ValueError("no criterion has a weight above 0")
    return found


def listed(criteria: Iterable[Criterion]) -> str:
    """Criteria that were given beside a rubric or without one, for the judge to read."""
    return "\n".join(f"- {each.key}: {each.description or each.name}" for each in criteria)
