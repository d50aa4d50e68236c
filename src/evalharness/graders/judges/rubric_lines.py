"""The lines of a rubric, each taken apart in the same way: a marker, a name, a weight, a scale.

Which of them are criteria is the business of `reading.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from evalharness.domain.text import head
from evalharness.graders.human import Range, ascending
from evalharness.graders.judges.criteria import LONGEST_NAME
from evalharness.graders.judges.written_weights import (
    LETTER,
    MEANT,
    MOST_POINTS,
    NUMBER,
    SCALE,
    WORD,
    Weight,
    is_odd,
    pattern,
    value_of,
    weight_apart,
    weight_in,
)

MOST_WORDS = 5
"""In the name on a line without a marker: more are a sentence."""
SHOWN = 60
HOW = (
    "write NAME (weight: 0.4) for each, on a line of its own; "
    "a `model` grader can have `criteria: {NAME: 0.4}` beside its rubric instead"
)
_LINE = re.compile(
    r"^[ \t>]*(?P<heading>#+)?[ \t]*"
    r"(?:\(?(?P<number>\d+(?=[.)]\D)|[a-zA-Z](?=[.)][\s*]))[.)]|(?P<bullet>[-*+•])(?![*\d]))?[ \t]*(?P<text>\S.*)$"
)
_BOLD = re.compile(r"(?P<mark>\*\*|__)(?P<name>.+?)(?P=mark)")
_MARKS = re.compile(r"\*+|__|`")
_RULE = re.compile(r"[\s|:-]+")
TOTAL = pattern(r"(?:(?:grand|overall)\s+)?(?:total|sum|gesamt|summe)(?:\s+(?:weights?|points|scores?|marks))?")
_ANNOUNCES = pattern(rf"{WORD}|\bcriteria\W*$")
_COLUMN = pattern(rf"(?P<word>{WORD})|(?P<percent>%|\bpercent\b)|(?P<points>\bpoints\b|\bpts\b)")
_SAID = pattern(rf"{WORD}\s*[:=]?\s*{NUMBER}")
_AROUND = " \t_#:=,;.–—-"


@dataclass(slots=True)
class Item:
    """A line that is a criterion if it, or another of its list, says so. Items of one list have the same `list`."""

    line: str
    list: tuple[object, ...]
    name: str
    weight: Weight | None = None
    range: Range | None = None
    is_titled: bool = False
    """Numbered and in bold: a criterion in any case."""
    is_announced: bool = False
    """In bold, or below a line that speaks of weights or criteria."""
    rests: dict[int, str] = field(default_factory=dict)
    """What its lines hold beside its weight and its scale."""

    @property
    def tells(self) -> bool:
        return self.range is not None or (self.weight is not None and self.weight.is_said)


def lists_in(rubric: str) -> list[list[Item]]:
    lists: dict[tuple[object, ...], list[Item]] = {}
    for item in (*_items(rubric), *_rows(rubric)):
        lists.setdefault(item.list, []).append(item)
    return list(lists.values())


def _items(rubric: str) -> list[Item]:
    found: list[Item] = []
    numbered: dict[bool, tuple[int, int]] = {}
    block, is_announced = 0, False
    for place, line in enumerate(rubric.splitlines()):
        parts = _LINE.match(line)
        if parts is None or parts["text"].startswith("|"):
            continue
        item = _item(place, line, parts, is_announced)
        if item.weight and item.weight.is_said and not item.name:
            _add_weight(found, item, is_bullet=bool(parts["bullet"]))
            continue
        if number := parts["number"]:
            count = int(number) if number.isdigit() else ord(number.lower()) - ord("a") + 1
            last, begun = numbered.get(number.isdigit(), (0, 0))
            numbered[number.isdigit()] = (count, begun + (count != last + 1))
            item.list = ("number", number.isdigit(), numbered[number.isdigit()][1])
        elif parts["bullet"]:
            item.list = ("bullet", _indent(line), block)
        elif parts["heading"] or _BOLD.match(parts["text"]):
            item.list = ("heading", parts["heading"])
        else:
            is_short = item.weight is not None and len(item.name.split()) <= MOST_WORDS
            item.list = ("line", block) if is_short or item.tells else ()
        if not (number or parts["bullet"] or item.list[:1] == ("line",)):
            block, is_announced = block + 1, bool(_ANNOUNCES.search(plain(line)))
        if item.name and item.list:
            found.append(item)
    return found


def _add_weight(found: list[Item], below: Item, *, is_bullet: bool) -> None:
    """`Weight: 0.9` on a line of its own belongs to the heading or the item above it."""
    for item in reversed(found):
        if item.list[0] != "bullet" or item.is_titled or _indent(item.line) < _indent(below.line) or not is_bullet:
            if item.weight:
                break
            item.weight = below.weight
            item.rests |= below.rests
            return
    raise unreadable(below.line)


def _item(place: int, line: str, parts: re.Match[str], is_announced: bool) -> Item:
    text, bold = plain(parts["text"]), _BOLD.match(parts["text"])
    title_end = len(plain(bold[0])) if bold else 0
    item = Item(line, (), "", is_titled=bool(bold and parts["number"]), is_announced=is_announced or bool(bold))
    has_scale = parts["number"] or parts["heading"] or _SAID.search(text)
    for ends in SCALE.finditer(text) if has_scale else ():
        if value_of(ends["high"]) <= MOST_POINTS:
            item.range = ascending((value_of(ends["low"]), value_of(ends["high"])))
            text = text[: ends.start()] + " " * len(ends[0]) + text[ends.end() :]
    item.weight, name, item.rests[place] = weight_apart(text, title_end)
    is_unread = MEANT.search(text, title_end) or (bold and is_odd(text, title_end, is_numbered=bool(parts["number"])))
    if item.weight is None and item.range is None and is_unread:
        raise unreadable(line)
    item.name = _name(name)
    return item


def _rows(rubric: str) -> Iterator[Item]:
    """Of tables: by their column of weights, else by the one cell of each row that is a weight."""
    column, unit, table, is_head = None, "", 0, True
    for place, line in enumerate(rubric.splitlines()):
        if not line.strip().startswith("|"):
            column, unit, table, is_head = None, "", table + 1, True
            continue
        cells = [plain(cell).strip() for cell in line.strip().strip("|").split("|")]
        heads = [which for which, cell in enumerate(cells) if _COLUMN.search(cell) and not re.search(r"\d", cell)]
        if is_head and heads:
            column, said = heads[0], _COLUMN.search(cells[heads[0]])
            unit = "weight" if said and said["word"] else "%" if said and said["percent"] else "points"
        elif not _RULE.fullmatch(line):
            item = _row(place, line, cells, column, unit)
            item.list = ("table", table)
            if item.name and (item.weight or not is_head):
                yield item
        is_head = False


def _row(place: int, line: str, cells: Sequence[str], column: int | None, unit: str) -> Item:
    read = {which: weight_in(cell, unit) for which, cell in enumerate(cells) if column in (None, which)}
    weights = {which: each for which, each in read.items() if each and (column is not None or each.unit != "number")}
    name = next((_name(cell) for which, cell in enumerate(cells) if LETTER.search(cell) and which != column), "")
    if unit == "weight" and not weights and not TOTAL.fullmatch(name):
        raise unreadable(line)
    rest = "".join(f"| {'' if which in weights else cell} " for which, cell in enumerate(cells)) + "|"
    only = next(iter(weights.values())) if len(weights) == 1 else None
    return Item(line, (), name, only, rests={place: rest})


def unreadable(line: str) -> ValueError:
    return ValueError(f"the weight in '{shown(line)}' cannot be read: {HOW}")


def shown(line: str) -> str:
    return head(line.strip(), SHOWN)


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" >"))


def is_below(line: str, above: str) -> bool:
    """Whether it is an item of a list inside another item."""
    parts = _LINE.match(line)
    return bool(parts and (parts["number"] or parts["bullet"])) and _indent(line) > _indent(above)


def plain(text: str) -> str:
    return _MARKS.sub("", text)


def _name(written: str) -> str:
    """Without what follows a colon, nor what is left of a bracket that was read."""
    bare = re.sub(r"[(\[][\s,;]*(?:[)\]]|$)", "", written).strip(_AROUND)
    return bare.partition(": ")[0].strip(_AROUND)[:LONGEST_NAME]
