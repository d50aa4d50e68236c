"""SeenItem: a review item as one reviewer sees it, in the terminal, in the browser and over the API."""

from __future__ import annotations

from pydantic import Field

from evalharness.domain.rating import Choice, Criterion
from evalharness.domain.record import Record
from evalharness.values.json_value import Json


class SeenAnswer(Record):
    """`letter` is empty for the only answer of an item."""

    letter: str = ""
    output: Json = None
    messages: tuple[dict[str, Json], ...] = ()


class SeenItem(Record):
    """An item for one reviewer: letters and their order are that person's own."""

    id: str
    question: Json = None
    answers: tuple[SeenAnswer, ...]
    scale: str
    range: tuple[int, int] | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    criteria: tuple[Criterion, ...] = ()
    instructions: str = ""
    """What the scale says about itself: for example, what to order answers by."""
    tie_allowed: bool = False
    rubric: str = ""
    time_limit_minutes: float | None = None
    draft: str = ""
    """A JSON text with `rating` and `comment`, as far as they were typed; empty where nothing was."""
    about: dict[str, str] = Field(default_factory=dict)
    """Case, suite, run and target; always empty where the review is blind."""
