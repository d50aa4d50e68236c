"""Reading criteria from the text of a rubric: which ones it lists, what each weighs, on which scale it is scored.

Every line is taken apart in the same way: a marker, a name, a weight. The weights of a list are read if all its items
have one. What looks like a weight is read as one or refused, wherever it stands: a rubric that says 90 and 10 is never
taken for one that says half and half, nor for one without criteria.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from evalharness.graders.judges.criteria import Criterion, checked
from evalharness.graders.judges.rubric_lines import HOW, TOTAL, Item, is_below, lists_in, plain, shown, unreadable
from evalharness.graders.judges.written_weights import LETTER, NUMBER, SCALE, TOKEN, value_of, weight_in

ROUNDING = 0.0101
"""Of a whole: 33, 33 and 33 % make one."""
ODD_NAME = re.compile(r"[(\[][^)\]]*$|^\[|^\w+[.)]\s")
"""With half a bracket, or a marker that is not known."""
WHOLES = {"%": 1, "fraction": 1, "points": 100, "number": 100}


def parse_criteria(rubric: str) -> tuple[Criterion, ...]:
    """Those the text lists; none where it only describes a good answer.

    Raises ValueError where weights cannot be read, and where some have a weight, or a scale, and some do not: nobody
    could say what the others have.
    """
    rubric = unicodedata.normalize("NFKC", rubric)
    lists = lists_in(rubric)
    found = _without_total([item for items in lists for item in _sure(items)])
    if not found:
        found = _sharing(lists)
    apart = [*(items[0].line for items in _wholes(lists)), *_summing(rubric)]
    if apart and found and not any(item.weight for item in found):
        raise unreadable(apart[0])
    _check_alike(found)
    _check_left_over(rubric, found)
    return checked(
        Criterion(name=item.name, weight=item.weight.value if item.weight else 1.0, range=item.range) for item in found
    )


def _sure(items: Sequence[Item]) -> list[Item]:
    """Those that are criteria whatever their numbers make: they have the word, a scale or a title."""
    all_are = items[0].list[0] != "heading" and any(item.tells for item in items)
    found = _without_total([item for item in items if all_are or item.tells or item.is_titled])
    for item in found:
        if item.weight and not (item.weight.is_said or item.weight.is_set_off or item.is_titled):
            item.weight = None
    return found


def _sharing(lists: Sequence[Sequence[Item]]) -> list[Item]:
    """The list whose weights, without the word, make a whole; refused where that is not certain."""
    wholes = _wholes(lists)
    for items in wholes:
        if len(wholes) > 1 or not all(item.is_announced or (item.weight and item.weight.is_set_off) for item in items):
            raise _doubtful(items, "nothing says that they are")
    if wholes:
        return wholes[0]
    for items in map(_weighed, lists):
        having = [item for item in items if item.weight and item.weight.is_plain]
        are_set_off = all(item.weight and item.weight.is_set_off for item in having)
        if len(having) > 1 and (are_set_off or len(having) == len(items)):
            raise _doubtful(having, "not all have one of the same kind, or they make no whole (100 %, 100 points, 1)")
    return []


def _wholes(lists: Sequence[Sequence[Item]]) -> list[list[Item]]:
    return [items for items in map(_weighed, lists) if _makes_a_whole(items)]


def _summing(rubric: str) -> list[str]:
    """Lines whose percentages make 100: `Correctness counts 90%, tone 10%.`"""
    parts = {line: re.findall(rf"({NUMBER})\s*%", line) for line in rubric.splitlines()}
    return [line for line, found in parts.items() if len(found) > 1 and abs(sum(map(value_of, found)) - 100) <= 1]


def _weighed(items: Sequence[Item]) -> list[Item]:
    """Without a total; of headings, only those with a weight, as others are about something else."""
    return _without_total([item for item in items if item.weight or item.list[0] != "heading"])


def _without_total(items: list[Item]) -> list[Item]:
    """A last line `Total` is no criterion, but must be right."""
    weights = [item.weight.value for item in items[:-1] if item.weight]
    if not weights or not TOTAL.fullmatch(items[-1].name):
        return items
    total = items[-1].weight
    if total and not _is_about(total.value, sum(weights)):
        raise ValueError(f"'{shown(items[-1].line)}' is not the sum of the weights above it: {HOW}")
    return items[:-1]


def _makes_a_whole(items: Sequence[Item]) -> bool:
    weights = [item.weight for item in items if item.weight and item.weight.value]
    if not 1 < len(weights) == len(items) or len({each.unit for each in weights}) > 1:
        return False
    whole = WHOLES[weights[0].unit]
    return abs(sum(each.value for each in weights) - whole) <= ROUNDING * whole


def _check_left_over(rubric: str, found: Sequence[Item]) -> None:
    """What looks like a weight must be that of a criterion, the sum of all, or that of a part or level of one.

    A single one without any criterion is taken for a fact.
    """
    taken = {place: item for item in found for place in item.rests}
    weights = [item.weight.value for item in found if item.weight]
    left: list[str] = []
    inside: dict[str, list[str]] = {}
    above: Item | None = None
    for place, line in enumerate(rubric.splitlines()):
        above = taken.get(place, above)
        text = SCALE.sub("", taken[place].rests[place] if place in taken else plain(line))
        tokens = [each for each in TOKEN.findall(text) if place in taken or not _is_sum(each, weights)]
        is_part = place not in taken and above and is_below(line, above.line) and LETTER.search(TOKEN.sub("", text))
        kept = inside.setdefault(above.name, []) if above and is_part else left
        kept += [f"'{each.strip()}' in '{shown(line)}'" for each in tokens]
    if not weights:  # one number alone below each name is its weight
        left += [parts[0] for parts in inside.values() if len(parts) == 1]
    if len(left) > (0 if found else 1):
        told = f"{left[0]} looks like a weight, but is not that of a criterion that could be read"
        raise ValueError(f"{told}: {HOW}; what is no weight, write without brackets")


def _is_sum(token: str, weights: Sequence[float]) -> bool:
    read = weight_in(token.strip("()[]| "), "")
    return read is not None and len(weights) > 1 and _is_about(read.value, sum(weights))


def _is_about(total: float, summed: float) -> bool:
    return abs(total - summed) <= ROUNDING * max(1, summed)


def _check_alike(found: Sequence[Item]) -> None:
    for item in found:
        if ODD_NAME.search(item.name):
            raise unreadable(item.line)
    for what, write, has in (
        ("weight", "(weight: 0.2)", [item.weight is not None for item in found]),
        ("scale", "(0-5)", [item.range is not None for item in found]),
    ):
        if any(has) and not all(has):
            without = found[has.index(False)].name
            raise ValueError(f"criterion '{without}' of the rubric has no {what}, others have: write {write}")
    weights = [item.weight for item in found if item.weight]
    if len({each.unit == "%" for each in weights}) > 1 and any(each.value > 1 for each in weights):
        raise ValueError("the rubric has weights in percent and others: write all of them in the same way")


def _doubtful(found: Sequence[Item], why: str) -> ValueError:
    told = f"'{shown(found[0].line)}' and the lines after it look like criteria with weights, but {why}"
    return ValueError(f"{told}: {HOW}; what is no weight, tell in a sentence")
