"""Rubrics: which criteria one lists, what each weighs, and on which scale it is scored.

In the text of a rubric a criterion is a line such as `1. **Correctness** (weight: 0.4)` or `1. Tone: kind? (0-5)`.
Weights count by their share. What looks like a weight is read as one or refused: a rubric that says 90 and 10 is never
taken for one that says half and half.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, NamedTuple

from pydantic import Field, field_validator, model_validator

from evalharness.domain.record import Record
from evalharness.domain.text import head
from evalharness.graders.awaiting import Range, ascending

LONGEST_NAME = 120
MOST_POINTS = 100
"""A larger number after a heading is a year or a size, but neither a weight nor the end of a scale."""
SHOWN = 60
_NUMBER = r"(?:\d+(?:[.,]\d+)?|[.,]\d+)"
_UNIT = r"(?P<unit>%|percent|points?|pts?\.?)?"
_LINE = re.compile(r"^[ \t]{0,3}(?:(?P<heading>#+)[ \t]*)?(?:(?P<number>\d+[.)])|[-*+](?!\*))?[ \t]*(?P<text>\S.*)$")
_BOLD = re.compile(r"(?P<mark>\*\*|__)(?P<name>.+?)(?P=mark)")
_BRACKET = re.compile(r"[(\[]([^()\[\]\n]{1,80})[)\]]")
_WEIGHT = re.compile(rf"weight(?:ed|s|ing)?\s*(?:[:=]|of|is)?\s*(?P<number>{_NUMBER})\s*{_UNIT}", re.IGNORECASE)
_MEANT_AS_WEIGHT = re.compile(r"weight\w*\s*(?:[:=]|\D{0,9}\d)", re.IGNORECASE)
_SHARE = re.compile(rf"(?P<number>{_NUMBER})\s*{_UNIT}(?:\s+weight)?", re.IGNORECASE)
_SCALE = re.compile(
    rf"(?:scale|scores?|range|rate)?\s*:?\s*(?P<low>{_NUMBER})\s*(?:-|–|—|to|\.\.)\s*(?P<high>{_NUMBER})(?:\s*(?:points?|pts?))?",
    re.IGNORECASE,
)
_UNBRACKETED = re.compile(rf"[ \t]*[:–—-]?[ \t]*(?P<number>{_NUMBER})\s*(?P<unit>%)")


_ONLY_A_NUMBER = re.compile(
    r"[ \t]*[:=–—-]?[ \t]*(?:[(\[][\d\s.,:/%×x*-]*\d[\d\s.,:/%×x*-]*[)\]]|[\d.,/%]*\d[\d.,/%]*\s*$)"
)


class Criterion(Record):
    """`range` is its own scale; without one it is scored as the others are."""

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
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


class _Found(NamedTuple):
    name: str
    weight: float | None
    unit: str
    range: Range | None


def parse_criteria(rubric: str) -> tuple[Criterion, ...]:
    """Those the text lists; none where it only describes a good answer.

    Raises ValueError where some have a weight, or a scale, and some do not: nobody could say what the others have.
    """
    found = [each for line in rubric.splitlines() if (each := _criterion_in(line)) is not None]
    found = found or list(_shares_in(rubric))
    for what, write, has in (
        ("weight", "(weight: 0.2)", [each.weight is not None for each in found]),
        ("scale", "(0-5)", [each.range is not None for each in found]),
    ):
        if any(has) and not all(has):
            without = found[has.index(False)].name
            raise ValueError(f"criterion '{without}' of the rubric has no {what}, others have: write {write}")
    if len({each.unit for each in found}) > 1 and any((each.weight or 0) > 1 for each in found):
        raise ValueError("the rubric has weights in percent and others: write all of them in the same way")
    return checked(
        Criterion(name=each.name, weight=1.0 if each.weight is None else each.weight, range=each.range)
        for each in found
    )


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
    """Criteria that were given without a rubric, for the judge to read."""
    return "\n".join(f"- {each.key}: {each.description or each.name}" for each in criteria)


def _criterion_in(line: str) -> _Found | None:
    """A line is one if it has a weight, or is numbered and has a scale, a share in brackets or a name in bold."""
    parts = _LINE.match(line)
    if parts is None:
        return None
    text = parts["text"]
    bold = _BOLD.match(text)
    is_item = bool(parts["number"] or (parts["heading"] and bold))
    weight, unit, scale = None, "", None
    start = len(text)
    for bracket in _BRACKET.finditer(text):
        inside = bracket[1].strip()
        given = _WEIGHT.fullmatch(inside)
        if given is None and _may_be_share(parts, bold, bracket):
            given = share if (share := _SHARE.fullmatch(inside)) and _value(share["number"]) <= MOST_POINTS else None
        if given:
            weight, unit = _share(given)
            start = min(start, bracket.start())
        elif _MEANT_AS_WEIGHT.match(inside):
            raise _unreadable(line)
        elif is_item and (ends := _SCALE.fullmatch(inside)):
            bounds = (_value(ends["low"]), _value(ends["high"]))
            if bounds[1] <= MOST_POINTS:
                scale, start = ascending(bounds), min(start, bracket.start())
    if weight is None and bold and is_item and (given := _UNBRACKETED.match(text, bold.end())):
        weight, unit = _share(given)
    if weight is None and scale is None:
        if not (parts["number"] and bold):
            return None
        if _ONLY_A_NUMBER.match(text, bold.end()):
            raise _unreadable(line)
    name = _name(bold["name"] if bold else text[:start])
    return _Found(name, weight, unit, scale) if name else None


def _unreadable(line: str) -> ValueError:
    return ValueError(f"the weight in '{head(line.strip(), SHOWN)}' cannot be read: write (weight: 0.4)")


def _may_be_share(parts: re.Match[str], bold: re.Match[str] | None, bracket: re.Match[str]) -> bool:
    """`(0.4)` after a numbered heading in bold, or `(40%)` at the end of a numbered line."""
    if not (parts["number"] or parts["heading"]):
        return False
    if bold:
        return not parts["text"][bold.end() : bracket.start()].strip(" \t:–—-")
    return "%" in bracket[1] and not parts["text"][bracket.end() :].strip(" \t.:")


def _shares_in(rubric: str) -> Iterator[_Found]:
    """`- **Tone** (40%)`, without a number, is a criterion if all shares make a whole; else grades are described."""
    pattern = (
        rf"^[ \t]{{0,3}}(?:[-*+][ \t]+)?\*\*(?P<name>[^*\n]{{1,120}})\*\*[ \t:–—-]*[(\[]?(?P<number>{_NUMBER})\s*%"
    )
    found = list(re.finditer(pattern, rubric, re.MULTILINE))
    if round(sum(_value(each["number"]) for each in found), 6) == 100:
        yield from (_Found(_name(each["name"]), _value(each["number"]) / 100, "%", None) for each in found)


def _share(given: re.Match[str]) -> tuple[float, str]:
    is_percent = (given["unit"] or "").lower() in ("%", "percent")
    return _value(given["number"]) / (100 if is_percent else 1), "%" if is_percent else ""


def _value(written: str) -> float:
    return float(written.replace(",", "."))


def _name(written: str) -> str:
    """Without what follows a colon, and without what was read from brackets in it."""
    bare = _BRACKET.sub(lambda each: "" if _is_read(each[1].strip()) else each[0], written)
    return bare.strip(" \t*_#:–—-").partition(": ")[0].strip(" \t*_#:–—-")


def _is_read(inside: str) -> bool:
    return any(pattern.fullmatch(inside) for pattern in (_WEIGHT, _SHARE, _SCALE))
