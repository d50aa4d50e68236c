"""Review: one person's rating of one answer; and what belongs to it: the task, the item, the reviewer, the assignment.

A ReviewItem is one thing to rate: an answer (or several, to be put in order), the question, and the task. A Review is a
row that is added and never changed. An Assignment says what an item is to one reviewer: leased until a moment, with the
draft that they have typed, then reviewed, skipped or taken back.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from evalharness.domain.grade import Grade
from evalharness.domain.rating import PASS_SCORE, Evaluators, Rating, RatingScale
from evalharness.domain.record import Record
from evalharness.settings import BootTime
from evalharness.values.json_value import Json
from evalharness.values.pattern import Pattern

Stage = Literal["open", "decided", "disputed", "closed"]
"""Of an item: reviews are wanted; the grade is known; an adjudicator decides; nobody needs it any more."""
Doing = Literal["leased", "counted", "surplus", "skipped", "returned"]
"""Of an assignment. `surplus`: reviewed after the place had been given to somebody else; it is kept and not counted.
`returned`: taken back by the reviewer, who may be given it again."""
Role = Literal["rate", "rank", "gold"]
REVIEWED: tuple[Doing, ...] = ("counted", "surplus")
DONE: tuple[Doing, ...] = (*REVIEWED, "skipped")
RANKED_ONLY = "ranked only"
"""Why a trial is skipped that has no grader but rankings, once people have ranked it."""
PENDING = "a person's rating is pending"
EVIDENCE = "review"
"""The key under which an outstanding grade keeps its task."""


class ReviewTask(Record):
    """What a person goes by. It is made where the answer is graded, and kept as evidence of the outstanding grade."""

    scale: RatingScale
    evaluators: Evaluators = Evaluators()
    pass_score: float = PASS_SCORE
    rubric: str = ""
    description: str = ""
    interface: Literal["web", "cli", "api"] = "web"
    time_limit_minutes: float | None = None
    show: Literal["answer", "transcript"] = "answer"
    blind: bool = True
    mask: tuple[Pattern, ...] = ()
    gold: str = ""
    """A file of answers with known ratings, relative to the suite."""
    gold_rubric: str = ""
    """The rubric for these answers, with what a case fills still open."""

    def identity(self) -> Json:
        """Equal for two tasks that ask for the same; where the rating is typed makes no difference."""
        return self.model_dump(mode="json", exclude={"interface", "gold", "gold_rubric"})


class ShownAnswer(Record):
    """An answer as it is kept for reviewers. `player` is what a ranking calls it; no reviewer gets to see that."""

    output: Json = None
    messages: tuple[dict[str, Json], ...] = ()
    player: str = ""


class ReviewItem(Record):
    """`id` is random and tells nothing. `key` is the same wherever the same answer is to be rated in the same way."""

    id: str
    key: str
    grader: str
    task: ReviewTask
    question: Json = None
    answers: Annotated[tuple[ShownAnswer, ...], Field(min_length=1)]
    gold: Json = None
    """The known rating of an item that is there to check reviewers."""
    about: dict[str, str] = Field(default_factory=dict)
    """Case, suite, run and target; nothing if the review is blind."""
    stage: Stage = "open"
    wanted: int = 1
    """How many reviews are to count, so far."""

    @property
    def is_gold(self) -> bool:
        return self.gold is not None

    @property
    def is_ranking(self) -> bool:
        return self.task.scale.type == "ranking"

    @property
    def role(self) -> Role:
        return "gold" if self.is_gold else "rank" if self.is_ranking else "rate"


class ReviewLink(NamedTuple):
    """A trial whose grade waits for an item; `place` leads to it, through graders made of graders.

    A regrade links its trials to the items that are there already.
    """

    item_id: str
    run_id: str
    case_id: str
    trial_index: int
    place: str = ""
    is_applied: bool = False
    """Whether the trial shows what people have said so far."""

    @property
    def path(self) -> tuple[int, ...]:
        return tuple(int(step) for step in self.place.split(".") if step)


class Review(Record):
    """What one person did with one item. A correction, an undo and an adjudication are reviews of their own."""

    item_id: str
    reviewer: str
    kind: Literal["rated", "skipped", "returned", "adjudicated"] = "rated"
    rating: Json = None
    comment: str = ""
    """Why, also of a skip."""
    submitted_at: str
    took_s: float | None = None
    """None where the computer was started again in between, or the review was imported."""
    is_late: bool = False
    """Given after the time limit. It counts all the same."""
    is_surplus: bool = False
    source: str = ""
    """Where it was given: cli, web, api or a file."""

    def says(self, rating: Rating, comment: str) -> bool:
        return self.kind == "rated" and as_rating(self.rating) == rating and self.comment == comment


class Reviewer(Record):
    """`seed` decides the order of their items; of the token only a digest is kept."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    seed: str
    token_digest: str = ""
    invited_at: str = ""
    revoked_at: str = ""


class Assignment(NamedTuple):
    item_id: str
    reviewer: str
    doing: Doing
    boot: str = ""
    begun_s: float = 0.0
    expires_s: float = 0.0
    draft: str = ""
    is_gold: bool = False

    def is_held(self, moment: BootTime) -> bool:
        """Whether the lease goes on: not after its time, and not after a restart."""
        return self.doing == "leased" and self.boot == moment.boot and self.begun_s <= moment.seconds < self.expires_s


class Remark(Record):
    """What the owner says about one grade of one trial. It overrides nothing."""

    run_id: str
    case_id: str
    trial_index: int
    grader: str
    reviewer: str
    agrees: bool
    comment: str = ""
    made_at: str


class OpenItem(NamedTuple):
    """An item as the queue weighs it: how many reviews count, and who holds a lease."""

    id: str
    is_gold: bool
    wanted: int
    counted: int


class ReviewedItem(NamedTuple):
    """An item with everything that has been said about it, in order."""

    item: ReviewItem
    reviews: tuple[Review, ...]
    links: tuple[ReviewLink, ...]


class Submitted(NamedTuple):
    """What became of a review: whether it counts, and where its item stands now."""

    item_id: str
    is_counted: bool
    is_late: bool
    stage: Stage


def task_of(grade: Grade) -> ReviewTask | None:
    """What an outstanding or given grade of a person was to go by; None where an earlier version left it out."""
    evidence = grade.evidence
    written = evidence.get(EVIDENCE) if isinstance(evidence, dict) else None
    return None if written is None else ReviewTask.model_validate(written)


def standing(reviews: tuple[Review, ...]) -> dict[str, tuple[Review, Rating]]:
    """By reviewer: the last rating that counts."""
    found: dict[str, tuple[Review, Rating]] = {}
    for review in reviews:
        if review.kind == "adjudicated" or review.is_surplus:
            continue
        found.pop(review.reviewer, None)
        if review.kind == "rated":
            found[review.reviewer] = (review, as_rating(review.rating))
    return found


def as_rating(kept: Json) -> Rating:
    """From JSON, which has lists for tiers."""
    if isinstance(kept, list | tuple):
        return tuple(tuple(map(str, tier)) for tier in kept)
    assert isinstance(kept, bool | dict), "checked when it was given"
    return kept
