"""The page on which people rate. It shows what `lease_item` gives a reviewer, and leads to no other page.

Everything is kept as it is typed: the script posts the form to `keep`, which is the heartbeat of the lease. Without the
script the same forms work, one answer of the server after the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from evalharness.actions.rate_answers import (
    heartbeat,
    lease_item,
    show_own_progress,
    skip_item,
    submit_review,
    undo_review,
)
from evalharness.errors import UsageError
from evalharness.reports.pages.page_templates import Frame, PageTemplates
from evalharness.reports.pages.review_page import moved, review_page, typed_rating
from evalharness.server.callers import REVIEW, Caller
from evalharness.server.context import Server, ServerContext
from evalharness.server.failures import Refusal
from evalharness.server.pages import assets
from evalharness.server.pages.forms import Form, see
from evalharness.server.pages.site import asset_name

router = APIRouter(prefix=REVIEW, include_in_schema=False)
SOURCE = "web"
NOTES = {
    "uncounted": "Somebody else was faster: your last review is kept, but not counted.",
    "late": "Your last review came after the time limit. It counts all the same.",
}
HELP = (
    "You rate answers, one at a time. You see a question, an answer, and what to look at. There is no trick, and "
    "nobody sees your ratings while others rate.",
    "Whatever you choose or type is kept at once. You can close the page whenever you like, and open your link again "
    "to go on.",
    "Skip an answer that you cannot rate, for example because you know who wrote it. “Undo last” takes your last "
    "rating back and shows the answer again.",
)


class ReviewSite:
    """The templates of these pages, with addresses below `/review` alone."""

    def __init__(self, context: ServerContext) -> None:
        self._root = f"{context.options.root_path}{REVIEW}"
        names = [self.at(f"assets/{asset_name(name)}") for name in ("icon", "style", "review")]
        head = Markup(
            '<link rel="icon" href="{}">\n<link rel="stylesheet" href="{}">\n<script src="{}"></script>'
        ).format(*names)
        self._templates = PageTemplates(
            context.harness.redact, frame=Frame(beginning=Markup("<!doctype html>"), head=head)
        )

    def at(self, place: str = "") -> str:
        return f"{self._root}/{place}" if place else self._root

    def page(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(self._templates.render(template, at=self.at, **values), status)

    def message(
        self, title: str, *texts: str, onward: str = "", status: int = 200, last: str = "", keys: bool = False
    ) -> HTMLResponse:
        about = {"title": title, "texts": texts, "onward": onward, "last": last, "keys": keys}
        return self.page("review_message.html", status, **about)


def _site_of(request: Request) -> ReviewSite:
    site: ReviewSite = request.app.state.review_site
    return site


Site = Annotated[ReviewSite, Depends(_site_of)]


@router.get("")
def review(server: Server, site: Site, caller: Caller, note: str = "") -> HTMLResponse:
    """The item that this person has begun, or the next one."""
    return _next(server, site, caller, note=NOTES.get(note, ""))


def _next(
    server: ServerContext, site: ReviewSite, caller: str, *, note: str = "", problem: str = "", status: int = 200
) -> HTMLResponse:
    leased = server.harness.call(lease_item, caller, source=SOURCE)
    if leased is not None:
        return site.page("review.html", status, page=review_page(leased, note, problem))
    progress = server.harness.call(show_own_progress, caller)
    texts = [text for text in (note, problem) if text]
    if progress.left:
        texts.append("Others are rating what is left. Look again later, in case somebody leaves an answer to you.")
    title = "That was the last one. Thank you." if progress.done else "There is nothing to rate for you now."
    if not progress.done and not progress.left:
        texts.append("Look again later, or ask whoever invited you.")
    return site.message(title, *texts, onward="Look again", last=progress.last, status=status)


@router.get("/pause")
def pause(site: Site) -> HTMLResponse:
    texts = ("Everything you have chosen or typed is kept.", "Close the page, and open your link again to go on.")
    return site.message("Pause", *texts, onward="Go on")


@router.get("/help")
def show_help(site: Site) -> HTMLResponse:
    return site.message("Help", *HELP, onward="Go on", keys=True)


@router.get("/assets/{name}")
def asset(name: str) -> Response:
    return assets.asset(name)


@router.post("/keep")
def keep(server: Server, caller: Caller, form: Form) -> Response:
    """What has been typed so far; it also says that somebody is there."""
    _keep(server, caller, form, typed_rating(form))
    return Response(status_code=204)


@router.post("/submit")
def submit(server: Server, site: Site, caller: Caller, form: Form) -> Response:
    rating, item = typed_rating(form), _item(form)
    try:
        if rating is None:
            raise UsageError("please choose how good the answer is")
        done = server.harness.call(submit_review, caller, item, rating, form.get("comment", ""), source=SOURCE)
    except UsageError as error:
        _keep(server, caller, form, rating)
        return _next(server, site, caller, problem=_sentence(error.message), status=400)
    note = "" if done.is_counted and not done.is_late else "late" if done.is_counted else "uncounted"
    return see(site.at() + (f"?note={note}" if note else ""))


@router.post("/skip")
def skip(server: Server, site: Site, caller: Caller, form: Form) -> Response:
    try:
        server.harness.call(skip_item, caller, _item(form), form.get("reason", ""), source=SOURCE)
    except UsageError as error:
        return _next(server, site, caller, problem=_sentence(error.message), status=400)
    return see(site.at())


@router.post("/undo")
def undo(server: Server, site: Site, caller: Caller, form: Form) -> Response:
    """The form names the item: one that is sent twice takes back one review."""
    try:
        server.harness.call(undo_review, caller, _item(form), source=SOURCE)
    except UsageError as error:
        return _next(server, site, caller, problem=_sentence(error.message), status=400)
    return see(site.at())


@router.post("/move")
def move(server: Server, site: Site, caller: Caller, form: Form) -> Response:
    """A button of a ranking, where there is no script: `B:-1` is a place higher."""
    letter, _, by = form.get("move", "").partition(":")
    _keep(server, caller, form, moved(typed_rating(form), letter, -1 if by == "-1" else 1))
    return see(site.at())


def _keep(server: ServerContext, caller: str, form: Mapping[str, str], rating: Any) -> None:
    draft = json.dumps({"rating": rating, "comment": form.get("comment", "")}, ensure_ascii=False)
    server.harness.call(heartbeat, caller, _item(form), draft)


def _item(form: Mapping[str, str]) -> str:
    if not form.get("item"):
        raise Refusal(400, "the form names no item", hint="open your link again")
    return form["item"]


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}."
