"""What SQLite says differently from other SQL databases. All else is in `statements.py`, in words they share.

PostgreSQL would need, in place of what is here and in `schema.py`:
- `%s` where a `?` marks a value; no statement has a `?` of another meaning;
- `BEGIN`, since it locks row by row, and none of the pragmas;
- `BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY` for `INTEGER PRIMARY KEY`. SQLite gives the number of a removed last
  row to the next one, so nobody may remember the number of a row that is gone;
- `BIGINT`, `DOUBLE PRECISION` and `BYTEA` for `INTEGER`, `REAL` and `BLOB`, and no `WITHOUT ROWID`;
- `TEXT COLLATE "C"` for `TEXT`, which SQLite orders by its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

BEGIN = "BEGIN IMMEDIATE"
"""A deferred transaction that turns to writing does not wait for a lock."""
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
WRITE_AHEAD_LOG = "PRAGMA journal_mode = WAL"
SETTINGS = (
    # FULL: a finished trial survives a power cut, not only a crash. Commits come in groups, so it is cheap.
    "PRAGMA synchronous = FULL",
    # Without it macOS only hands the data to the disk, which may keep it in a cache.
    "PRAGMA fullfsync = ON",
    "PRAGMA foreign_keys = ON",
)
COMPACT = "VACUUM"
AFTER_ALL_ROWS = 2**62
BEFORE_ALL_ROWS = -(2**62)
"""Row numbers that no row has."""


def marks(count: int) -> str:
    return ", ".join("?" * count)


def insert(table: str, columns: str) -> str:
    return f"INSERT INTO {table} ({columns}) VALUES ({marks(columns.count(',') + 1)})"


def insert_once(table: str, columns: str, key: str) -> str:
    """A row that is there stays."""
    return f"{insert(table, columns)} ON CONFLICT ({key}) DO NOTHING"


def upsert(table: str, columns: str, key: str, changes: str) -> str:
    """A row that is there is changed."""
    return f"{insert(table, columns)} ON CONFLICT ({key}) DO UPDATE SET {changes}"


def taken_over(columns: Iterable[str]) -> str:
    """The change by which an upsert replaces these columns."""
    return ", ".join(f"{column} = excluded.{column}" for column in columns)
