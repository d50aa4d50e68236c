"""HEAD wherever GET is: the same answer, of which the connection sends the head alone."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from evalharness.server.limits import is_stream


class Heads:
    """Asks for what GET would answer; uvicorn leaves the body out. A stream of events has no end, so it has no HEAD."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD" and not is_stream(scope):
            scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)
