"""What the fakes have in common: scripted replies, given one after the other, the last one again and again."""

from __future__ import annotations

from typing import Generic, TypeVar

Reply = TypeVar("Reply")


class Script(Generic[Reply]):
    """An exception among the replies is raised in its turn."""

    def __init__(self, *replies: Reply | Exception) -> None:
        self._replies = replies
        self._given = 0

    def next(self) -> Reply:
        reply = self._replies[min(self._given, len(self._replies) - 1)]
        self._given += 1
        if isinstance(reply, Exception):
            raise reply
        return reply
