"""Reviews as the owner sees them: of all runs, of one run with its disputes, and what the owner says about a grade."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from evalharness.actions.exchange_reviews import Layout, export_reviews
from evalharness.actions.invite_reviewers import list_reviewers
from evalharness.actions.oversee_reviews import list_reviewed_runs, oversee_reviews, remark_grade
from evalharness.actions.rate_answers import adjudicate_item, item_to_adjudicate
from evalharness.reports.pages.review_page import typed_rating
from evalharness.reports.pages.reviews_page import MOST_DISPUTES, reviews_page, run_line
from evalharness.server.callers import OWNER
from evalharness.server.context import Server
from evalharness.server.failures import Refusal
from evalharness.server.pages.forms import Form, see
from evalharness.server.pages.site import Site

router = APIRouter(include_in_schema=False)
SOURCE = "web"
PLACE = "Reviews"
ENDINGS = {"jsonl": "jsonl", "csv": "csv", "label-studio": "json", "argilla": "json"}


@router.get("/reviews")
def reviews(server: Server, site: Site) -> HTMLResponse:
    runs = [run_line(run, name, figures) for run, name, figures in server.harness.call(list_reviewed_runs)]
    reviewers = server.harness.call(list_reviewers)
    invitation, review = site.commands.invite(), site.link(page="review")
    return site.page("reviews.html", PLACE, runs=runs, reviewers=reviewers, invitation=invitation, review=review)


@router.get("/runs/{reference}/reviews")
def run_reviews(server: Server, site: Site, reference: str) -> HTMLResponse:
    overview = server.harness.call(oversee_reviews, reference)
    disputed = [each for each in overview.items if each.item.stage == "disputed"]
    seen = [(each, server.harness.call(item_to_adjudicate, each.item.id)) for each in disputed[:MOST_DISPUTES]]
    more = max(0, len(disputed) - MOST_DISPUTES)
    return site.page("run_reviews.html", PLACE, page=reviews_page(overview, seen, more))


@router.post("/runs/{reference}/reviews")
def decide(server: Server, site: Site, form: Form, reference: str) -> Response:
    """The last word on a disputed item."""
    rating = typed_rating(form)
    if rating is None:
        raise Refusal(400, "nothing was chosen", hint="go back and choose how good the answer is")
    comment = form.get("comment", "")
    server.harness.call(adjudicate_item, OWNER, form.get("item", ""), rating, comment, source=SOURCE)
    return see(f"{site.link(run=reference)}/reviews")


@router.get("/runs/{reference}/reviews/export")
def export(server: Server, reference: str, layout: Annotated[Layout, Query()] = "jsonl") -> Response:
    text = server.harness.call(export_reviews, reference, layout)
    name = f"reviews.{ENDINGS[layout]}"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="text/plain; charset=utf-8", headers=headers)


@router.post("/runs/{reference}/remarks")
def remark(server: Server, site: Site, form: Form, reference: str) -> Response:
    """Agree or disagree with one grade, from the page of its trial."""
    trial = form.get("trial", "")
    if not (trial.isascii() and trial.isdigit() and len(trial) < 9) or form.get("says") not in ("agree", "disagree"):
        raise Refusal(400, "the form says neither which trial it is about nor what you think of it")
    case_id = form.get("case", "")
    server.harness.call(
        remark_grade,
        OWNER,
        reference,
        case_id,
        int(trial) - 1,
        form.get("grader", ""),
        agrees=form["says"] == "agree",
        comment=form.get("comment", ""),
    )
    return see(site.link(run=reference, case=case_id, trial=int(trial)))
