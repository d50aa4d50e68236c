"""SQLite's errors in words that say what happened and what to do next."""

from __future__ import annotations

import sqlite3
from types import MappingProxyType

from evalharness.errors import StoreError

OTHER_STORE = "name another store with --store"
_RESUME = "then resume the run"

_BY_CODE = MappingProxyType(
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
            f"make the file and its folder writable, or {OTHER_STORE}",
        ),
        sqlite3.SQLITE_CANTOPEN: (
            "the store {place} cannot be opened: {error}",
            f"check that its folder can be read and written, or {OTHER_STORE}",
        ),
        sqlite3.SQLITE_NOTADB: ("{place} is not a store but another kind of file", OTHER_STORE),
        sqlite3.SQLITE_CORRUPT: (
            "the store {place} is damaged: {error}",
            f"put the file aside for repair, or {OTHER_STORE}",
        ),
        sqlite3.SQLITE_CONSTRAINT: (
            "the store {place} refused the results ({error}): the run was removed while it was being run",
            "start the run again",
        ),
    }
)
_UNKNOWN = ("the store {place} cannot be used: {error}", OTHER_STORE)


def explained(error: sqlite3.Error, place: str, timeout_s: float) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte is the kind of error, the rest its details.
    what, hint = _UNKNOWN if code is None else _BY_CODE.get(code & 0xFF, _UNKNOWN)
    return StoreError(what.format(place=place, error=error, timeout_s=timeout_s), hint=hint)
