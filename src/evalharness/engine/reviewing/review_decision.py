"""Review decision: from the ratings of several people to one grade, another reviewer, or a dispute."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any, NamedTuple

from evalharness.domain.grade import Grade
from evalharness.domain.rating import Rating
from evalharness.domain.review import EVIDENCE, PENDING, Review, ReviewTask, Stage, as_rating, standing
from evalharness.stats.thresholds import reaches
from evalharness.values.text import head

LONGEST_COMMENT = 200


class ReviewDecision(NamedTuple):
    """Where an item stands. `agreement` is the share of people on the side of the majority."""

    stage: Stage
    wanted: int
    agreement: float | None = None


def passes(task: ReviewTask, rating: Rating) -> bool:
    return rating if isinstance(rating, bool) else reaches(task.scale.score(rating), task.pass_score)


def decision(task: ReviewTask, reviews: tuple[Review, ...]) -> ReviewDecision:
    """From all reviews of an item, in order. A tie is no majority, whatever the threshold."""
    ratings = [rating for _, rating in standing(reviews).values()]
    people, wanted = len(ratings), task.evaluators.min_required
    if adjudicated(reviews) is not None:
        return ReviewDecision("decided", max(wanted, people))
    if people < wanted:
        return ReviewDecision("open", wanted)
    if task.scale.type == "ranking":
        return ReviewDecision("decided", people)
    passed = sum(passes(task, rating) for rating in ratings)
    share = max(passed, people - passed) / people
    if 2 * passed != people and reaches(share, task.evaluators.threshold):
        return ReviewDecision("decided", people, share)
    if people < task.evaluators.most:
        return ReviewDecision("open", people + 1, share)
    return ReviewDecision("disputed", people, share)


def adjudicated(reviews: tuple[Review, ...]) -> Review | None:
    """The last word of an adjudicator, if there is one."""
    return next((review for review in reversed(reviews) if review.kind == "adjudicated"), None)


def reviewed_grade(task: ReviewTask, reviews: tuple[Review, ...]) -> Grade:
    """The grade as things stand: a verdict once the item is decided, before that outstanding with its reason."""
    found, counted = decision(task, reviews), standing(reviews)
    said = {"ratings": [_said(review, rating) for review, rating in counted.values()]}
    evidence: dict[str, Any] = {EVIDENCE: task.model_dump(mode="json", exclude_defaults=True), **said}
    if task.scale.type == "ranking":
        is_ranked = found.stage == "decided"
        return Grade(
            state="awaiting",
            reason="" if is_ranked else PENDING,
            evidence=evidence,
            cause="ranked" if is_ranked else "ranking",
        )
    if found.agreement is not None:
        evidence["agreement"] = found.agreement
    if found.stage != "decided":
        return Grade(state="awaiting", reason=_outstanding(task, found, len(counted)), evidence=evidence)
    final = adjudicated(reviews)
    if final is not None:
        evidence["adjudication"] = _said(final, as_rating(final.rating))
        return _verdict(task, as_rating(final.rating), f"by the adjudicator {final.reviewer}", [final], evidence)
    by = _people(len(counted))
    merged = _merged(task, [rating for _, rating in counted.values()])
    return _verdict(task, merged, by, [review for review, _ in counted.values()], evidence)


def _people(number: int) -> str:
    return "by 1 person" if number == 1 else f"by {number} people"


def _merged(task: ReviewTask, ratings: list[Rating]) -> Rating | Mapping[str, float]:
    """The majority; of numbers the median of each criterion."""
    if task.scale.type == "binary":
        return 2 * sum(rating is True for rating in ratings) > len(ratings)
    numbers = [rating for rating in ratings if isinstance(rating, dict)]
    return {each.name: median(rating[each.name] for rating in numbers) for each in task.scale.rated}


def _verdict(task: ReviewTask, rating: Any, by: str, reviews: list[Review], evidence: dict[str, Any]) -> Grade:
    score = task.scale.score(rating)
    if isinstance(rating, bool):
        passed, reason = rating, f"{task.scale.choices[0 if rating else 1].label} {by}"
    else:
        evidence["medians"] = dict(rating)
        passed = reaches(score, task.pass_score)
        sign = "≥" if passed else "<"
        reason = f"score {score:.3g} {sign} {task.pass_score:g} {by}"
    comments = "; ".join(dict.fromkeys(head(each.comment, LONGEST_COMMENT) for each in reviews if each.comment))
    return Grade.of(passed, score=score, reason=f"{reason}{f': {comments}' if comments else ''}", evidence=evidence)


def _outstanding(task: ReviewTask, found: ReviewDecision, people: int) -> str:
    if found.stage == "disputed":
        return f"disputed: {_split(found)} of {people} people agree, an adjudicator has to decide"
    if not people:
        return PENDING if found.wanted == 1 else f"the ratings of {found.wanted} people are pending"
    if people < task.evaluators.min_required:
        return f"{people} of {found.wanted} people have rated it"
    return f"{people} people disagree, one more is asked"


def _split(found: ReviewDecision) -> str:
    return f"only {round((found.agreement or 0) * found.wanted)}"


def _said(review: Review, rating: Rating) -> dict[str, Any]:
    kept = {"reviewer": review.reviewer, "rating": rating, "comment": review.comment, "is_late": review.is_late}
    return {name: value for name, value in kept.items() if value not in ("", False) or name == "rating"}
