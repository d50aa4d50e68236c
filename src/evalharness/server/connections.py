"""Connections that send nothing, or a request byte by byte, are closed: whoever holds them keeps nobody else out."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0
"""How long a connection may take for the headers of a request; uvicorn would wait for the first one for ever."""
MOST_SILENT = 256
"""Connections that have not sent a whole request yet; beyond that the oldest is closed."""


def watched_protocol(headers_s: float = HEADERS_S, most_silent: int = MOST_SILENT) -> type[H11Protocol]:
    """The protocol of one server, whose connections count together."""
    silent: dict[H11Protocol, asyncio.TimerHandle] = {}

    class WatchedProtocol(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._await_headers()

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                self._stop_waiting()
            elif self not in silent and (before is None or before.response_complete):
                self._await_headers()  # the next request of a connection that is kept

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _await_headers(self) -> None:
            if len(silent) >= most_silent:
                _cut_off(next(iter(silent)))
            silent[self] = self.loop.call_later(headers_s, _cut_off, self)

        def _stop_waiting(self) -> None:
            if self in silent:
                silent.pop(self).cancel()

    def _cut_off(connection: H11Protocol) -> None:
        silent.pop(connection).cancel()
        connection.transport.abort()

    return WatchedProtocol
