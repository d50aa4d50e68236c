"""Label Studio: items as tasks, reviews as annotations.

A task has `data` with `item`, `question`, `answer` (or `answer_A`, `answer_B`, … of a ranking, and all of them as
`answers`) and `rubric`. A binary rating is a `choices` result named `rating`; each criterion is a `rating` result with
the criterion's name, counted from the lowest number of the scale as 1 (Label Studio has stars, and no others); a
ranking is a `ranker` result named `rating`, whose `rank` is a list of letters. A comment is a `textarea` result named
`comment`. Skips and gold stay here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from evalharness.domain.case import as_text
from evalharness.domain.review import Review, ReviewedItem, as_rating, standing
from evalharness.domain.seen_item import SeenAnswer, SeenItem
from evalharness.errors import UsageError
from evalharness.formats.reviews.review_rows import GivenReview
from evalharness.syntax.source import read_text
from evalharness.values.json_value import Json, parse_strictly

Pair = tuple[ReviewedItem, SeenItem]
ANSWER, RATING, COMMENT = "answer", "rating", "comment"


def label_studio_text(pairs: Iterable[Pair]) -> str:
    tasks = [_task(number, reviewed, seen) for number, (reviewed, seen) in enumerate(pairs, 1)]
    return json.dumps(tasks, ensure_ascii=False, indent=2) + "\n"


def labelling_config(items: Iterable[SeenItem]) -> str:
    """The labelling config of a project that takes these tasks. Raises UsageError for rankings beside other ratings."""
    seen = list(items)
    rankings = [item for item in seen if item.scale == "ranking"]
    if rankings and len(rankings) < len(seen):
        raise UsageError(
            "some answers of this run are ranked and others rated, which are two projects in Label Studio",
            hint="import each kind of task into a project of its own",
        )
    lines = [_shown("question"), *([_shown("rubric")] if any(item.rubric for item in seen) else [])]
    if rankings:
        lines += [f'  <List name="{ANSWER}" value="$answers" title="The best answer first"/>']
        lines += [f'  <Ranker name="{RATING}" toName="{ANSWER}"/>']
    else:
        lines += [_shown(ANSWER), *_choices(seen), *_stars(seen)]
    lines += [f'  <TextArea name="{COMMENT}" toName="{ANSWER}" placeholder="Comment" maxSubmissions="1"/>']
    return "\n".join(["<View>", *lines, "</View>", ""])


def _shown(name: str) -> str:
    return f'  <Header value="{name.capitalize()}"/><Text name="{name}" value="${name}"/>'


def _choices(seen: Iterable[SeenItem]) -> Iterator[str]:
    labels = dict.fromkeys(choice.label for item in seen for choice in item.choices)
    if labels:
        yield f'  <Choices name="{RATING}" toName="{ANSWER}" choice="single">'
        yield from (f"    <Choice value={quoteattr(label)}/>" for label in labels)
        yield "  </Choices>"


def _stars(seen: Iterable[SeenItem]) -> Iterator[str]:
    most: dict[str, int] = {}
    for item in seen:
        for criterion in item.criteria if item.range else ():
            low, high = item.range or (0, 0)
            most[criterion.name] = max(most.get(criterion.name, 0), high - low + 1)
    for name, number in most.items():
        about = f'toName="{ANSWER}" maxRating="{number}"'
        yield f"  <Header value={quoteattr(name)}/><Rating name={quoteattr(name)} {about}/>"


def _task(number: int, reviewed: ReviewedItem, seen: SeenItem) -> dict[str, Json]:
    answers = {f"{ANSWER}_{each.letter}" if each.letter else ANSWER: as_text(each.output) for each in seen.answers}
    lowest = {"lowest": seen.range[0]} if seen.range else {}
    listed = [
        {"id": each.letter, "title": f"Answer {each.letter}", "body": as_text(each.output)} for each in seen.answers
    ]
    ranked: dict[str, Json] = {"answers": list[Json](listed)} if seen.scale == "ranking" else {}
    data = {"item": seen.id, "question": as_text(seen.question), **answers, **ranked, "rubric": seen.rubric, **lowest}
    given = [] if reviewed.item.is_gold else [review for review, _ in standing(reviewed.reviews).values()]
    annotations = [_annotation(place, review, seen) for place, review in enumerate(given, 1)]
    return {"id": number, "data": data, "annotations": annotations, "predictions": []}


def _listed(answer: SeenAnswer) -> dict[str, Json]:
    return {"id": answer.letter, "title": f"Answer {answer.letter}", "body": as_text(answer.output)}


def _annotation(number: int, review: Review, seen: SeenItem) -> dict[str, Json]:
    results = list(_results(review, seen))
    if review.comment:
        results.append(_result(COMMENT, "textarea", {"text": [review.comment]}))
    return {
        "id": number,
        "completed_by": {"email": review.reviewer},
        "result": results,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": review.submitted_at,
        "lead_time": review.took_s,
    }


def _results(review: Review, seen: SeenItem) -> Iterator[dict[str, Json]]:
    rating = as_rating(review.rating)
    if isinstance(rating, bool):
        label = next(choice.label for choice in seen.choices if choice.value is rating)
        yield _result(RATING, "choices", {"choices": [label]})
    elif isinstance(rating, dict):
        lowest = seen.range[0] if seen.range else 1
        for name, number in rating.items():
            yield _result(name, "rating", {"rating": number - lowest + 1})
    else:
        tiers: list[Json] = [tier[0] if len(tier) == 1 else list(tier) for tier in rating]
        yield _result(RATING, "ranker", {"ranker": {"rank": tiers}})


def _result(name: str, kind: str, value: dict[str, Json]) -> dict[str, Json]:
    return {"from_name": name, "to_name": ANSWER, "type": kind, "value": value}


def read_label_studio(file: Path) -> list[GivenReview]:
    """The annotations of an export. Drafts, predictions and cancelled annotations are no reviews."""
    tasks = _document(file)
    return [each for number, task in enumerate(tasks, 1) for each in _given(task, f"{file}: task {number}")]


def _document(file: Path) -> Sequence[Any]:
    try:
        tasks = parse_strictly(read_text(file))
    except ValueError as error:
        raise UsageError(f"{file} is not JSON: {error}") from None
    if not isinstance(tasks, list):
        raise UsageError(f"{file} is not a list of tasks")
    return tasks


def _given(task: Any, where: str) -> Iterator[GivenReview]:
    data = task.get("data") if isinstance(task, Mapping) else None
    if not isinstance(data, Mapping) or not data.get("item"):
        raise UsageError(f"{where}: its `data` has no `item`, so it was not exported from here")
    lowest = data.get("lowest", 1)
    for annotation in task.get("annotations") or ():
        results = annotation.get("result") or []
        if annotation.get("was_cancelled") or not results:
            continue
        comment = next((_only(each, "text") for each in results if each.get("from_name") == COMMENT), "")
        rating = _rating([each for each in results if each.get("from_name") != COMMENT], lowest, where)
        made_at = str(annotation.get("created_at") or "")
        yield GivenReview(where, _person(annotation), rating, str(comment), made_at, str(data["item"]))


def _rating(results: Sequence[Mapping[str, Any]], lowest: Any, where: str) -> Json:
    kinds = {each.get("type") for each in results}
    if kinds == {"choices"}:
        return _only(results[0], "choices")
    if kinds == {"ranker"}:
        ranker = results[0].get("value", {}).get("ranker", {})
        found: Json = ranker.get("rank") if isinstance(ranker, Mapping) else ranker
        return found
    if kinds == {"rating"} and isinstance(lowest, int):
        return {str(each["from_name"]): each.get("value", {}).get("rating", 0) + lowest - 1 for each in results}
    raise UsageError(f"{where}: its annotation has neither choices nor ratings nor a ranker")


def _only(result: Mapping[str, Any], key: str) -> Any:
    values = result.get("value", {}).get(key) or [""]
    return values[0] if isinstance(values, list) else values


def _person(annotation: Mapping[str, Any]) -> str:
    """By e-mail where it is there, else by the number that Label Studio gave them."""
    who = annotation.get("completed_by")
    if isinstance(who, Mapping):
        return str(who.get("email") or who.get("username") or who.get("id"))
    return f"label-studio-{who}"
