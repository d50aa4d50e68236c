"""The page on which people rate: one item, its scale, and what they have typed so far.

It shows `SeenItem` and nothing else, so that nothing on it tells who or what answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalharness.domain.plain_numbers import count
from evalharness.domain.review_queue import LeasedItem, OwnProgress
from evalharness.domain.seen_item import SeenAnswer, SeenItem
from evalharness.domain.transcript import Transcript
from evalharness.reports.conversation import conversation
from evalharness.reports.pages.case_panel import readable

RATING, PLACE, TIED = "rating", "place", "tied"
"""Names of the fields of its form, with what they are about behind a colon: `rating:accurate`, `place:A`."""
MOST_IN_A_ROW = 12
"""Numbers of a scale that are shown as buttons; of a longer one, a number is typed."""
ALONE = OwnProgress(0, 1)


@dataclass(frozen=True, slots=True)
class Option:
    value: str
    key: str
    """The number key that chooses it, if there is one."""
    label: str
    about: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that is rated: a whole answer, or one criterion. Without options a number is typed."""

    field: str
    title: str
    about: str
    indicators: Sequence[str]
    issues: Sequence[str]
    options: Sequence[Option]
    low: int = 0
    high: int = 0
    value: str = ""


@dataclass(frozen=True, slots=True)
class RankedRow:
    letter: str
    is_tied: bool
    """With the one above."""


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    letter: str
    text: str
    turns: Sequence[tuple[str, str]]
    """Who says what, where the whole conversation is shown."""


@dataclass(frozen=True, slots=True)
class ReviewPage:
    item: SeenItem
    question: str
    answers: Sequence[ShownAnswer]
    questions: Sequence[Question]
    rows: Sequence[RankedRow]
    comment: str
    number: int
    total: int
    time_left: str
    time_limit: str
    last: str
    """The item that “Undo last” gives back; empty where nothing can be taken back."""
    note: str = ""
    """What became of the last review, where that is unusual."""
    problem: str = ""
    """What is wrong with what was just submitted."""


def review_page(leased: LeasedItem, note: str = "", problem: str = "") -> ReviewPage:
    return page_of(leased.item, leased.progress, note, problem)


def page_of(item: SeenItem, progress: OwnProgress = ALONE, note: str = "", problem: str = "") -> ReviewPage:
    draft = _draft(item.draft)
    comment = draft.get("comment")
    return ReviewPage(
        item=item,
        question=readable(item.question),
        answers=[_answer(each) for each in item.answers],
        questions=list(_questions(item, draft.get("rating"))),
        rows=_rows(item, draft.get("rating")) if item.scale == "ranking" else (),
        comment=comment if isinstance(comment, str) else "",
        number=progress.done + 1,
        total=progress.done + max(1, progress.left),
        time_left=time_left(progress),
        time_limit=_limit(item.time_limit_minutes),
        last=progress.last,
        note=note,
        problem=problem,
    )


def time_left(progress: OwnProgress) -> str:
    """`about 20 minutes left`; empty until the first few are done."""
    if progress.left_s is None:
        return ""
    minutes = max(1, round(progress.left_s / 60))
    return f"about {count(minutes, 'minute')} left"


def _limit(minutes: float | None) -> str:
    """`10 minutes`, `1.5 minutes`."""
    return "" if minutes is None else f"{minutes:g} minute{'' if minutes == 1 else 's'}"


def _draft(kept: str) -> Mapping[str, Any]:
    """It may have been typed anywhere, so it may be anything."""
    try:
        found = json.loads(kept or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _answer(answer: SeenAnswer) -> ShownAnswer:
    turns = conversation(Transcript(messages=answer.messages))
    return ShownAnswer(
        answer.letter, readable(answer.output), [(each.who, each.call_head or each.text) for each in turns]
    )


def _questions(item: SeenItem, rating: Any) -> Iterator[Question]:
    if item.scale == "binary":
        options = [
            Option(str(choice.value).lower(), str(key), choice.label, choice.description, rating is choice.value)
            for key, choice in enumerate(item.choices, start=1)
        ]
        yield Question(RATING, "How good is this answer?", "", (), (), options)
    if item.scale == "likert" and item.range:
        low, high = item.range
        given = rating if isinstance(rating, dict) else {}
        for each in item.criteria:
            value = str(given.get(each.name, ""))
            about = (f"{RATING}:{each.name}", each.name, each.description, each.indicators, each.issues)
            options = list(_numbers(item, low, high, value)) if high - low < MOST_IN_A_ROW else []
            yield Question(*about, options, low, high, value)


def _numbers(item: SeenItem, low: int, high: int, value: str) -> Iterator[Option]:
    for number in range(low, high + 1):
        key = str(number) if 0 <= number <= 9 else "0" if number == 10 and low > 0 else ""
        yield Option(str(number), key, str(number), item.labels.get(str(number), ""), value == str(number))


def _rows(item: SeenItem, rating: Any) -> list[RankedRow]:
    """In the order that was given so far, else in that of the letters."""
    letters = [answer.letter for answer in item.answers]
    tiers = rating if isinstance(rating, list) and all(isinstance(tier, list) for tier in rating) else []
    rows = [RankedRow(str(letter), at > 0) for tier in tiers for at, letter in enumerate(tier)]
    if sorted(row.letter for row in rows) == sorted(letters):
        return rows
    return [RankedRow(letter, False) for letter in letters]


# What a form of the page says


def typed_rating(form: Mapping[str, str]) -> Any:
    """As far as it was given; None where nothing was."""
    if RATING in form:
        return {"true": True, "false": False}.get(form[RATING], form[RATING])
    places = sorted((int(place), name) for name, place in _about(form, PLACE) if place.isdecimal() and len(place) < 4)
    if places:
        tied = {name for name, _ in _about(form, TIED)}
        tiers: list[list[str]] = []
        for _, letter in places:
            if letter in tied and tiers:
                tiers[-1].append(letter)
            else:
                tiers.append([letter])
        return tiers
    numbers = {name: _number(value) for name, value in _about(form, RATING) if value.strip()}
    return numbers or None


def moved(tiers: Any, letter: str, by: int) -> Any:
    """One answer a place higher (-1) or lower; ties of the two that change places are given up."""
    if not isinstance(tiers, list):
        return tiers
    rows = [(name, at > 0) for tier in tiers for at, name in enumerate(tier)]
    at = next((place for place, (name, _) in enumerate(rows) if name == letter), None)
    if at is None or not 0 <= at + by < len(rows):
        return tiers
    rows[at], rows[at + by] = (rows[at + by][0], False), (rows[at][0], False)
    found: list[list[str]] = []
    for name, is_tied in rows:
        if is_tied and found:
            found[-1].append(name)
        else:
            found.append([name])
    return found


def _about(form: Mapping[str, str], kind: str) -> Iterator[tuple[str, str]]:
    for name, value in form.items():
        prefix, colon, about = name.partition(":")
        if colon and prefix == kind:
            yield about, value


def _number(text: str) -> Any:
    written = text.strip()
    return int(written) if written.lstrip("-").isdecimal() and len(written) < 10 else text
