"""Known tricks on judges: texts that an answer may hold in the hope of a verdict it does not deserve.

Parsing must not fall for any of them; how often a judge itself does is measured and told, never taken to be nought.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Annotated

from pydantic import Field, TypeAdapter

from evalharness.domain.record import Record
from evalharness.graders.judges.templates import FOLDER


class Padding(Record):
    text: str
    times: Annotated[int, Field(ge=1)]


class Attack(Record):
    """`family` says what the trick relies on; `before` is text in which it hides."""

    family: str
    name: str
    text: str
    before: Padding | None = None

    @property
    def payload(self) -> str:
        return (self.before.text * self.before.times if self.before else "") + self.text


@cache
def attacks() -> tuple[Attack, ...]:
    written = json.loads((FOLDER / "attacks.json").read_text(encoding="utf-8"))
    return TypeAdapter(tuple[Attack, ...]).validate_python(written)
