"""The SQLite connection: how it is opened and brought up to date, and how transactions are taken.

What its errors mean to a user is `sqlite_errors.py`; what is in the tables is `schema.py`.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from evalharness.errors import StoreError
from evalharness.stores.schema import MIGRATIONS
from evalharness.stores.sqlite_errors import OTHER_STORE, explained

MEMORY = ":memory:"
_RETRY_PAUSE_S = 0.01


class Database:
    """One connection for reading and writing, guarded by a lock: SQLite has one writer anyway.

    `read_beside` is for one thread, that of the event loop.
    """

    def __init__(self, place: str, timeout_s: float) -> None:
        self.place = place
        self._timeout_s = timeout_s
        self._lock = threading.RLock()
        self._beside: sqlite3.Connection | None = None
        if place != MEMORY:
            _make_room(Path(place))
        with self._explained(), ExitStack() as opened:
            self._connection = sqlite3.connect(
                place, timeout=timeout_s, isolation_level=None, check_same_thread=False, cached_statements=64
            )
            opened.callback(self._connection.close)
            self._prepare()
            opened.pop_all()

    def close(self) -> None:
        with self._lock, self._explained():
            if self._beside is not None:
                self._beside.close()
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """BEGIN IMMEDIATE, because a deferred transaction that turns to writing does not wait for a lock."""
        with self._lock, self._explained():
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    # If even this fails, SQLite rolls back when the file is next opened; the first error is the news.
                    with suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock, self._explained():
            return self._connection.execute(sql, values).fetchall()

    def read_beside(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """From a connection of its own, so that nobody waits for what is being written: only what is committed."""
        if self.place == MEMORY:
            return self.read(sql, values)
        with self._explained():
            if self._beside is None:
                self._beside = sqlite3.connect(
                    self.place, timeout=self._timeout_s, isolation_level=None, check_same_thread=False
                )
            return self._beside.execute(sql, values).fetchall()

    def compact(self) -> None:
        with self._lock, self._explained():
            self._connection.execute("VACUUM")

    def _prepare(self) -> None:
        """The version is read first: a file that is not ours must not be changed, not even its journal mode."""
        version = self._version()
        self._use_write_ahead_log()
        # FULL: a finished trial survives a power cut, not only a crash. Commits come in groups, so it is cheap.
        self._connection.execute("PRAGMA synchronous = FULL")
        # Without it macOS only hands the data to the disk, which may keep it in a cache.
        self._connection.execute("PRAGMA fullfsync = ON")
        self._connection.execute("PRAGMA foreign_keys = ON")
        if version < len(MIGRATIONS):
            self._migrate()

    def _use_write_ahead_log(self) -> None:
        """Two processes that do this to a new file at once get "locked" without SQLite's own waiting."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(_RETRY_PAUSE_S)

    def _migrate(self) -> None:
        """In one transaction, which looks again: another process may have been faster."""
        with self.transaction() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
            found = self._version()
            for version, statements in enumerate(MIGRATIONS[found:], start=found + 1):
                for statement in statements:
                    connection.execute(statement)
                connection.execute("INSERT INTO schema_version VALUES (?)", (version,))

    def _version(self) -> int:
        """How many migrations the file has seen; raises StoreError when it is not for us."""
        tables = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        if not tables:
            return 0
        if ("schema_version",) not in tables:
            raise StoreError(f"{self.place} is not a store but a database of another program", hint=OTHER_STORE)
        version: int = self._connection.execute("SELECT MAX(version) FROM schema_version").fetchone()[0] or 0
        if version > len(MIGRATIONS):
            raise StoreError(
                f"the store {self.place} was written by a newer evalharness (schema {version})",
                hint=f"update evalharness, or {OTHER_STORE}",
            )
        return version

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise explained(error, self.place, self._timeout_s) from error


def _make_room(path: Path) -> None:
    """Results stay in the project folder, and out of its version control."""
    folder = path.parent
    try:
        if path.is_dir():
            raise StoreError(f"{path} is a folder, not a store", hint=OTHER_STORE)
        if folder.is_dir():
            return
        folder.mkdir(parents=True, exist_ok=True)
        if folder.name == ".evalharness":
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except (FileExistsError, NotADirectoryError) as error:
        raise StoreError(f"the store {path} cannot be made: {folder} is no folder", hint=OTHER_STORE) from error
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be made: {error.strerror}", hint=f"check {folder}, or {OTHER_STORE}"
        ) from error
