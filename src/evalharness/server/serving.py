"""uvicorn with our limits. Signals are not handled here: whoever starts it calls `stop`."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import uvicorn

from evalharness.server.app import create_app
from evalharness.server.connections import watched_protocol
from evalharness.server.context import ServerContext

BACKLOG = 512
GRACE_S = 1


class Serving(uvicorn.Server):
    """One server on one socket, which is bound before: so whoever starts it knows that the port is free."""

    def __init__(self, context: ServerContext, bound: socket.socket) -> None:
        super().__init__(
            uvicorn.Config(
                create_app(context),
                http=watched_protocol(),
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,  # addresses may hold the token
                proxy_headers=False,
                server_header=False,
                date_header=True,
                timeout_graceful_shutdown=GRACE_S,
                log_level="error",
            )
        )
        self._context = context
        self._bound = bound

    def stop(self) -> None:
        """From any thread or signal handler."""
        self._context.stopping.set()
        self.should_exit = True

    def serve_to_end(self) -> None:
        self.run(sockets=[self._bound])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """They belong to the command line."""
        yield


def bind(host: str, port: int) -> socket.socket:
    """Raises OSError if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound
