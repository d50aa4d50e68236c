"""Criteria: what gets a score each, what it weighs, and on which scale it is scored. Weights count by their share."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from evalharness.domain.options import Number
from evalharness.domain.rating import Range, ascending
from evalharness.domain.record import Record
from evalharness.values.text import head

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
        return criterion_key(self.name)


def criterion_key(name: str) -> str:
    """The same for every spelling of a name: `Best Practices`, `best practices`, `BEST_PRACTICES`."""
    return re.sub(r"\W+", "_", name.lower()).strip("_") or "criterion"


def given_criteria(written: Any) -> Any:
    """`criteria:` as people write it: names, mappings, or `{name: weight}`."""
    if isinstance(written, str):
        return (written,)
    if isinstance(written, Mapping):
        return tuple({"name": name, "weight": weight} for name, weight in written.items())
    return written


def checked_criteria(criteria: Iterable[Criterion]) -> tuple[Criterion, ...]:
    found = tuple(criteria)
    for key, times in Counter(each.key for each in found).items():
        if times > 1:
            raise ValueError(f"criterion '{key}' is listed {times} times")
    if found and not any(each.weight for each in found):
        raise ValueError("no criterion has a weight above 0")
    return found


def criteria_list(criteria: Iterable[Criterion]) -> str:
    """Criteria that were given beside a rubric or without one, for the judge to read."""
    return "\n".join(f"- {each.key}: {each.description or each.name}" for each in criteria)


# Reading criteria from the text of a rubric: `1. **Correctness** (weight: 0.4)`, or `1. Accuracy: is it true? (0-5)`.
#
# These are the only forms. What is written in another way is left to the judge, who reads the rubric and gives one
# score for the whole. What begins like these forms and cannot be read is refused: nothing is guessed, and nothing is
# dropped.

HIGHEST = 100
"""Of a scale, which begins with 0 or 1: other numbers are years or pages."""
SHOWN = 60
HOW = (
    "write NAME (weight: 0.4) on a line of its own for each; "
    "a `model` grader can have `criteria: {NAME: 0.4}` next to its rubric instead"
)
_LINE = re.compile(
    r"(?P<indent>[ \t>]*)(?P<heading>#*)[ \t]*"
    r"(?:(?P<bullet>[-*+•])(?=\s)|\(?(?:(?P<number>\d{1,3})|(?P<letter>[^\W\d_]{1,3}))[.)](?=\s|\*\*))?(?P<text>.*)"
)
_BRACKET = re.compile(r"[(\[]([^()\[\]{}]*)[)\]]")
_SAYS_WEIGHT = re.compile(r"weights?\b.*[\d:=]|[\d.]+ ?%? ?(?:of )?(?:the )?weights?\b", re.IGNORECASE)
_BEGUN = re.compile(r"[(\[]\s*weight\s*[:=]", re.IGNORECASE)
_WEIGHT = re.compile(r"weight ?[:=]? ?(\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}) ?(%?)", re.IGNORECASE)
_TOTAL = re.compile(r"(?:total|sum)(?: (?:of )?(?:all |the )*(?:scores?|points?|weights?))?", re.IGNORECASE)
_SCALE = re.compile(r"[(\[]\s*(\d{1,3})\s*(?:[-–—]|to)\s*(\d{1,3})\s*[)\]]")
_AROUND = " \t*_`:=,;.–—-"


@dataclass(frozen=True, slots=True)
class RubricLine:
    """A line. Those with the same `list` stand beside each other."""

    line: str
    list: tuple[int, str] | None
    """Its indentation and its mark; None for a line of a paragraph."""
    name: str
    weight: float | None
    is_percent: bool
    range: Range | None

    @property
    def is_criterion(self) -> bool:
        return self.weight is not None or self.range is not None


def parse_criteria(rubric: str) -> tuple[Criterion, ...]:
    """Those the text lists; none where it only describes a good answer.

    Raises ValueError where a weight cannot be read, and where some of a list have one, or a scale, and some do not:
    nobody could say what the others have.
    """
    items = [_item(line) for line in unicodedata.normalize("NFKC", rubric).splitlines()]
    found = [item for item in items if item.is_criterion]
    _check(found, [item for item in items if item.list is not None])
    return checked_criteria(
        Criterion(name=item.name, weight=1.0 if item.weight is None else item.weight, range=item.range)
        for item in found
    )


def _item(line: str) -> RubricLine:
    parts = _LINE.match(line)
    assert parts is not None, "it matches every line"
    text = parts["text"]
    weights = [found for found in _BRACKET.finditer(text) if _SAYS_WEIGHT.match(_spaced(found[1]))]
    if len(weights) > 1:
        raise ValueError(
            f"'{_shown(line)}' has several weights (`rubric: >` makes one line of many, `|` does not): {HOW}"
        )
    scale = _scale(text, has_weight=bool(weights), is_numbered=parts["number"] is not None)
    ends = [found.start() for found in (*weights, scale) if found]
    name = text[: min(ends, default=0)].partition(": ")[0].strip(_AROUND)
    number = _WEIGHT.fullmatch(_spaced(weights[0][1])) if weights else None
    is_broken = len(_BEGUN.findall(text)) > len(weights)
    if is_broken or (weights and not number) or (ends and not 0 < len(name) <= LONGEST_NAME) or (ends and "|" in name):
        raise ValueError(f"'{_shown(line)}' cannot be read as a criterion: {HOW}")
    weight = float(number[1]) / (100 if number[2] else 1) if number else None
    bounds = (float(scale[1]), float(scale[2])) if scale else None
    return RubricLine(line, _list_of(parts), name, weight, bool(number and number[2]), bounds)


def _scale(text: str, *, has_weight: bool, is_numbered: bool) -> re.Match[str] | None:
    """Beside a weight wherever it stands; else only at the end of a numbered line, as elsewhere it is prose."""
    scales = [
        found for found in _SCALE.finditer(text) if int(found[1]) in (0, 1) and int(found[1]) < int(found[2]) <= HIGHEST
    ]
    if not scales or has_weight:
        return scales[0] if scales else None
    return scales[-1] if is_numbered and not text[scales[-1].end() :].strip(_AROUND) else None


def _list_of(parts: re.Match[str]) -> tuple[int, str] | None:
    mark = parts["heading"] or parts["bullet"] or ("1" if parts["number"] else "a" if parts["letter"] else "")
    is_bold = parts["text"].startswith("**")
    return (len(parts["indent"].expandtabs(4)), mark or "**") if mark or is_bold else None


def _check(found: Sequence[RubricLine], in_lists: Sequence[RubricLine]) -> None:
    for item in found:
        if item.list != found[0].list:
            text = f"'{_shown(found[0].line)}' and '{_shown(item.line)}' are not in the same list"
            raise ValueError(f"{text}: put all criteria in one list, and give their parts no weights; {HOW}")
        if _TOTAL.fullmatch(item.name):
            raise ValueError(f"'{_shown(item.line)}' is not a criterion: leave the total out; weights are relative")
    for item in in_lists:
        if found and not item.is_criterion and item.list == found[0].list:
            text = f"'{_shown(item.line)}' is in the list of criteria, but has no weight or scale"
            raise ValueError(f"{text}: {HOW}; if it is not a criterion, use another mark or indent it")
    for what, has in (
        ("weight, such as (weight: 0.2)", [item.weight is not None for item in found]),
        ("scale, such as (0-5)", [item.range is not None for item in found]),
        ("% after its weight", [item.is_percent for item in found]),
    ):
        if any(has) and not all(has):
            raise ValueError(f"criterion '{found[has.index(False)].name}' of the rubric has no {what}; others have one")


def _spaced(text: str) -> str:
    """With single spaces."""
    return " ".join(text.split())


def _shown(line: str) -> str:
    return head(line.strip(), SHOWN)
