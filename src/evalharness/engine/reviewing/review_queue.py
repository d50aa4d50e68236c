"""The review queue: who is given which item, for how long, and what becomes of what they say.

All of it happens inside one transaction of a ReviewBook, so that any number of processes can share a queue. An item is
leased to one person for a while; a heartbeat renews the lease. Nobody gets an item twice. When a lease is over the item
may be given to somebody else; whoever comes later is thanked, and their review is kept without being counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf
from statistics import median
from typing import Any, Literal

from pydantic_core import to_json

from evalharness.contracts.review_store import ReviewBook
from evalharness.domain.rating import Rating, Tiers
from evalharness.domain.review import (
    DONE,
    REVIEWED,
    Assignment,
    OpenItem,
    Review,
    Reviewer,
    ReviewItem,
    Stage,
    Submitted,
    as_rating,
)
from evalharness.domain.review_queue import OwnProgress
from evalharness.engine.reviewing.review_decision import decision
from evalharness.engine.reviewing.review_items import order_of, shuffled_letters
from evalharness.errors import UsageError
from evalharness.settings import BootTime

SHORTEST_LEASE_S = 600.0
GOLD_SHARE = 0.1
"""How many of the items that a person is given are gold, at most; one at least, where there are any."""
PACE_OF, SOME = 10, 3
"""How long the rest takes goes by this many of the last reviews, and is not said before there are some."""
LONGEST_COMMENT = 10_000
LONGEST_DRAFT = 100_000


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """`moment` is now by the boot clock, `now` by the clock on the wall, `source` where the reviewer is."""

    book: ReviewBook
    moment: BootTime
    now: str
    source: str = ""

    # Giving items out

    def lease(self, reviewer: Reviewer, open_items: Sequence[OpenItem]) -> ReviewItem | None:
        """The next of these items for this person; None if there is none for them now.

        What they have begun comes first, with its draft, unless its place has been given to somebody else since.
        """
        taken = {each.item_id: each for each in self.book.assignments(reviewer=reviewer.name)}
        leased = self._leased_by_others(reviewer)
        free = [each for each in open_items if each.is_gold or each.counted + leased.get(each.id, 0) < each.wanted]
        begun = [each for each in free if each.id in taken and taken[each.id].doing == "leased"]
        chosen = begun or self._mixed(reviewer, free, [each.is_gold for each in open_items], taken)
        if not chosen:
            return None
        next_one = min(chosen, key=lambda each: (self._since_s(taken.get(each.id)), order_of(reviewer.seed, each.id)))
        item = self.book.item(next_one.id)
        self._hold(item, reviewer, taken.get(item.id))
        return item

    def progress(self, reviewer: Reviewer, open_items: Sequence[OpenItem]) -> OwnProgress:
        """The gold ones that are still to come are counted from the beginning, so that no number changes with one."""
        taken = {each.item_id: each for each in self.book.assignments(reviewer=reviewer.name)}
        left = len(self._mixed(reviewer, open_items, [each.is_gold for each in open_items], taken))
        done = sum(each.doing in REVIEWED for each in taken.values())
        said = self.book.reviewed_by(reviewer.name)
        recent = [last_of(reviewer, self.book.reviews(item_id)) for item_id in said[:PACE_OF]] if left else []
        took = [review.took_s for review in recent if review.took_s is not None]
        last = next((item_id for item_id in said if taken[item_id].doing in DONE), "")
        is_final = bool(last) and self._why_final(self.book.item(last)) is not None
        left_s = left * median(took) if len(took) >= SOME else None
        return OwnProgress(done, left, left_s, "" if is_final else last)

    def _since_s(self, own: Assignment | None) -> float:
        """For how long somebody has had an item: what they took back last comes before what they had begun."""
        begun = own is not None and own.doing == "leased" and own.boot == self.moment.boot
        return self.moment.seconds - own.begun_s if own is not None and begun else inf

    def _leased_by_others(self, reviewer: Reviewer) -> dict[str, int]:
        found: dict[str, int] = {}
        for each in self.book.leases():
            if each.reviewer != reviewer.name and each.is_held(self.moment):
                found[each.item_id] = found.get(each.item_id, 0) + 1
        return found

    def _mixed(
        self, reviewer: Reviewer, free: Sequence[OpenItem], is_gold: Sequence[bool], taken: dict[str, Assignment]
    ) -> list[OpenItem]:
        """With a few gold ones among them, chosen per person; gold alone is not worth anybody's time."""
        real = [each for each in free if not each.is_gold]
        if not real:
            return []
        gold = sorted((each for each in free if each.is_gold), key=lambda each: order_of(reviewer.seed, each.id))
        done = sum(each.doing in DONE and not each.is_gold for each in taken.values())
        real_ones = is_gold.count(False) + done
        done_gold = sum(each.is_gold for each in taken.values() if each.doing in REVIEWED)
        most = max(1, ceil(GOLD_SHARE * real_ones)) - done_gold
        return [*real, *gold[: max(0, most)]]

    def _hold(self, item: ReviewItem, reviewer: Reviewer, before: Assignment | None) -> None:
        """A lease goes on from where it began, unless the computer has been started again since."""
        goes_on = before is not None and before.doing == "leased" and before.boot == self.moment.boot
        begun_s = before.begun_s if before and goes_on else self.moment.seconds
        draft = before.draft if before else ""
        expires_s = self.moment.seconds + lease_s(item)
        self.book.put_assignment(
            Assignment(item.id, reviewer.name, "leased", self.moment.boot, begun_s, expires_s, draft)
        )

    def heartbeat(self, reviewer: Reviewer, item_id: str, draft: str | None = None) -> bool:
        """Renew a lease and keep what has been typed; False where the place has been given to somebody else.

        The draft is kept in any case.
        """
        item = self.book.item(item_id)
        own = self._own(reviewer, item)
        if own is None or own.doing != "leased":
            return False
        if draft is not None:
            _check_length(draft, "the draft", LONGEST_DRAFT)
            own = own._replace(draft=draft)
        has_place = own.is_held(self.moment) or self._has_room(item, reviewer)
        if has_place:
            self._hold(item, reviewer, own)
        else:
            self.book.put_assignment(own)
        return has_place

    # What people say

    def submit(self, reviewer: Reviewer, item_id: str, rating: Rating, comment: str = "") -> Submitted:
        """A rating in the item's own letters. A second one of the same person is a correction."""
        _check_length(comment, "the comment", LONGEST_COMMENT)
        item = self.book.item(item_id)
        own = self._own(reviewer, item)
        if own is None:
            raise UsageError("this item was not given to you", hint="ask for the next one")
        is_correction = own.doing in REVIEWED
        if is_correction and (last := last_of(reviewer, self.book.reviews(item_id))).says(rating, comment):
            return Submitted(item.id, not last.is_surplus, last.is_late, item.stage)  # sent once more
        if is_correction:
            self._check_changeable(item)
        counts = own.doing == "counted" if is_correction else self._counts(item, reviewer, own)
        took_s = self._took_s(own)
        limit_s = 60 * item.task.time_limit_minutes if item.task.time_limit_minutes else None
        is_late = not is_correction and took_s is not None and limit_s is not None and took_s > limit_s
        review = Review(
            item_id=item.id,
            reviewer=reviewer.name,
            rating=rating,
            comment=comment,
            submitted_at=self.now,
            took_s=None if is_correction else took_s,
            is_late=is_late,
            is_surplus=not counts,
            source=self.source,
        )
        stage = self._add(item, review, own._replace(doing="counted" if counts else "surplus", draft=""))
        return Submitted(item.id, counts, is_late, stage)

    def _counts(self, item: ReviewItem, reviewer: Reviewer, own: Assignment) -> bool:
        """Somebody whose lease is over is as good as anybody, as long as nobody has taken their place."""
        if item.is_gold:
            return self._has_room(item, reviewer)
        return item.stage == "open" and (own.is_held(self.moment) or self._has_room(item, reviewer))

    def _has_room(self, item: ReviewItem, reviewer: Reviewer) -> bool:
        if item.is_gold:  # everybody may be asked, for as long as anybody is
            return not self.book.finished_runs(item.id)
        others = [each for each in self.book.assignments(item_id=item.id) if each.reviewer != reviewer.name]
        taken = sum(each.doing == "counted" or each.is_held(self.moment) for each in others)
        return item.stage == "open" and taken < item.wanted

    def skip(self, reviewer: Reviewer, item_id: str, reason: str) -> None:
        if not reason.strip():
            raise UsageError("a skip needs a reason", hint="say in a few words why you cannot rate this answer")
        _check_length(reason, "the reason", LONGEST_COMMENT)
        item = self.book.item(item_id)
        own = self._own(reviewer, item)
        if own is not None and own.doing == "skipped":
            return  # sent once more
        if own is None or own.doing != "leased":
            raise UsageError("this item was not given to you", hint="ask for the next one")
        review = self._review(item, reviewer, "skipped", comment=reason)
        self._add(item, review, own._replace(doing="skipped", draft=""))

    def undo(self, reviewer: Reviewer, item_id: str | None = None) -> ReviewItem:
        """Take back what this person said last: they get the item again, with their rating as the draft.

        With `item_id`, what they said about that item; sent once more, it changes nothing.
        """
        doing = {each.item_id: each for each in self.book.assignments(reviewer=reviewer.name)}
        if item_id in doing and doing[item_id].doing == "leased":
            return self.book.item(item_id)
        said = [each for each in self.book.reviewed_by(reviewer.name) if doing[each].doing in DONE]
        wanted = [each for each in said if item_id in (None, each)]
        if not wanted:
            raise UsageError("there is nothing to undo: you have not reviewed anything yet")
        item, own = self.book.item(wanted[0]), doing[wanted[0]]
        self._check_changeable(item)
        returned = own._replace(doing="returned", draft=draft_of(item, reviewer, self.book.reviews(item.id)))
        self._add(item, self._review(item, reviewer, "returned"), returned)
        self._hold(item, reviewer, returned)
        return item

    def adjudicate(self, name: str, item_id: str, rating: Rating, comment: str = "") -> Submitted:
        """The last word on an item on which people disagree."""
        _check_length(comment, "the comment", LONGEST_COMMENT)
        item = self.book.item(item_id)
        if item.stage != "disputed":
            raise UsageError("people do not disagree about this item", hint="only disputed items are adjudicated")
        review = Review(
            item_id=item.id,
            reviewer=name,
            kind="adjudicated",
            rating=rating,
            comment=comment,
            submitted_at=self.now,
            source=self.source,
        )
        return Submitted(item.id, True, False, self._add(item, review))

    def take_in(self, reviewer: Reviewer, item_id: str, review: Review) -> bool:
        """A review that was given elsewhere; False if this person has reviewed the item already."""
        item = self.book.item(item_id)
        own = self._own(reviewer, item)
        if own is not None and own.doing in REVIEWED:
            return False
        counts = self._has_room(item, reviewer)
        doing: Literal["counted", "surplus"] = "counted" if counts else "surplus"
        kept = review.model_copy(update={"item_id": item.id, "reviewer": reviewer.name, "is_surplus": not counts})
        self._add(item, kept, (own or Assignment(item.id, reviewer.name, doing))._replace(doing=doing, draft=""))
        return True

    # Shared

    def _review(self, item: ReviewItem, reviewer: Reviewer, kind: Any, comment: str = "") -> Review:
        about = {"reviewer": reviewer.name, "comment": comment, "submitted_at": self.now, "source": self.source}
        return Review(item_id=item.id, kind=kind, **about)

    def _add(self, item: ReviewItem, review: Review, assignment: Assignment | None = None) -> Stage:
        """Keep it, and see where the item stands then; its trials are updated where that changes their grade."""
        self.book.add_review(review)
        if assignment is not None:
            self.book.put_assignment(assignment)
        if item.is_gold:
            return item.stage
        found = decision(item.task, self.book.reviews(item.id))
        if item.stage != "closed":
            self.book.set_stage(item.id, found.stage, found.wanted)
            if (item.stage, found.stage) != ("open", "open"):
                self.book.mark_links(self.book.links(item.id), is_applied=False)
        return found.stage

    def _own(self, reviewer: Reviewer, item: ReviewItem) -> Assignment | None:
        return next((each for each in self.book.assignments(item_id=item.id, reviewer=reviewer.name)), None)

    def _took_s(self, own: Assignment) -> float | None:
        known = own.doing == "leased" and own.boot == self.moment.boot and own.begun_s <= self.moment.seconds
        return round(self.moment.seconds - own.begun_s, 1) if known else None

    def _check_changeable(self, item: ReviewItem) -> None:
        if why := self._why_final(item):
            raise UsageError(why)

    def _why_final(self, item: ReviewItem) -> str | None:
        may_be_final = item.is_gold or item.stage != "open"  # what is gold must not stay open when the others are not
        finished = self.book.finished_runs(item.id) if may_be_final else []
        if not finished:
            return None
        if item.task.blind:
            return "everything has been reviewed, so nothing can be changed any more"
        return f"the run {finished[0]} is finished, so its reviews can no longer be changed"


