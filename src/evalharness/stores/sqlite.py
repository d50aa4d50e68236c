"""The SQLite connection: how it is opened and brought up to date, how transactions are taken, what its errors mean.

What is in the tables is `schema.py`, what is asked of them `statements.py`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from evalharness.contracts.store import MEMORY
from evalharness.errors import Hint, StoreError
from evalharness.stores.columns import check_rows
from evalharness.stores.dialect import BEGIN, COMPACT, SETTINGS, TABLES, WRITE_AHEAD_LOG
from evalharness.stores.migrations import MIGRATIONS
from evalharness.stores.statements import ADD_VERSION, LAST_VERSION, MAKE_VERSIONS

_RETRY_PAUSE_S = 0.01
_RESUME = "then resume the run"


class Database:
    """One connection for reading and writing, guarded by a lock: SQLite has one writer anyway.

    A second one is for `read_beside`. Both may be used by any thread. With `lazily`, a file that does not exist is made
    by the first transaction: until then there is nothing to read, and a look is no reason to leave files behind.
    """

    def __init__(self, place: str, timeout_s: float, *, lazily: bool = False) -> None:
        self.place = place
        self._timeout_s = timeout_s
        self._lock = threading.RLock()
        self._beside: sqlite3.Connection | None = None
        self._beside_lock = threading.Lock()
        self._is_closed = False
        self._path = Path(place).absolute()  # a target may go to another folder
        if place != MEMORY:
            _refuse_lone_log(self._path)
        self._is_there = not lazily or place == MEMORY or self._path.exists()
        self._file: os.stat_result | None = None
        self._connection = self._open(place if self._is_there else MEMORY)

    def close(self) -> None:
        with self._beside_lock, self._lock, self._explained():
            self._is_closed = True
            if self._beside is not None:
                self._beside.close()
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._explained():
            if self._is_closed:
                raise _closed(self.place)
            if not self._is_there:
                self._make_file()
            self._check_file()
            with _transaction(self._connection) as connection:
                yield connection

    def read(self, sql: str, values: Sequence[Any] = (), *, whose: str = "") -> list[Any]:
        """Rows of which every cell can be what it says. `whose` names what they belong to, where they do not."""
        with self._lock:
            if not self._is_there and not self._is_closed and self._path.exists():
                self._make_file()  # another process has made it meanwhile
            return self._rows(self._connection, sql, values, whose)

    def _rows(self, connection: sqlite3.Connection, sql: str, values: Sequence[Any], whose: str = "") -> list[Any]:
        with self._explained():
            cursor = connection.execute(sql, values)
            rows = cursor.fetchall()
        check_rows(rows, [name for name, *_ in cursor.description or ()], self.place, whose)
        return rows

    def read_beside(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """From a connection of its own, so that nobody waits for what is being written: only what is committed."""
        if self.place == MEMORY or not self._is_there:
            return self.read(sql, values)
        with self._beside_lock, self._explained():
            if self._beside is None:
                if self._is_closed:
                    raise _closed(self.place)
                self._check_file()
                self._beside = self._connect(self.place)
            return self._rows(self._beside, sql, values)

    def compact(self) -> None:
        with self._lock, self._explained():
            self._connection.execute(COMPACT)

    def _open(self, place: str) -> sqlite3.Connection:
        """Raises StoreError where it cannot be used, before anything in it is changed."""
        if place != MEMORY:
            _make_room(Path(place))
        with self._explained(), ExitStack() as opened:
            connection = self._connect(place)
            opened.callback(connection.close)
            self._prepare(connection)
            if place != MEMORY:
                self._file = self._found()
            opened.pop_all()
            return connection

    def _found(self) -> os.stat_result | None:
        try:
            return self._path.stat()
        except OSError:
            return None

    def _check_file(self) -> None:
        """SQLite would go on writing to a file that nobody can open any more."""
        if self._file is None:
            return
        found = self._found()
        if found is None or not os.path.samestat(found, self._file):
            raise StoreError(
                f"the store {self.place} was removed or replaced while it was in use",
                hint="put it back, or start the run again: what was stored there is not in the new file",
            )

    def _make_file(self) -> None:
        """In place of the empty database that was read so far."""
        made = self._open(self.place)
        self._connection.close()
        self._connection, self._is_there = made, True

    def _connect(self, place: str) -> sqlite3.Connection:
        return sqlite3.connect(
            place, timeout=self._timeout_s, isolation_level=None, check_same_thread=False, cached_statements=64
        )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """The version is read first: a file that is not ours must not be changed, not even its journal mode."""
        version = self._version(connection)
        self._use_write_ahead_log(connection)
        for setting in SETTINGS:
            connection.execute(setting)
        if version < len(MIGRATIONS):
            self._migrate(connection)

    def _use_write_ahead_log(self, connection: sqlite3.Connection) -> None:
        """Two processes that do this to a new file at once get "locked" without SQLite's own waiting."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                connection.execute(WRITE_AHEAD_LOG)
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(_RETRY_PAUSE_S)

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """In one transaction, which looks again: another process may have been faster."""
        with _transaction(connection):
            connection.execute(MAKE_VERSIONS)
            found = self._version(connection)
            for version, statements in enumerate(MIGRATIONS[found:], start=found + 1):
                for statement in statements:
                    connection.execute(statement)
                connection.execute(ADD_VERSION, (version,))

    def _version(self, connection: sqlite3.Connection) -> int:
        """How many migrations the file has seen; raises StoreError when it is not for us."""
        tables = connection.execute(TABLES).fetchall()
        if not tables:
            return 0
        if ("schema_version",) not in tables:
            raise StoreError(f"{self.place} is not a store but a database of another program", hint=_other_store())
        version = connection.execute(LAST_VERSION).fetchone()[0] or 0
        if not isinstance(version, int) or version < 0:
            raise sqlite3.DatabaseError(f"its version is {version!r}")
        if version > len(MIGRATIONS):
            raise StoreError(
                f"the store {self.place} was written by a newer evalharness (schema {version})",
                hint=_other_store("update evalharness"),
            )
        return version

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter where SQLite's own words quote the damage
            if self._is_closed:
                raise _closed(self.place) from None
            raise _explanation(error, self.place, self._timeout_s) from error


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        connection.execute(BEGIN)
        yield connection
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            # If even this fails, SQLite rolls back when the file is next opened; the first error is the news.
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")


