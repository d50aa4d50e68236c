"""One thing wrong with a file, and where: what `validate` prints and `errors.InvalidFile` carries.

A dataclass, not a pydantic model: the command line shows problems without importing pydantic. Finding problems is the
work of `formats/`; colours and grouping are the work of whoever prints them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast

from evalharness.errors import Hint
from evalharness.values.text import head

Severity = Literal["error", "warning", "note"]
FieldPath = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[^\s.\[\]\"'\x00-\x1f\x7f-\x9f]+")
_SHOWN_CHARS = 60
_SHOWN_ALIKE = 10
_VALUE = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|-?\d[\d.]*")


@dataclass(frozen=True, slots=True)
class Problem:
    """`line` is 1-based, 0 when the file as a whole is meant; `field` is written by `field_text`.

    `allowed` lists all that may stand there; in words it is reported only where nothing can be suggested. `hint` says
    what to do next where that takes a command: `reports.words.say` puts it into words.
    """

    file: str
    line: int
    field: str
    message: str
    allowed: str = ""
    suggestion: str = ""
    severity: Severity = "error"
    hint: Hint | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        label = "" if self.severity == "error" else self.severity
        text = ": ".join(part for part in (place, label, self.field, self.message) if part)
        if self.suggestion:
            return f"{text}; did you mean '{self.suggestion}'?"
        return f"{text}; allowed: {self.allowed}" if self.allowed else text


def without_repeats(problems: Iterable[Problem]) -> list[Problem]:
    """For people: of many problems that are alike only the first, and behind them how many more there are.

    Alike are those of one file that say the same of other places or other values.
    """
    shown: list[Problem] = []
    alike: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems:
        said = alike.setdefault((problem.file, problem.severity, _VALUE.sub("", problem.message)), [])
        said.append(problem)
        if len(said) <= _SHOWN_ALIKE:
            shown.append(problem)
    for (file, severity, _), said in alike.items():
        if (more := len(said) - _SHOWN_ALIKE) > 0:
            message = f"… and {more:,} more like this: {said[0].message}"
            shown.append(Problem(file, 0, "", message, severity=cast(Severity, severity)))
    return shown


def field_text(path: FieldPath) -> str:
    """`("test_cases", 3, "graders", 0)` as `test_cases[3].graders[0]`; keys with odd characters as `["a.b"]`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _BARE_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step)}]"
    return text


def quoted(text: str) -> str:
    """A user's text as it may stand in a message: in quotes, control characters escaped, long text cut."""
    return repr(head(text, _SHOWN_CHARS))
