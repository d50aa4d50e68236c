"""The API for reviewers: one item after the other, and what they have said. Nothing here tells who answered."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import TypeAdapter, ValidationError

from evalharness.actions.rate_answers import (
    heartbeat,
    lease_item,
    list_own_reviews,
    show_own_progress,
    skip_item,
    submit_review,
    undo_review,
)
from evalharness.domain import review_queue, seen_item
from evalharness.server.callers import Caller, is_reviewer
from evalharness.server.context import Server
from evalharness.server.failures import Refusal
from evalharness.server.rest.answering import ERRORS, PREFIX, Cursor, Limit, answer, offset_of
from evalharness.server.rest.records import Done
from evalharness.server.rest.review_records import (
    Draft,
    HeartbeatRequest,
    Kept,
    Leased,
    OwnProgress,
    OwnReview,
    RatingRequest,
    SeenItem,
    SkipRequest,
    Taken,
    UndoRequest,
)

router = APIRouter(prefix=f"{PREFIX}/reviews/mine", tags=["rating"])
SOURCE = "api"
_OWN = TypeAdapter(list[OwnReview])
ItemId = Annotated[str, Path(max_length=100, description="The id of an item that was leased.")]


def _named(
    request: Request,
    caller: Caller,
    reviewer: Annotated[
        str | None, Query(min_length=1, max_length=100, description="Who rates; with the owner's token alone.")
    ] = None,
) -> str:
    """The owner of the store may rate for anybody, a reviewer for nobody else."""
    if is_reviewer(request.scope) and reviewer not in (None, caller):
        raise Refusal(403, "you can rate in your own name alone")
    return caller if reviewer is None else reviewer


Reviewer = Annotated[str, Depends(_named)]


@router.get("", response_model=list[OwnReview], responses=dict(ERRORS))
def get_own_reviews(
    request: Request, server: Server, reviewer: Reviewer, limit: Limit = 100, cursor: Cursor = ""
) -> Response:
    """What you have said, the last first; what you took back is left out."""
    offset = offset_of(cursor)
    found = server.harness.call(list_own_reviews, reviewer, limit + 1, offset)
    following = {"cursor": offset + limit} if len(found) > limit else None
    return answer(request, _OWN, [OwnReview(**asdict(each)) for each in found[:limit]], following=following)


@router.get("/progress", responses=dict(ERRORS))
def get_own_progress(server: Server, reviewer: Reviewer) -> OwnProgress:
    """How far you are."""
    return _progress(server.harness.call(show_own_progress, reviewer))


@router.post("/lease", responses=dict(ERRORS))
def post_lease(server: Server, reviewer: Reviewer) -> Leased:
    """The next item for you, or the one that you have begun. It is yours for ten minutes; a heartbeat renews that."""
    leased = server.harness.call(lease_item, reviewer, source=SOURCE)
    progress = server.harness.call(show_own_progress, reviewer) if leased is None else leased.progress
    return Leased(item=leased and shown(leased.item), progress=_progress(progress))


@router.post("/items/{item}/heartbeat", responses=dict(ERRORS))
def post_heartbeat(server: Server, reviewer: Reviewer, item: ItemId, body: HeartbeatRequest | None = None) -> Kept:
    """Renew the lease, and keep what was typed so far."""
    draft = None if body is None or body.draft is None else json.dumps(body.draft.model_dump(), ensure_ascii=False)
    return Kept(is_yours=server.harness.call(heartbeat, reviewer, item, draft))


@router.post("/items/{item}/submit", responses=dict(ERRORS))
def post_review(server: Server, reviewer: Reviewer, item: ItemId, body: RatingRequest) -> Taken:
    """A second one is a correction; the same one sent again changes nothing."""
    found = server.harness.call(submit_review, reviewer, item, body.rating, body.comment, source=SOURCE)
    return Taken(is_counted=found.is_counted, is_late=found.is_late)


@router.post("/items/{item}/skip", responses=dict(ERRORS))
def post_skip(server: Server, reviewer: Reviewer, item: ItemId, body: SkipRequest) -> Done:
    """Give an item back for good; somebody else is asked."""
    server.harness.call(skip_item, reviewer, item, body.reason, source=SOURCE)
    return Done()


@router.post("/undo", responses=dict(ERRORS))
def post_undo(server: Server, reviewer: Reviewer, body: UndoRequest | None = None) -> SeenItem:
    """Take back your last review or skip: the item is yours again, with your rating as its draft.

    With `itemId`, that of one item: a request that is sent again then takes back nothing else.
    """
    item_id = None if body is None else body.item_id
    return shown(server.harness.call(undo_review, reviewer, item_id, source=SOURCE))


def shown(item: seen_item.SeenItem) -> SeenItem:
    fields = item.model_dump(mode="json", exclude={"draft"})
    criteria = [{name: each[name] for name in each if name != "weight"} for each in fields.pop("criteria")]
    return SeenItem(**fields, criteria=criteria, draft=_draft(item.draft))


def _draft(kept: str) -> Draft:
    try:
        return Draft.model_validate_json(kept or "{}")
    except ValidationError:  # it may be anybody's text
        return Draft()


def _progress(found: review_queue.OwnProgress) -> OwnProgress:
    return OwnProgress(done=found.done, left=found.left, left_s=found.left_s)
