"""A weight as rubrics write it: `(weight: 0.4)`, `40%`, `max 90`; and where on a line it stands.

Which lines are criteria, and which numbers count, is the business of `reading.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_POINTS = 100
"""A larger number beside a name is a year or a size, but neither a weight nor the end of a scale."""
MOST_BARE_WORDS = 3
"""In a name with no sign between it and its weight: `Best practices 20%`."""


def pattern(written: str) -> re.Pattern[str]:
    return re.compile(written, re.IGNORECASE)


NUMBER = r"(?<!\d,)(?![1-9]\d*,\d{3}\b)(?:\d+(?:[.,]\d+)?|[.,]\d+)"
"""Not one that is grouped: nobody can say what `1,000` is."""
WORD = r"\b(?:weight(?:ed|s|ing|age|ings)?|wt|gewicht(?:ung)?|poids|peso)\b\.?"
_WEIGHT = (
    rf"(?P<word>(?:{WORD}|\bw(?=\s*[:=]))\s*(?:[:=]|of\b|is\b)?\s*)?"
    rf"(?P<most>(?:max(?:imum)?\b\.?|up\s+to\b|worth\b)\s*:?\s*)?(?P<number>{NUMBER})"
    r"(?:\s*(?:(?P<percent>%|percent\b|prozent\b)|(?P<points>points?\b|pts?\b\.?)|x\b|×))?"
    rf"(?P<of>\s*(?:of\s+(?:the\s+)?(?:total|final|overall|whole)?\s*(?:weight|total|scores?|grades?|marks?)\b|{WORD}))?"
)
_PLACED = pattern(
    rf"(?P<before>^|[(\[:=,;–—]|\s-(?=\s)|\s)\s*{_WEIGHT}"
    rf"(?=\s*(?P<after>$|[)\],;:=]|[–—-](?!\s*{NUMBER}\s*[%)\]])|\.(?!\d))|\s+(?P<name>[^\W\d]))"
)
SCALE = pattern(
    rf"(?<=[(\[,;])\s*(?:scale|scores?|range|rate|from)?\s*:?\s*(?P<low>{NUMBER})\s*(?:-|–|—|to|\.\.)\s*"
    rf"(?P<high>{NUMBER})(?:\s*(?:points?|pts?|scale))?\s*(?=[)\],;])"
)
_KILOS = r"(?!\d|[.,]\d|\s*(?:k?g|lbs?|oz|t|tons?|tonnes?|pounds?|kilos?|(?:kilo)?grams?)\b)"
MEANT = pattern(
    rf"{WORD}\s*[:=]\s*(?!{NUMBER}\s)\S|{WORD}\s*(?:[:=]|of\b|is\b)\s*{NUMBER}{_KILOS}"
    rf"|{WORD}\D{{0,12}}{NUMBER}\s*%?(?=\s*(?:$|[)\],;:|–—-]|\.(?!\d)))"
)
_ODD = pattern(rf"[\s:–—-]*[(\[](?:[^()\[\]]*(?:{WORD}|\d\s*%+\s*(?=[)\]]))|[^\W\d]+\s*[:=]\s*{NUMBER}\s*[)\]])")
_ONLY_NUMBERS = re.compile(r"[\s:=–—-]*(?:[(\[](?=\D*\d)[\s.,:/%×x*\d-]*[)\]]|(?=\D*\d)[\d.,/%]+\s*$)")
_WHOLLY = pattern(_WEIGHT)
_UNITS = rf"{NUMBER}\s*(?:%|(?:percent|prozent|points?|pts?|marks?|credits?)\b)"
_LABEL = rf"(?:{WORD}|\b(?:w|factor|coeff?(?:icient)?|importance|priority)\b)"
_TIMES = rf"[x×]\s*{NUMBER}|{NUMBER}\s*(?:x\b|×)"
_ENDS = r"(?=\s*(?:$|[:,;.–—-]))"
TOKEN = pattern(
    rf"[(\[][^()\[\]{{}}]*(?:{_UNITS}|{_LABEL}\W*{NUMBER}{_KILOS})[^()\[\]{{}}]*[)\]]"
    rf"|[(\[]\s*(?:{_TIMES}|out\s+of\s+{NUMBER}|double|triple)\s*[)\]]"
    rf"|{_LABEL}[\"']?\s*[:=]\s*{NUMBER}{_KILOS}|{WORD}\s+{NUMBER}{_ENDS}|(?<=[^\W\d])\s+(?:{_TIMES}){_ENDS}"
    rf"|\bcounts?\s+(?:double|twice|triple)\b|(?<=\w)[\s:–—-]*[★☆⭐]+{_ENDS}"
    rf"|(?:^|\|)\s*{_UNITS}\s*(?=\||$)|\|\s*{NUMBER}\s*$"
)
"""What looks like a weight, wherever it stands: in brackets, in a cell, with a word or a sign, alone on a line."""
LETTER = re.compile(r"[^\W\d]")


@dataclass(frozen=True, slots=True)
class Weight:
    value: float
    unit: str
    is_said: bool
    """With the word: `weight: 0.4`."""
    is_set_off: bool
    """In brackets, or in a cell of a table."""
    may_be_prose: bool
    """Next to its name without a sign between them, or before it, as in `100%: all of it`, which may be a level."""

    @property
    def is_plain(self) -> bool:
        """What else could be meant by it?"""
        return self.unit != "number" and not self.may_be_prose


def weight_apart(text: str, title_end: int) -> tuple[Weight | None, str, str]:
    """The weight on a line whose title, if any, ends there; its name, with what is left of brackets; all else."""
    placed = [(weight, found) for found in _PLACED.finditer(text) if (weight := _weight_at(found, title_end))]
    if not placed:
        return None, text[:title_end] or text, text
    weight, found = min(placed, key=lambda each: not each[0].is_said)
    before = text[: found.start()]
    name = before[: title_end or None] if LETTER.search(before) else text[found.end() :].lstrip(")] ")
    return weight, name, text[: found.end("before")] + text[found.end() :]


def _weight_at(found: re.Match[str], title_end: int) -> Weight | None:
    """What was found, if it stands where weights stand: beside a title, before a name or after one."""
    text, after = found.string, found["after"]
    is_set_off = found["before"] in ("(", "[") or after in (")", "]")
    weight = _weight(found, is_set_off, may_be_prose=not found["before"].strip())
    leads = not LETTER.search(text[: found.start()])
    rest = text[found.end() :].lstrip(")] ")
    if weight.is_said:
        stands = after is not None and found.end() >= title_end
    elif (
        weight.value > MOST_POINTS or (after is None and not leads) or (weight.may_be_prose and weight.unit == "number")
    ):
        stands = False
    elif title_end:
        stands = leads or not LETTER.search(text[title_end : found.start()] or text[found.end() : title_end])
    elif is_set_off or not weight.may_be_prose:
        stands = not is_set_off or leads or not rest or rest[0] in ".:–—-"
    else:
        stands = leads or (not rest.strip(".") and len(text[: found.start()].split()) <= MOST_BARE_WORDS)
    return weight if stands else None


def weight_in(cell: str, unit: str) -> Weight | None:
    """That of a cell which holds nothing else; `unit` is what its column adds to a number."""
    found = _WHOLLY.fullmatch(cell)
    if found is not None and (more := _WHOLLY.fullmatch(f"{cell} {unit}".strip())):
        found = more
    return _weight(found, is_set_off=True, may_be_prose=False) if found else None


def is_odd(text: str, title_end: int, *, is_numbered: bool) -> bool:
    """Whether what follows a title looks like a weight, which nobody can read: `(40/100)`, `(double weight)`."""
    return bool(_ODD.match(text, title_end) or (is_numbered and _ONLY_NUMBERS.match(text, title_end)))


def _weight(found: re.Match[str], is_set_off: bool, may_be_prose: bool) -> Weight:
    value, unit = value_of(found["number"]), "number"
    if found["percent"]:
        value, unit = value / 100, "%"
    elif found["points"] or found["most"]:
        unit = "points"
    elif value < 1 and value:
        unit = "fraction"
    return Weight(value, unit, bool(found["word"] or found["of"]), is_set_off, may_be_prose)


def value_of(written: str) -> float:
    return float(written.replace(",", "."))
