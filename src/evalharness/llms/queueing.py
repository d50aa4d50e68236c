"""Who waits for a reply of one server with one key, in the order in which they asked.

A server that takes one request after another is not silent to those in line: they wait for others. To the first of
them it is, and a connection that hangs is soon the first one. It sends nothing, and gives nobody up.
"""

from __future__ import annotations


class Line:
    def __init__(self) -> None:
        self._waiting: dict[object, None] = {}
        self._first_since = 0.0

    def join(self, who: object, now: float) -> None:
        if not self._waiting:
            self._first_since = now
        self._waiting[who] = None

    def leave(self, who: object, last_reply_at: float) -> None:
        """Whoever is first now has been waiting for a reply since the last one, to this or to another."""
        if self._is_first(who):
            self._first_since = last_reply_at
        del self._waiting[who]

    def silent_since(self, who: object, last_reply_at: float) -> float:
        """Since when the server lets it wait without a reply to anybody before it."""
        return self._first_since if self._is_first(who) else last_reply_at

    def _is_first(self, who: object) -> bool:
        return next(iter(self._waiting)) is who
