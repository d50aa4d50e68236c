"""Reviews as the owner of the store sees them: how far people are, where they disagree, and the last word."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import TypeAdapter

from evalharness.actions.exchange_reviews import export_reviews
from evalharness.actions.oversee_reviews import list_reviewed_runs, oversee_reviews, remark_grade
from evalharness.actions.rate_answers import adjudicate_item, item_to_adjudicate
from evalharness.domain import review
from evalharness.domain.run_reviews import RunReviews
from evalharness.server.callers import OWNER
from evalharness.server.context import Server
from evalharness.server.rest.answering import ERRORS, PREFIX, Cursor, Limit, RunName, answer, created, offset_of
from evalharness.server.rest.own_reviews import SOURCE, shown
from evalharness.server.rest.records import Done
from evalharness.server.rest.review_records import (
    Adjudicated,
    AdjudicationRequest,
    GivenReview,
    ItemTrial,
    Layout,
    Overview,
    RemarkRequest,
    ReviewedItem,
    RunInReview,
    SeenItem,
)

router = APIRouter(prefix=PREFIX, tags=["reviews"])
_RUNS, _OVERVIEW = TypeAdapter(list[RunInReview]), TypeAdapter(Overview)
_COUNTS = {"items", "decided", "disputed", "pending", "reviews", "stale"}
TYPES = {"jsonl": "application/jsonl", "csv": "text/csv; charset=utf-8"}
ItemId = Annotated[str, Path(max_length=100, description="The id of an item.")]


@router.get("/reviews", response_model=list[RunInReview], responses=dict(ERRORS))
def get_reviewed_runs(request: Request, server: Server, limit: Limit = 100, cursor: Cursor = "") -> Response:
    """The runs about which people are or were asked, the newest first."""
    offset = offset_of(cursor)
    found = server.harness.call(list_reviewed_runs)
    following = {"cursor": offset + limit} if offset + limit < len(found) else None
    page = [RunInReview(run_id=run_id, run_name=name, **_counts(figures)) for run_id, name, figures in found]
    return answer(request, _RUNS, page[offset : offset + limit], following=following)


@router.get("/runs/{run}/reviews", response_model=Overview, responses=dict(ERRORS))
def get_reviews(
    request: Request,
    server: Server,
    run: RunName,
    stage: Annotated[review.Stage | None, Query(description="Only the items that are there.")] = None,
    limit: Limit = 100,
    cursor: Cursor = "",
) -> Response:
    """How far each reviewer is, how far they agree, and a page of the items with everything that was said."""
    offset = offset_of(cursor)
    found = server.harness.call(oversee_reviews, run, stage)
    following = {"cursor": offset + limit} if offset + limit < len(found.items) else None
    figures = found.figures.model_dump(mode="json")
    overview = Overview(
        run_id=found.run_id,
        run_name=found.run_name,
        **_counts(found.figures),
        reviewers=figures["reviewers"],
        agreement=figures["agreement"],
        rankings=figures["rankings"],
        remarks=[each.model_dump(mode="json") for each in found.remarks],
        items_found=[_item(each) for each in found.items[offset : offset + limit]],
    )
    return answer(request, _OVERVIEW, overview, following=following)


@router.get(
    "/runs/{run}/reviews/export",
    response_class=Response,
    responses={
        **ERRORS,
        200: {"content": {kind: {} for kind in ("application/jsonl", "text/csv", "application/json")}},
    },
)
def get_export(server: Server, run: RunName, layout: Layout = "jsonl") -> Response:
    """As `reviewers export` writes them."""
    text = server.harness.call(export_reviews, run, layout)
    return Response(text, media_type=TYPES.get(layout, "application/json"))


@router.get("/reviews/items/{item}", responses=dict(ERRORS))
def get_item(server: Server, item: ItemId) -> SeenItem:
    """An item in its own letters, as whoever adjudicates sees it."""
    return shown(server.harness.call(item_to_adjudicate, item))


@router.post("/reviews/items/{item}/adjudicate", responses=dict(ERRORS))
def post_adjudication(server: Server, item: ItemId, body: AdjudicationRequest) -> Adjudicated:
    """The last word on an item on which people disagree."""
    found = server.harness.call(adjudicate_item, OWNER, item, body.rating, body.comment, source=SOURCE)
    return Adjudicated(stage=found.stage)


@router.post("/runs/{run}/remarks", status_code=201, response_model=Done, responses=dict(ERRORS))
def post_remark(server: Server, run: RunName, body: RemarkRequest) -> Response:
    """Agree or disagree with one grade. It is kept beside the grade, and overrides nothing."""
    server.harness.call(
        remark_grade,
        OWNER,
        run,
        body.case_id,
        body.trial_index,
        body.grader,
        agrees=body.agrees,
        comment=body.comment,
    )
    return created(Done(), 201)


def _counts(figures: RunReviews) -> dict[str, int]:
    return figures.model_dump(include=_COUNTS)


def _item(found: review.ReviewedItem) -> ReviewedItem:
    item = found.item
    return ReviewedItem(
        id=item.id,
        grader=item.grader,
        stage=item.stage,
        wanted=item.wanted,
        is_gold=item.is_gold,
        trials=[ItemTrial(case_id=link.case_id, trial_index=link.trial_index) for link in found.links],
        reviews=[GivenReview(**each.model_dump(mode="json", exclude={"item_id"})) for each in found.reviews],
    )
