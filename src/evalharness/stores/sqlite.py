"""The SQLite connection: how it is opened, how transactions are taken, what its errors mean."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalharness.errors import StoreError
from evalharness.stores.schema import MIGRATIONS

MEMORY = ":memory:"


class Database:
    """One connection for reading and writing, guarded by a lock: SQLite has one writer anyway."""

    def __init__(self, place: str, timeout_s: float) -> None:
        self.place = place
        self._timeout_s = timeout_s
        self._lock = threading.RLock()
        with self._explained():
            if place != MEMORY:
                _make_folder(Path(place).parent)
            self._connection = sqlite3.connect(
                place, timeout=timeout_s, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            # FULL: a finished trial survives a power cut, not only a crash. Commits come in groups, so it is cheap.
            self._connection.execute("PRAGMA synchronous = FULL")
        self._migrate()

    def close(self) -> None:
        with self._lock, self._explained():
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """BEGIN IMMEDIATE, because a deferred transaction that turns to writing does not wait for a lock."""
        with self._lock, self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock, self._explained():
            return self._connection.execute(sql, values).fetchall()

    def stream(self, sql: str, values: Sequence[Any] = (), page: int = 500) -> Iterator[Any]:
        """Rows by pages, so that a run of any size is read in little memory."""
        with self._lock, self._explained():
            cursor = self._connection.execute(sql, values)
        while True:
            with self._lock, self._explained():
                rows = cursor.fetchmany(page)
            if not rows:
                return
            yield from rows

    def compact(self) -> None:
        with self._lock, self._explained():
            self._connection.execute("VACUUM")

    def _migrate(self) -> None:
        with self.transaction() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
            found = connection.execute("SELECT MAX(version) FROM schema_version").fetchone()[0] or 0
            if found > len(MIGRATIONS):
                raise StoreError(
                    f"the store {self.place} was written by a newer evalharness (schema {found})",
                    hint="update evalharness, or name another store with --store",
                )
            for version, statements in enumerate(MIGRATIONS[found:], start=found + 1):
                for statement in statements:
                    connection.execute(statement)
                connection.execute("INSERT INTO schema_version VALUES (?)", (version,))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's errors in words that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(_explanation(error, self.place, self._timeout_s)) from error
        except OSError as error:
            raise StoreError(f"the store {self.place} cannot be opened: {error}") from error


def _explanation(error: sqlite3.Error, place: str, timeout_s: float) -> str:
    text = str(error)
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if code is not None else None
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"the store {place} has been locked by another process for more than {timeout_s:g} s"
    if primary == sqlite3.SQLITE_FULL:
        return f"no space is left for the store {place}; free some, then resume"
    if primary == sqlite3.SQLITE_NOTADB:
        return f"{place} is not a store: it is another kind of file"
    if primary == sqlite3.SQLITE_CANTOPEN:
        return f"the store {place} cannot be opened: {text}; check that the folder is writable"
    if primary == sqlite3.SQLITE_READONLY:
        return f"the store {place} cannot be written: it is read-only"
    return f"the store {place} cannot be used: {text}"


def _make_folder(folder: Path) -> None:
    """Results stay in the project folder, and out of its version control."""
    if folder.is_dir():
        return
    folder.mkdir(parents=True)
    if folder.name == ".evalharness":
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
