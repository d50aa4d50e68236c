"""What the API for reviews takes and answers. Reviewers get to see `SeenItem` and what they said themselves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue

from evalharness.server.rest.records import Answer, Body

ITEM_ID = "item-5f2c9b1e7d3a4c60"


class RunInReview(Answer):
    """`pending` counts the reviews that are still wanted."""

    run_id: str
    run_name: str
    items: int
    decided: int
    disputed: int
    pending: int
    reviews: int
    stale: int


class ReviewerFigures(Answer):
    """`gold` answers have a known rating; `goldRight` of them were rated on the right side."""

    reviewer: str
    reviews: int
    skipped: int
    surplus: int
    late: int
    gold: int
    gold_right: int


class AgreementFigures(Answer):
    """`figures` by their names; `leading` is the one to read first."""

    grader: str
    criterion: str
    items: int
    figures: dict[str, JsonValue]
    leading: str


class GivenReview(Answer):
    """`kind`: rated, skipped, returned (taken back) or adjudicated. Letters are those of the item itself."""

    reviewer: str
    kind: str
    rating: JsonValue
    comment: str
    submitted_at: str
    took_s: float | None
    is_late: bool
    is_surplus: bool
    source: str


class ItemTrial(Answer):
    case_id: str
    trial_index: int


class ReviewedItem(Answer):
    """`stage`: open, decided, disputed or closed."""

    id: str = Field(examples=[ITEM_ID])
    grader: str
    stage: str
    wanted: int
    is_gold: bool
    trials: list[ItemTrial]
    reviews: list[GivenReview]


class Overview(RunInReview):
    """`itemsFound` is a page of the items."""

    reviewers: list[ReviewerFigures]
    agreement: list[AgreementFigures]
    rankings: list[JsonValue]
    remarks: list[JsonValue]
    items_found: list[ReviewedItem]


class OwnProgress(Answer):
    """`leftS`: how many seconds the rest takes, by the last reviews; null until there are a few."""

    done: int
    left: int
    left_s: float | None


class OwnReview(Answer):
    """What a reviewer said last about an item. `isSkip`: it was given back, and `comment` is the reason."""

    item_id: str = Field(examples=[ITEM_ID])
    is_skip: bool
    rating: JsonValue
    comment: str
    submitted_at: str


class SeenAnswer(Answer):
    """`letter` is empty for the only answer of an item."""

    letter: str
    output: JsonValue
    messages: list[dict[str, JsonValue]]


class SeenChoice(Answer):
    value: bool
    label: str
    description: str


class SeenCriterion(Answer):
    name: str
    description: str
    indicators: list[str]
    issues: list[str]


class Draft(Answer):
    """What was typed so far, whether it is a rating or not."""

    rating: JsonValue = None
    comment: str = ""


class SeenItem(Answer):
    """One thing to rate. `scale`: binary, likert or ranking; `about` is empty where the review is blind."""

    id: str = Field(examples=[ITEM_ID])
    question: JsonValue
    answers: list[SeenAnswer]
    scale: str
    range: list[int] | None
    labels: dict[str, str]
    choices: list[SeenChoice]
    criteria: list[SeenCriterion]
    instructions: str
    tie_allowed: bool
    rubric: str
    time_limit_minutes: float | None
    draft: Draft
    about: dict[str, str]


class Leased(Answer):
    """`item` is null if there is nothing to rate now."""

    item: SeenItem | None
    progress: OwnProgress


class Kept(Answer):
    """Whether the item is still this reviewer's; if not, a review is kept and does not count."""

    is_yours: bool


class Taken(Answer):
    """Whether the review counts; `isLate`: after the time limit, which counts all the same."""

    is_counted: bool
    is_late: bool


class Adjudicated(Answer):
    stage: str


# What clients send

Comment = Annotated[str, Field(max_length=10_000)]


class DraftBody(Body):
    rating: JsonValue = None
    comment: Comment = ""


class HeartbeatRequest(Body):
    """Without a draft, the one that is kept stays."""

    draft: DraftBody | None = None


class RatingRequest(Body):
    """`rating`: true or false, a number for each criterion, or letters, the best first (`["B", ["A", "C"]]`: a tie)."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"rating": {"accurate": 4}, "comment": "It is short."}]})

    rating: JsonValue
    comment: Comment = ""


class SkipRequest(Body):
    reason: Annotated[str, Field(min_length=1, max_length=10_000)]


class UndoRequest(Body):
    item_id: Annotated[str, Field(max_length=100, examples=[ITEM_ID])]


class AdjudicationRequest(RatingRequest):
    """The letters of a ranking are those of the item itself."""


class RemarkRequest(Body):
    """About one grade of one trial, which counts from 0."""

    case_id: Annotated[str, Field(max_length=500)]
    trial_index: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    grader: Annotated[str, Field(max_length=500)]
    agrees: bool
    comment: Comment = ""


Layout = Literal["jsonl", "csv", "label-studio", "argilla"]
