"""What a reviewer gets to see of an item. This is the one place that decides it: terminal, API and pages show this.

Blind means blind: no model, target, suite, case, run, verdict of a judge, rating of somebody else, and no sign that an
item is gold. Whatever is not copied here by name stays behind.
"""

from __future__ import annotations

from typing import Any

import regex

from evalharness.domain.review import Reviewer, ReviewItem
from evalharness.domain.seen_item import SeenAnswer, SeenItem
from evalharness.engine.reviewing.review_items import shuffled_letters
from evalharness.values.pattern import compile_pattern

HIDDEN = "[hidden]"
MASKING_LIMIT_S = 1.0


def seen_item(item: ReviewItem, reviewer: Reviewer, draft: str = "") -> SeenItem:
    return _seen(item, shuffled_letters(item, reviewer.seed), draft)


def item_in_own_letters(item: ReviewItem) -> SeenItem:
    """For an adjudicator, who sees what others said in these letters."""
    return _seen(item, {chr(ord("A") + place): place for place in range(len(item.answers))}, "")


def _seen(item: ReviewItem, letters: dict[str, int], draft: str) -> SeenItem:
    task, scale = item.task, item.task.scale
    return SeenItem(
        id=item.id,
        question=item.question,
        answers=_answers(item, letters),
        scale=scale.type,
        range=scale.range if scale.type == "likert" else None,
        labels=scale.labels if scale.type == "likert" else {},
        choices=scale.choices if scale.type == "binary" else (),
        criteria=scale.rated if scale.type == "likert" else (),
        instructions=scale.description if scale.criteria or scale.type != "likert" else "",
        tie_allowed=scale.tie_allowed,
        rubric=task.rubric,
        time_limit_minutes=task.time_limit_minutes,
        draft=draft,
        about={} if task.blind else item.about,
    )


def _answers(item: ReviewItem, letters: dict[str, int]) -> tuple[SeenAnswer, ...]:
    patterns = [compile_pattern(pattern) for pattern in item.task.mask]
    found = []
    for letter, place in letters.items():
        kept = item.answers[place]
        shown = {"output": _masked(kept.output, patterns), "messages": _masked(list(kept.messages), patterns)}
        found.append(SeenAnswer(letter=letter if item.is_ranking else "", **shown))
    return tuple(found)


def _masked(value: Any, patterns: list[regex.Pattern[str]]) -> Any:
    """Names inside the texts of an answer hidden; without patterns, the answer as it is."""
    if isinstance(value, str):
        for pattern in patterns:
            try:
                value = pattern.sub(HIDDEN, value, timeout=MASKING_LIMIT_S)
            except TimeoutError:  # better nothing than a name
                return HIDDEN
        return value
    if isinstance(value, list | tuple):
        return [_masked(each, patterns) for each in value]
    if isinstance(value, dict):
        return {_masked(key, patterns): _masked(each, patterns) for key, each in value.items()}
    return value
