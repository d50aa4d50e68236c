"""Reading criteria from the text of a rubric: which ones it lists, what each weighs, on which scale it is scored.

A criterion is a line such as `1. **Correctness** (weight: 0.4)`, `- Tone, weight 0.1`, `1. Tone: kind? (0-5)`, or a row
of a table. What looks like a weight is read as one or refused: a rubric that says 90 and 10 is never taken for one that
says half and half.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalharness.domain.text import head
from evalharness.graders.human import Range, ascending
from evalharness.graders.judges.criteria import LONGEST_NAME, Criterion, checked

MOST_POINTS = 100
"""A larger number after a heading is a year or a size, but neither a weight nor the end of a scale."""
SHOWN = 60
ROUNDING = 1.0
"""Of shares in percent that make a whole: 33, 33 and 33 do."""
_NUMBER = r"(?:\d+(?:[.,]\d+)?|[.,]\d+)"
_PERCENT = r"(?:%|percent\b|prozent\b)"
_UNIT = rf"(?:{_PERCENT}|points?\b|pts?\b\.?|x\b|×)?"
_WORD = r"\b(?:weight(?:ed|s|ing|age|ings)?|wt|gewicht(?:ung)?|poids|peso)\b\.?"
_ENDS = r"(?=\s*(?:$|[)\],;:|–—-]|\.(?!\d)))"
_KILOS = r"(?!\s*(?:k?g|lbs?|oz|t|tons?|tonnes?|pounds?|kilos?|(?:kilo)?grams?)\b)"


def _pattern(written: str) -> re.Pattern[str]:
    return re.compile(written, re.IGNORECASE)


_LINE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<heading>#+)?[ \t]*"
    r"(?:(?P<number>\d+)[.)](?=\D)|(?P<bullet>[-*+•])(?![*\d]))?[ \t]*(?P<text>\S.*)$"
)
_BOLD = re.compile(r"(?P<mark>\*\*|__)(?P<name>.+?)(?P=mark)")
_MARKS = re.compile(r"\*+|__|`")
_BRACKET = re.compile(r"[(\[]([^()\[\]]{1,80})[)\]]")
_WEIGHT = _pattern(
    rf"(?:{_WORD}|\bw(?=\s*[:=]))\s*(?:[:=]|of\b|is\b)?\s*(?P<after>{_NUMBER}\s*{_UNIT}){_ENDS}"
    rf"|(?P<before>{_NUMBER}\s*{_UNIT})\s*(?:of\s+(?:the\s+)?(?:total|final|overall|whole)?\s*(?:weight|total|scores?|grades?|marks?)\b|{_WORD}){_ENDS}"
)
_MEANT = _pattern(
    rf"{_WORD}\s*[:=]\s*(?!{_NUMBER}\s)\S|{_WORD}\s*(?:[:=]|of\b|is\b)\s*{_NUMBER}{_KILOS}|{_WORD}\D{{0,12}}{_NUMBER}\s*{_UNIT}{_ENDS}"
)
_SHARE = _pattern(rf"{_NUMBER}\s*{_UNIT}")
_SCALE = _pattern(
    rf"(?:scale|scores?|range|rate|from)?\s*:?\s*(?P<low>{_NUMBER})\s*(?:-|–|—|to|\.\.)\s*(?P<high>{_NUMBER})(?:\s*(?:points?|pts?|scale))?"
)
_AFTER_TITLE = _pattern(rf"\s*[:–—-]?\s*(?P<share>{_NUMBER}\s*%)")
_ONLY_A_NUMBER = re.compile(
    r"\s*[:=–—-]?\s*[x×]?(?:[(\[][\d\s.,:/%×x*-]*\d[\d\s.,:/%×x*-]*[)\]]|[\d.,/%]*\d[\d.,/%]*\s*$)"
)
_UNKNOWN = _pattern(rf"[^\W\d]+\s*[:=]\s*{_NUMBER}\s*%?|.*\d\s*%\s*|.*{_WORD}.*")
_PART = rf"(?:{_NUMBER}\s*%|0?[.,]\d+)"
_PLAIN_SHARE = _pattern(
    rf"(?P<name>[^:%|()\[\]]{{1,60}}?)\s*(?:[:,–—(\[]|\s-)+\s*(?P<share>{_PART})\s*(?:$|[)\].:,;–—-].*)"
    rf"|(?P<short>[^\W\d][^\s:%|]*(?:\s[^\s:%|\d]+){{0,2}})\s+(?P<last>{_PART})\s*"
    rf"|(?P<first>{_NUMBER}\s*%)\s+(?P<rest>[^\W\d][^:%|]{{0,60}})"
)
_RULE = re.compile(r"[\s|:-]+")


@dataclass(slots=True)
class _Item:
    """A line that is a criterion if it, or another of its list, says so. Items of one list have the same `list`."""

    line: str
    name: str
    list: tuple[object, ...]
    is_titled: bool = False
    weight: str = ""
    """As it is written: `0.4`, `40 %`."""
    range: Range | None = None
    share: str = ""
    """A percentage or a fraction, which is a weight if those of the whole list make a whole."""
    may_be_grade: bool = False

    @property
    def tells(self) -> bool:
        return bool(self.weight) or self.range is not None


def parse_criteria(rubric: str) -> tuple[Criterion, ...]:
    """Those the text lists; none where it only describes a good answer.

    Raises ValueError where a weight cannot be read, and where some have a weight, or a scale, and some do not: nobody
    could say what the others have.
    """
    items = [*_items(rubric), *_rows(rubric)]
    telling = {item.list for item in items if item.tells and item.list[0] != "heading"}
    found = [item for item in items if item.tells or item.is_titled or item.list in telling]
    shares = _shares(items)
    if not found:
        found = shares
        for item in found:
            item.weight = item.share
    elif not any(item.weight for item in found) and (apart := [item.line for item in shares] or _whole(rubric)):
        raise _unreadable(apart[0])
    _check_alike(found)
    return checked(
        Criterion(name=item.name, weight=_weight(item.weight) if item.weight else 1.0, range=item.range)
        for item in found
    )


def _whole(rubric: str) -> list[str]:
    """Lines whose percentages make 100: `Correctness counts 90%, tone 10%.`"""
    parts = {line: re.findall(rf"({_NUMBER})\s*%", line) for line in rubric.splitlines()}
    return [line for line, found in parts.items() if len(found) > 1 and abs(sum(map(_value, found)) - 100) <= ROUNDING]


def _check_alike(found: Sequence[_Item]) -> None:
    for what, write, has in (
        ("weight", "(weight: 0.2)", [bool(item.weight) for item in found]),
        ("scale", "(0-5)", [item.range is not None for item in found]),
    ):
        if any(has) and not all(has):
            without = found[has.index(False)].name
            raise ValueError(f"criterion '{without}' of the rubric has no {what}, others have: write {write}")
    in_percent = {_is_percent(item.weight) for item in found}
    if len(in_percent) > 1 and any(_weight(item.weight) > 1 for item in found):
        raise ValueError("the rubric has weights in percent and others: write all of them in the same way")


def _shares(items: Sequence[_Item]) -> list[_Item]:
    """`- Tone: 40%`, where all of a list make a whole; a list in which each has one, but not so, is refused."""
    for list_ in dict.fromkeys(item.list for item in items if item.share):
        members = [item for item in items if item.list == list_]
        sharing = [item for item in members if item.share]
        total = sum(100 * _weight(item.share) for item in sharing)
        if len(sharing) > 1 and abs(total - 100) <= ROUNDING:
            return sharing
        if len(sharing) == len(members) > 1 and not any(item.may_be_grade or item.tells for item in members):
            raise ValueError(
                f"'{_shown(sharing[0].line)}' and the lines after it look like criteria with weights, but make "
                f"{total:g} %: make it 100, or write (weight: 0.4); what is no weight, tell in a sentence"
            )
    return []


def _items(rubric: str) -> Iterator[_Item]:
    found: list[_Item] = []
    last_number, numbered, bulleted = 0, 0, 0
    for line in rubric.splitlines():
        parts = _LINE.match(line)
        if parts is None or parts["text"].startswith("|"):
            continue
        indent = len(parts["indent"].expandtabs(4))
        if _WEIGHT.fullmatch(_plain(parts["text"]).strip(" .;")):
            _add_weight(found, line, indent, is_bullet=bool(parts["bullet"]))
            continue
        if parts["number"]:
            numbered += int(parts["number"]) != last_number + 1
            last_number = int(parts["number"])
        elif not parts["bullet"]:
            bulleted += 1
        list_ = ("bullet", indent, bulleted) if parts["bullet"] else ("heading", parts["heading"])
        if (item := _item(line, parts, ("number", numbered) if parts["number"] else list_)) is not None:
            found.append(item)
    yield from found


def _add_weight(found: list[_Item], line: str, indent: int, *, is_bullet: bool) -> None:
    """`Weight: 0.9` on a line of its own belongs to the heading or the item above it."""
    for item in reversed(found):
        stands = len(item.line) - len(item.line.lstrip())
        if item.list[0] != "bullet" or item.is_titled or stands < indent or not is_bullet:
            if item.weight:
                break
            item.weight = _said(_WEIGHT.search(_plain(line)))
            return
    raise _unreadable(line)


def _item(line: str, parts: re.Match[str], list_: tuple[object, ...]) -> _Item | None:
    text, bold = _plain(parts["text"]), _BOLD.match(parts["text"])
    title_end = len(_plain(bold[0])) if bold else 0
    is_listed = bool(parts["number"] or parts["heading"] or parts["bullet"])
    item = _Item(line, "", list_, is_titled=bool(bold and parts["number"]))
    start = len(text)
    for bracket in _BRACKET.finditer(text):
        after_title = not text[title_end : bracket.start()].strip(" \t:–—-") if bold else False
        at_end = not text[bracket.end() :].strip(" \t.:")
        may_be_share = bool(parts["number"] or parts["heading"]) and (after_title or (not bold and at_end))
        if _read_bracket(item, bracket[1], may_be_share, bool(bold), bool(parts["number"] or parts["heading"])):
            start = min(start, bracket.start())
        elif not _PLAIN_SHARE.fullmatch(text) and (
            (after_title and is_listed and _UNKNOWN.fullmatch(bracket[1].strip())) or _MEANT.match(bracket[1])
        ):
            raise _unreadable(line)
    bare = _BRACKET.sub(lambda each: " " * len(each[0]), text)
    if not item.weight and (is_listed or bold) and (said := _WEIGHT.search(bare, title_end)):
        item.weight, start = _said(said), min(start, said.start())
    if not item.weight and item.is_titled and (said := _AFTER_TITLE.match(text, title_end)):
        item.weight = said["share"]
    if not item.weight and _MEANT.search(bare, title_end):
        raise _unreadable(line)
    if item.is_titled and not item.tells and _ONLY_A_NUMBER.match(text, title_end):
        raise _unreadable(line)
    if not item.tells and (is_listed or bold) and (share := _PLAIN_SHARE.fullmatch(text)):
        item.share = share["share"] or share["last"] or share["first"]
        item.may_be_grade = bool(share["first"])
        item.name = _name(share["name"] or share["short"] or share["rest"])
    item.name = item.name or _name(bold["name"] if bold else text[:start])
    return item if item.name and (is_listed or bold or item.tells) else None


def _read_bracket(item: _Item, inside: str, may_be_share: bool, has_title: bool, may_be_scale: bool) -> bool:
    """`weight: 0.4`, `1-5, weight: 0.4`, `40%`: whether all of it was read."""
    parts = [part.strip() for part in re.split(r";|,(?=\s)", inside)]
    for part in parts:
        if said := _WEIGHT.fullmatch(part):
            item.weight = _said(said)
        elif (
            may_be_share
            and _SHARE.fullmatch(part)
            and (has_title or not part[-1].isdigit())
            and _value(part) <= MOST_POINTS
        ):
            item.weight = part
        elif may_be_scale and (ends := _SCALE.fullmatch(part)) and _value(ends["high"]) <= MOST_POINTS:
            item.range = ascending((_value(ends["low"]), _value(ends["high"])))
        else:
            return False
    return True


def _rows(rubric: str) -> Iterator[_Item]:
    """Of tables: those with a column of weights, and those with a percentage in each row."""
    column, table = None, 0
    for line in rubric.splitlines():
        if not line.strip().startswith("|"):
            column, table = None, table + 1
            continue
        cells = [_plain(cell).strip() for cell in line.strip().strip("|").split("|")]
        if _RULE.fullmatch(line):
            continue
        heads = [place for place, cell in enumerate(cells) if re.search(_WORD, cell, re.IGNORECASE)]
        if column is None and heads and not re.search(r"\d", cells[heads[0]]):
            column = heads[0]
            continue
        name = next((cell for cell in cells if re.search(r"[^\W\d]", cell)), "")
        shares = [cell for cell in cells if _pattern(rf"{_NUMBER}\s*%").fullmatch(cell)]
        item = _Item(line, _name(name), ("table", table), share=shares[0] if len(shares) == 1 else "")
        if column is not None:
            item.weight = cells[column] if column < len(cells) else ""
            if not _SHARE.fullmatch(item.weight):
                raise _unreadable(line)
        elif said := next((said for cell in cells if (said := _WEIGHT.fullmatch(cell))), None):
            item.weight = _said(said)
        if item.name:
            yield item


def _said(said: re.Match[str] | None) -> str:
    assert said is not None, "it was found before"
    return (said["after"] or said["before"]).strip()


def _unreadable(line: str) -> ValueError:
    return ValueError(f"the weight in '{_shown(line)}' cannot be read: write (weight: 0.4)")


def _shown(line: str) -> str:
    return head(line.strip(), SHOWN)


def _weight(written: str) -> float:
    return _value(written) / (100 if _is_percent(written) else 1) if written else 0.0


def _is_percent(written: str) -> bool:
    return _pattern(_PERCENT).search(written) is not None


def _value(written: str) -> float:
    found = re.match(_NUMBER, written.strip())
    assert found is not None, "only what begins with a number is read"
    return float(found[0].replace(",", "."))


def _plain(text: str) -> str:
    return _MARKS.sub("", text)


def _name(written: str) -> str:
    """Without what follows a colon, and without what was read from brackets in it."""
    bare = _BRACKET.sub(lambda each: "" if _is_read(each[1]) else each[0], _plain(written))
    return bare.strip(" \t_#:,;–—-").partition(": ")[0].strip(" \t_#:,;–—-")[:LONGEST_NAME]


def _is_read(inside: str) -> bool:
    return any(pattern.fullmatch(inside.strip()) for pattern in (_WEIGHT, _SHARE, _SCALE)) or bool(
        _WEIGHT.search(inside)
    )
