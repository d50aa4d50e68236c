"""The servers that the targets of one call start: those that need the same one share it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter


class Server(ABC):
    """A program that runs as long as a target needs it."""

    @abstractmethod
    async def open(self) -> None:
        """Start it and wait until it is ready; raises TargetUnavailable and leaves nothing behind if it fails."""

    @abstractmethod
    async def close(self) -> None:
        """End it with everything it has started."""

    @abstractmethod
    async def why_ended(self) -> str:
        """Asked when it could not be reached: why it does not run any more; empty if it does."""


class Servers:
    """By key: what makes two servers the same. All variants of a suite are opened before the first one is asked."""

    def __init__(self) -> None:
        self._running: dict[str, Server] = {}
        self._users: Counter[str] = Counter()

    async def join(self, key: str, server: Server) -> Server:
        """The server that runs under this key; the first user starts the one that it brings."""
        if key not in self._running:
            await server.open()
            self._running[key] = server
        self._users[key] += 1
        return self._running[key]

    async def leave(self, key: str) -> None:
        """The last user ends it."""
        self._users[key] -= 1
        if not self._users[key]:
            await self._running.pop(key).close()
