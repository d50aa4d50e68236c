"""Verdicts of judges, kept so that nobody pays twice for the same one. Written in groups, like trials.

A verdict that waits to be written is found as well. What is kept has been redacted, like everything in the store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json, to_json

from evalharness.domain.record import Json
from evalharness.errors import StoreError
from evalharness.stores.sqlite import Database
from evalharness.stores.writing import GroupWriter

_FIND = "SELECT body FROM judge_cache WHERE key = ?"
_FIND_ALL = "SELECT key, body FROM judge_cache WHERE key IN"
_FIND_MANY = "SELECT key, body FROM judge_cache LIMIT ?"
_KEEP = (
    "INSERT INTO judge_cache (key, body, kept_at) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET body = excluded.body"
)


OFTEN = 500
MOST_IN_MEMORY = 20_000
"""Who finds so many verdicts is likely to want most of them: these are read in one go, and each is given out once."""


@dataclass(frozen=True, slots=True)
class CacheLine:
    """What the cache holds, in one line."""

    verdicts: int
    size_bytes: int
    oldest: str


class StoredJudgeCache:
    """Implements `contracts.JudgeCache`; `now` gives the time as the store writes it."""

    def __init__(self, database: Database, redact: Callable[[str], str], now: Callable[[], str]) -> None:
        self._database = database
        self._redact = redact
        self._now = now
        self._unwritten: dict[str, str] = {}
        self._asked: list[tuple[str, Any]] = []
        self._found_so_far = 0
        self._in_memory: dict[str, str] = {}
        self._writer = GroupWriter(self._commit)

    async def get(self, key: str) -> Json:
        body = self._unwritten.get(key) or self._in_memory.pop(key, None)
        if body is None:
            body = await self._found(key)
        return None if body is None else from_json(body)

    async def has(self, key: str) -> bool:
        return key in self._unwritten or bool(self._database.read_beside(_FIND, (key,)))

    async def set(self, key: str, value: Json) -> None:
        body = self._redact(to_json(value).decode())
        self._unwritten[key] = body
        self._in_memory.pop(key, None)
        self._writer.put((key, body))

    async def clear(self) -> None:
        self.remove()

    def remove(self, before: str = "") -> int:
        """All verdicts, or those kept before a moment; returns how many."""
        self._writer.flush()
        self._in_memory.clear()
        condition, values = (" WHERE kept_at < ?", (before,)) if before else ("", ())
        with self._database.transaction() as connection:
            return connection.execute(f"DELETE FROM judge_cache{condition}", values).rowcount

    def line(self) -> CacheLine:
        [(verdicts, size, oldest)] = self._database.read(
            "SELECT COUNT(*), COALESCE(SUM(LENGTH(key) + LENGTH(body)), 0), COALESCE(MIN(kept_at), '') FROM judge_cache"
        )
        return CacheLine(verdicts, size, oldest)

    def close(self) -> None:
        self._writer.close()

    def _found(self, key: str) -> Awaitable[str | None]:
        """All who ask in the same moment are served by one query."""
        import asyncio  # slow to load, and most commands ask no judge

        loop = asyncio.get_running_loop()
        if not self._asked:
            loop.call_soon(self._find)
        waiting = loop.create_future()
        self._asked.append((key, waiting))
        return waiting

    def _find(self) -> None:
        asked, self._asked = self._asked, []
        keys = list({key for key, _ in asked})
        try:
            found = dict(self._database.read_beside(f"{_FIND_ALL} ({','.join('?' * len(keys))})", keys))
            before, self._found_so_far = self._found_so_far, self._found_so_far + len(found)
            if before < OFTEN <= self._found_so_far:
                self._in_memory = dict(self._database.read_beside(_FIND_MANY, (MOST_IN_MEMORY,)))
        except StoreError as error:
            for _, waiting in asked:
                if not waiting.done():
                    waiting.set_exception(error)
            return
        for key, waiting in asked:
            if not waiting.done():
                waiting.set_result(found.get(key))

    def _commit(self, group: Sequence[tuple[str, str]]) -> None:
        now = self._now()
        with self._database.transaction() as connection:
            connection.executemany(_KEEP, [(key, body, now) for key, body in group])
        for key, _ in group:
            self._unwritten.pop(key, None)