def draft_of(item: ReviewItem, reviewer: Reviewer, reviews: Sequence[Review]) -> str:
    """What a reviewer said last, as they typed it: a JSON text with `rating` and `comment`."""
    last = last_of(reviewer, reviews)
    if last.kind != "rated":
        return ""
    rating = as_rating(last.rating)
    own = in_own_letters(item, reviewer, rating) if isinstance(rating, tuple) else rating
    return to_json({"rating": own, "comment": last.comment}).decode()


def last_of(reviewer: Reviewer, reviews: Sequence[Review]) -> Review:
    """What this person said last; they have said something."""
    mine = (each for each in reversed(reviews) if each.reviewer == reviewer.name and each.kind != "adjudicated")
    return next(mine)


def lease_s(item: ReviewItem) -> float:
    return max(SHORTEST_LEASE_S, 120 * (item.task.time_limit_minutes or 0))


def in_letters(item: ReviewItem, reviewer: Reviewer, rating: Rating) -> Rating:
    """From the letters of one reviewer to those of the item, in which rankings are stored."""
    if not isinstance(rating, tuple):
        return rating
    letters = shuffled_letters(item, reviewer.seed)
    return tuple(tuple(chr(ord("A") + letters[letter]) for letter in tier) for tier in rating)


def in_own_letters(item: ReviewItem, reviewer: Reviewer, rating: Tiers) -> Tiers:
    """The way back."""
    own = {chr(ord("A") + place): letter for letter, place in shuffled_letters(item, reviewer.seed).items()}
    return tuple(tuple(own[letter] for letter in tier) for tier in rating)


def _check_length(text: str, what: str, most: int) -> None:
    if len(text) > most:
        raise UsageError(f"{what} has {len(text):,} characters; {most:,} are the most")