def _make_room(path: Path) -> None:
    """Results stay in the project folder, and out of its version control."""
    folder = path.parent
    try:
        if path.is_dir():
            raise StoreError(f"{path} is a folder, not a store", hint=_other_store())
        if folder.is_dir():
            return
        ours = next((each for each in (folder, *folder.parents) if each.name == ".evalharness"), None)
        is_new = ours is not None and not ours.is_dir()
        folder.mkdir(parents=True, exist_ok=True)
        if ours is not None and is_new:
            (ours / ".gitignore").write_text("*\n", encoding="utf-8")
    except (FileExistsError, NotADirectoryError) as error:
        message = f"the store {path} cannot be created: {folder} is not a folder"
        raise StoreError(message, hint=_other_store()) from error
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be created: {error.strerror}", hint=_other_store(f"check {folder}")
        ) from error


def _refuse_lone_log(path: Path) -> None:
    """SQLite would empty a log that belongs to no file, with all that is in it."""
    log = path.with_name(f"{path.name}-wal")
    try:
        is_alone = log.stat().st_size > 0 and (not path.exists() or path.stat().st_size == 0)
    except OSError:
        return
    if is_alone:
        raise StoreError(
            f"the store {path} is gone or empty, but its log {log.name} is there",
            hint=f"put the store back next to its log, or remove {log.name} to start a new store",
        )


def _other_store(first: str = "") -> Hint:
    """`first` is what may help as well."""
    return Hint("hint.other_store", first=first)


def _closed(place: str) -> StoreError:
    return StoreError(f"the store {place} is closed", hint="open the Harness again, or keep it open for longer")


_BY_CODE: Mapping[int, tuple[str, str | Hint]] = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: (
            "the store {place} has been locked by another process for {timeout_s:g} s",
            f"wait for that process or stop it, {_RESUME}; EVALHARNESS_STORE_TIMEOUT is how many seconds to wait",
        ),
        sqlite3.SQLITE_FULL: ("the store {place} cannot be written: no space is left", f"free some space, {_RESUME}"),
        sqlite3.SQLITE_IOERR: (
            "the store {place} cannot be read or written: {error}",
            f"check the disk and the space left on it, {_RESUME}",
        ),
        sqlite3.SQLITE_READONLY: (
            "the store {place} cannot be written: it is read-only",
            _other_store("make the file and its folder writable"),
        ),
        sqlite3.SQLITE_CANTOPEN: (
            "the store {place} cannot be opened: {error}",
            _other_store("check that its folder can be read and written"),
        ),
        sqlite3.SQLITE_NOTADB: ("{place} is not a store but another kind of file", _other_store()),
        sqlite3.SQLITE_CORRUPT: (
            "the store {place} is damaged: {error}",
            _other_store("restore it from a backup"),
        ),
        sqlite3.SQLITE_ERROR: (  # our statements are right, so a table or a column is not there
            "the store {place} is damaged: {error}",
            _other_store("restore it from a backup"),
        ),
        sqlite3.SQLITE_CONSTRAINT: (
            "the store {place} refused the results ({error}): the run was removed while it was running",
            "start the run again",
        ),
    }
)
_DAMAGED = _BY_CODE[sqlite3.SQLITE_CORRUPT]
"""Also what has no code: Python's own words for a row that is none of ours."""
_UNKNOWN: tuple[str, str | Hint] = ("the store {place} cannot be used: {error}", _other_store())


def _explanation(error: sqlite3.Error | UnicodeDecodeError, place: str, timeout_s: float) -> StoreError:
    """What happened and what to do next."""
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte is the kind of error, the rest its details.
    what, hint = _DAMAGED if code is None else _BY_CODE.get(code & 0xFF, _UNKNOWN)
    return StoreError(what.format(place=place, error=error, timeout_s=timeout_s), hint=hint)
