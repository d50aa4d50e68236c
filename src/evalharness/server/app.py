"""The application: routers, access, and how errors are answered. Nothing is started here."""

from __future__ import annotations

from fastapi import FastAPI

from evalharness.server.access import Access
from evalharness.server.context import ServerContext
from evalharness.server.failures import answer_failures
from evalharness.server.limits import Limits
from evalharness.server.pages import assets, baselines, cases, compare, home, matrix, run_list, runs, settings, suites
from evalharness.server.pages.site import PageSite
from evalharness.server.rest import health, tickets
from evalharness.version import VERSION

ROUTERS = (
    health.router,
    tickets.router,
    home.router,
    suites.router,
    run_list.router,
    cases.router,
    runs.router,
    compare.router,
    matrix.router,
    baselines.router,
    settings.router,
    assets.router,
)


def create_app(context: ServerContext) -> FastAPI:
    """One per server. Its documentation is /api/openapi.json: pages that show it would need scripts of others."""
    app = FastAPI(
        title="evalharness",
        version=VERSION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        redirect_slashes=False,
    )
    app.state.context = context
    app.state.site = PageSite(context)
    for router in ROUTERS:
        app.include_router(router)
    answer_failures(app)
    app.add_middleware(Limits)
    app.add_middleware(Access, options=context.options, token=context.token, tickets=context.tickets)
    return app
