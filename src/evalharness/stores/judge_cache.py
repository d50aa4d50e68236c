"""Verdicts of judges, kept so that nobody pays twice for the same one. Written in groups, like trials."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic_core import from_json, to_json

from evalharness.domain.stored import CacheLine
from evalharness.errors import StoreError
from evalharness.redaction import Redactor
from evalharness.stores import statements
from evalharness.stores.cleaning import clean_text
from evalharness.stores.sqlite import Database
from evalharness.stores.writing import GroupWriter
from evalharness.values.json_value import Json

OFTEN = 500
MOST_IN_MEMORY = 20_000
"""Who finds so many verdicts is likely to want most of them: these are read in one go, and each is given out once."""


class StoredJudgeCache:
    """Implements `contracts.VerdictStore`, for one view of the store: what is kept has been redacted."""

    def __init__(self, verdicts: Verdicts, redactor: Redactor) -> None:
        self._verdicts = verdicts
        self._redactor = redactor

    async def get(self, key: str) -> Json:
        body = await self._verdicts.get(key)
        return None if body is None else from_json(body)

    async def has(self, key: str) -> bool:
        return self._verdicts.has(key)

    async def set(self, key: str, value: Json) -> None:
        self._verdicts.keep(key, clean_text(to_json(value).decode(), self._redactor))

    async def clear(self) -> None:
        self.remove()

    def remove(self, before: str = "") -> int:
        return self._verdicts.remove(before)

    def line(self) -> CacheLine:
        return self._verdicts.line()


class Verdicts:
    """The table, and the verdicts that wait to be written to it. `now` gives the time as the store writes it.

    Shared by all views of a store, and so by threads and their event loops. `_lock` keeps what is read ahead from being
    older than what was written since.
    """

    def __init__(self, database: Database, now: Callable[[], str]) -> None:
        self._database = database
        self._now = now
        self._lock = threading.Lock()
        self._unwritten: dict[str, str] = {}
        self._in_memory: dict[str, str] = {}
        self._found_so_far = 0
        self._asked: dict[Any, list[tuple[str, Any]]] = {}
        """By event loop: who waits for which key."""
        self._writer = GroupWriter(self._commit)

    async def get(self, key: str) -> str | None:
        body = self._unwritten.get(key) or self._in_memory.pop(key, None)
        return await self._found(key) if body is None else body

    def has(self, key: str) -> bool:
        return key in self._unwritten or bool(self._database.read_beside(statements.FIND_VERDICT, (key,)))

    def keep(self, key: str, body: str) -> None:
        with self._lock:
            self._unwritten[key] = body
            self._in_memory.pop(key, None)
            self._writer.put((key, body))

    def remove(self, before: str) -> int:
        self._writer.flush()
        with self._lock, self._database.transaction() as connection:
            self._in_memory.clear()
            if before:
                return connection.execute(statements.REMOVE_OLD_VERDICTS, (before,)).rowcount
            return connection.execute(statements.REMOVE_VERDICTS).rowcount

    def line(self) -> CacheLine:
        self._writer.flush()
        return CacheLine(*self._database.read(statements.LINE_OF_CACHE)[0])

    def close(self) -> None:
        self._writer.close()

    def _found(self, key: str) -> Awaitable[str | None]:
        """All who ask in the same moment are served by one query."""
        import asyncio  # slow to load, and most commands ask no judge

        loop = asyncio.get_running_loop()
        if loop not in self._asked:
            self._asked[loop] = []
            loop.call_soon(self._find, loop)
        waiting: asyncio.Future[str | None] = loop.create_future()
        self._asked[loop].append((key, waiting))
        return waiting

    def _find(self, loop: Any) -> None:
        asked = self._asked.pop(loop)
        keys = list({key for key, _ in asked})
        try:
            found = dict(self._database.read_beside(statements.find_verdicts(len(keys)), keys))
            self._read_ahead(len(found))
        except StoreError as error:
            for _, waiting in asked:
                if not waiting.done():
                    waiting.set_exception(error)
            return
        for key, waiting in asked:
            if not waiting.done():
                waiting.set_result(found.get(key))

    def _read_ahead(self, found: int) -> None:
        """Once, as soon as so many have been found."""
        with self._lock:
            before, self._found_so_far = self._found_so_far, self._found_so_far + found
            if before < OFTEN <= self._found_so_far:
                rows = self._database.read_beside(statements.MANY_VERDICTS, (MOST_IN_MEMORY,))
                self._in_memory = {key: body for key, body in rows if key not in self._unwritten}

    def _commit(self, group: Sequence[tuple[str, str]]) -> None:
        now = self._now()
        with self._database.transaction() as connection:
            connection.executemany(statements.KEEP_VERDICT, [(key, body, now) for key, body in group])
        with self._lock:
            for key, body in group:
                if self._unwritten.get(key) is body:  # else it has been replaced, and that waits to be written
                    del self._unwritten[key]
