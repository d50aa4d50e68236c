"""The application: routers, access, and how errors are answered. Nothing is started here."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from evalharness.server.access import Access
from evalharness.server.callers import Invitations
from evalharness.server.context import ServerContext
from evalharness.server.document import DocumentedApp
from evalharness.server.failures import answer_failures
from evalharness.server.heads import Heads
from evalharness.server.limits import Limits
from evalharness.server.pages import assets, compare, home, matrix, run_list, settings
from evalharness.server.pages import baselines as baseline_pages
from evalharness.server.pages import cases as case_pages
from evalharness.server.pages import review as review_pages
from evalharness.server.pages import reviews as owner_reviews
from evalharness.server.pages import runs as run_pages
from evalharness.server.pages import suites as suite_pages
from evalharness.server.pages.site import PageSite
from evalharness.server.rest import (
    baselines,
    cases,
    events,
    health,
    own_reviews,
    retrieval,
    reviews,
    runs,
    suites,
    tickets,
)
from evalharness.version import VERSION

REST = (health, tickets, suites, runs, cases, events, baselines, retrieval, own_reviews, reviews)
PAGES = (
    home,
    suite_pages,
    run_list,
    case_pages,
    owner_reviews,
    run_pages,
    compare,
    matrix,
    baseline_pages,
    settings,
    assets,
    review_pages,
)


def create_app(context: ServerContext) -> FastAPI:
    """One per server. Its documentation is /api/openapi.json: pages that show it would need scripts of others."""
    app = DocumentedApp(
        title="evalharness",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,
    )
    app.state.context = context
    app.state.site = PageSite(context)
    app.state.review_site = review_pages.ReviewSite(context)
    for module in (*REST, *PAGES):
        app.include_router(module.router)
    answer_failures(app)
    app.add_middleware(Heads)
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    app.add_middleware(Limits)
    app.add_middleware(
        Access,
        options=context.options,
        token=context.token,
        tickets=context.tickets,
        invitations=Invitations(context.harness),
    )
    return app
