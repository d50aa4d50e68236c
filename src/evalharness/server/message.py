"""A page that says one thing: what went wrong and what to do next. Errors of the server are shown on it.

It contains its style, as a report does: whoever has no token gets no other file.
"""

from __future__ import annotations

from functools import cache
from http import HTTPStatus

from markupsafe import Markup

from evalharness.reports.pages.message_page import MessagePage
from evalharness.reports.pages.page_templates import Frame, PageTemplates, content_policy, page_source
from evalharness.server.links import Links

TITLES = {401: "This page needs the token", 403: "Not allowed", 404: "Not found", 409: "Not possible now"}
HINTS = {
    401: "Open the address that the server printed when it was started. It is also in the file server.json beside the "
    "store, which only its owner can read."
}


def message_page(status: int, text: str, hint: str = "", root_path: str | None = "") -> str:
    """Nothing of the store is read for it: it is also shown where that cannot be.

    Without `root_path` it leads to no other page: it is for reviewers.
    """
    page = MessagePage(
        title=TITLES.get(status) or HTTPStatus(status).phrase,
        text=f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}",
        hint=f"{hint[:1].upper()}{hint[1:]}{'' if hint.endswith('.') else '.'}" if hint else HINTS.get(status, ""),
    )
    return _templates(root_path).render("message.html", page=page, place="")


@cache
def message_policy() -> str:
    """What such a page may do: its own style and script, and links and forms of the server."""
    own = content_policy(page_source("script.js"), page_source("style.css"), form_action="'self'")
    return f"{own}; img-src data:; frame-ancestors 'none'"


@cache
def _templates(root_path: str | None) -> PageTemplates:
    """Texts come redacted."""
    head = Markup(f'<link rel="icon" href="data:,"><style>{page_source("style.css")}</style>')
    foot = Markup(f"<script>{page_source('script.js')}</script>")
    link = Links(root_path or "")
    places = () if root_path is None else link.places()
    return PageTemplates(str, link, Frame(Markup("<!doctype html>"), head, foot, places))
