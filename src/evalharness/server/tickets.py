"""Tickets: each opens the pages once, within a minute, in place of the token.

An address that a browser is started with is seen by every user of the machine, in the list of processes.
"""

from __future__ import annotations

import secrets
import threading
import time

VALID_S = 60.0
MOST = 100


class Tickets:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._valid_until: dict[str, float] = {}

    def issue(self) -> str:
        ticket = secrets.token_urlsafe(32)
        with self._lock:
            while len(self._valid_until) >= MOST:
                del self._valid_until[next(iter(self._valid_until))]
            self._valid_until[ticket] = time.monotonic() + VALID_S
        return ticket

    def redeem(self, ticket: str) -> bool:
        with self._lock:
            return self._valid_until.pop(ticket, 0.0) > time.monotonic()
