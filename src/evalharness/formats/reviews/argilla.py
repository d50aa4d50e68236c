"""Argilla: items as records, reviews as responses.

A record has the item's `id`, `fields` with `question`, `answer` (or `answer_A`, `answer_B`, …) and `rubric`, empty
`metadata`, `suggestions` and `vectors`, and `responses`: for each question a list of `{value, user_id}`. Questions are
`rating` (a label, or a list of letters, `[A, [B, C]]` with ties), one for each criterion (a number), and `comment`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evalharness.domain.case import as_text
from evalharness.domain.review import Review, as_rating, standing
from evalharness.domain.seen_item import SeenItem
from evalharness.errors import UsageError
from evalharness.formats.reviews.label_studio import ANSWER, COMMENT, RATING, Pair
from evalharness.formats.reviews.review_rows import GivenReview
from evalharness.syntax.source import read_text
from evalharness.values.json_value import Json, parse_strictly


def argilla_text(pairs: Iterable[Pair]) -> str:
    return json.dumps([_record(*pair) for pair in pairs], ensure_ascii=False, indent=2) + "\n"


def _record(reviewed: Any, seen: SeenItem) -> dict[str, Json]:
    answers = {f"{ANSWER}_{each.letter}" if each.letter else ANSWER: as_text(each.output) for each in seen.answers}
    responses: dict[str, list[Json]] = defaultdict(list)
    given = [] if reviewed.item.is_gold else [review for review, _ in standing(reviewed.reviews).values()]
    for review in given:
        for question, value in _values(review, seen):
            responses[question].append({"value": value, "user_id": review.reviewer})
    kept: dict[str, Json] = dict(responses)
    return {
        "id": seen.id,
        "fields": {"question": as_text(seen.question), **answers, "rubric": seen.rubric},
        "metadata": {},
        "suggestions": {},
        "responses": kept,
        "vectors": {},
    }


def _values(review: Review, seen: SeenItem) -> Iterator[tuple[str, Json]]:
    rating = as_rating(review.rating)
    if isinstance(rating, bool):
        yield RATING, next(choice.label for choice in seen.choices if choice.value is rating)
    elif isinstance(rating, dict):
        yield from rating.items()
    else:
        yield RATING, [tier[0] if len(tier) == 1 else list(tier) for tier in rating]
    if review.comment:
        yield COMMENT, review.comment


def read_argilla(file: Path) -> list[GivenReview]:
    """The responses of an export, by person. Responses that were discarded are no reviews."""
    try:
        records = parse_strictly(read_text(file))
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}") from None
    if not isinstance(records, list):
        raise UsageError(f"{file} is not a list of records")
    return [each for number, record in enumerate(records, 1) for each in _given(record, f"{file}: record {number}")]


def _given(record: Any, where: str) -> Iterator[GivenReview]:
    if not isinstance(record, Mapping) or not record.get("id"):
        raise UsageError(f"{where} has no `id`")
    by_person: dict[str, dict[str, Json]] = defaultdict(dict)
    for question, responses in (record.get("responses") or {}).items():
        for response in responses:
            if response.get("status", "submitted") == "submitted":
                by_person[str(response.get("user_id"))][question] = response.get("value")
    for person, values in by_person.items():
        comment = str(values.pop(COMMENT, None) or "")
        rating: Json = values[RATING] if set(values) == {RATING} else values
        yield GivenReview(where, person, rating, comment, "", str(record["id"]))
