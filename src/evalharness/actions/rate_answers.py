"""Rate answers: what a reviewer does. The command line, the API and the pages share the queue by calling this.

A reviewer is known by name; whoever lets people in (by a token, or because they own the store) has checked it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from evalharness.contracts.context import Context
from evalharness.domain.review import Submitted, as_rating
from evalharness.domain.review_queue import LeasedItem, OwnProgress, OwnReview
from evalharness.domain.seen_item import SeenItem
from evalharness.engine.reviewing.review_items import shuffled_letters
from evalharness.engine.reviewing.review_queue import ReviewQueue, in_letters, in_own_letters, last_of
from evalharness.engine.reviewing.seen_by_reviewers import item_in_own_letters, seen_item
from evalharness.steps.ask_people import queue_reviews
from evalharness.steps.find_reviewers import reviewer_named
from evalharness.steps.find_runs import find_run
from evalharness.steps.settle_reviews import ask_for_killed_runs, settle_reviews
from evalharness.values.json_value import Json


async def open_queue(context: Context, run: str | None = None) -> str | None:
    """The id of the run whose answers are to be rated; without one, those of all runs are.

    A run whose process was killed has no items yet: they are made here.
    """
    if run is None:
        ask_for_killed_runs(context)
        settle_reviews(context)
        return None
    found = find_run(run, context.store)
    queue_reviews(context, found)
    settle_reviews(context, found.id)
    return found.id


async def lease_item(
    context: Context, reviewer: str, run_id: str | None = None, *, source: str = "api"
) -> LeasedItem | None:
    """The next item for this person, or the one that they have begun; None if there is nothing for them now.

    Somebody whom the store does not know yet is added. Raises UsageError for a reviewer who was revoked.
    """
    found = _leased(context, reviewer, run_id, source)
    if found is None and ask_for_killed_runs(context):
        found = _leased(context, reviewer, run_id, source)
    return found


def _leased(context: Context, reviewer: str, run_id: str | None, source: str) -> LeasedItem | None:
    with _queue(context, source) as queue:
        person = reviewer_named(queue.book, reviewer, now=queue.now)
        open_items = queue.book.open_items(person.name, run_id)
        item = queue.lease(person, open_items)
        if item is None:
            return None
        [own] = queue.book.assignments(item_id=item.id, reviewer=person.name)
        return LeasedItem(seen_item(item, person, own.draft), queue.progress(person, open_items))


async def show_own_progress(context: Context, reviewer: str) -> OwnProgress:
    with _queue(context) as queue:
        person = reviewer_named(queue.book, reviewer, now=queue.now)
        return queue.progress(person, queue.book.open_items(person.name, None))


async def list_own_reviews(context: Context, reviewer: str, limit: int, offset: int = 0) -> list[OwnReview]:
    """What this person has said, the last first; what was taken back is left out."""
    with _queue(context) as queue:
        person = reviewer_named(queue.book, reviewer, now=queue.now)
        found = []
        for item_id in queue.book.reviewed_by(person.name)[offset : offset + limit]:
            item, last = queue.book.item(item_id), last_of(person, queue.book.reviews(item_id))
            if last.kind == "returned":
                continue
            rating = last.rating if last.rating is None else as_rating(last.rating)
            own = in_own_letters(item, person, rating) if isinstance(rating, tuple) else rating
            found.append(OwnReview(item_id, last.kind == "skipped", own, last.comment, last.submitted_at))
        return found


async def heartbeat(context: Context, reviewer: str, item_id: str, draft: str | None = None) -> bool:
    """Renew the lease, and keep what has been typed so far; False where the item was given to somebody else.

    A review that is submitted after that is kept, but not counted.
    """
    with _queue(context) as queue:
        return queue.heartbeat(reviewer_named(queue.book, reviewer), item_id, draft)


async def submit_review(
    context: Context, reviewer: str, item_id: str, rating: Json, comment: str = "", *, source: str = "api"
) -> Submitted:
    """`rating` is true or false, a number for each criterion, or letters in order; a second one is a correction."""
    with _queue(context, source) as queue:
        person = reviewer_named(queue.book, reviewer)
        item = queue.book.item(item_id)
        read = item.task.scale.read(rating, list(shuffled_letters(item, person.seed)))
        submitted = queue.submit(person, item_id, in_letters(item, person, read), comment)
        run_ids = _runs_of(queue, item_id)
    _settle(context, run_ids)
    return submitted


async def skip_item(context: Context, reviewer: str, item_id: str, reason: str, *, source: str = "api") -> None:
    """Give an item back for good; somebody else is asked."""
    with _queue(context, source) as queue:
        queue.skip(reviewer_named(queue.book, reviewer), item_id, reason)


async def undo_review(context: Context, reviewer: str, item_id: str | None = None, *, source: str = "api") -> SeenItem:
    """Take back this person's last review or skip, or that of one item: it is theirs again, with what they typed.

    Whoever names the item can ask again where no answer came, and nothing else is taken back.
    """
    with _queue(context, source) as queue:
        person = reviewer_named(queue.book, reviewer)
        item = queue.undo(person, item_id)
        [own] = queue.book.assignments(item_id=item.id, reviewer=person.name)
        seen, run_ids = seen_item(item, person, own.draft), _runs_of(queue, item.id)
    _settle(context, run_ids)
    return seen


async def adjudicate_item(
    context: Context, name: str, item_id: str, rating: Json, comment: str = "", *, source: str = "api"
) -> Submitted:
    """The last word on a disputed item. `name` is who says it; letters are those of the item itself."""
    with _queue(context, source) as queue:
        item = queue.book.item(item_id)
        letters = [answer.letter for answer in item_in_own_letters(item).answers]
        submitted = queue.adjudicate(name, item_id, item.task.scale.read(rating, letters), comment)
        run_ids = _runs_of(queue, item_id)
    _settle(context, run_ids)
    return submitted


async def item_to_adjudicate(context: Context, item_id: str) -> SeenItem:
    """As the item's own letters have it: `adjudicate_item` takes these."""
    with context.store.reviews.book() as book:
        return item_in_own_letters(book.item(item_id))


@contextmanager
def _queue(context: Context, source: str = "") -> Iterator[ReviewQueue]:
    with context.store.reviews.book() as book:
        yield ReviewQueue(book, context.boot_clock(), context.timestamp(), source)


def _runs_of(queue: ReviewQueue, item_id: str) -> set[str]:
    return {link.run_id for link in queue.book.links(item_id)}


def _settle(context: Context, run_ids: set[str]) -> None:
    for run_id in run_ids:
        settle_reviews(context, run_id)
