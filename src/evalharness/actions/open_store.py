"""Open the store: the one named, else `.evalharness/store.db` of the project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalharness import settings
from evalharness.errors import UsageError
from evalharness.redaction import Redactor
from evalharness.stores.sql_store import SqlStore
from evalharness.stores.sqlite import MEMORY

FOLDER = ".evalharness"


def store_place(named: str | None) -> str:
    if named == MEMORY:
        return MEMORY
    if named:
        path = Path(named)
        return str(path / "store.db" if path.is_dir() else path)
    return str(settings.find_project_folder(Path.cwd()) / FOLDER / "store.db")


@contextmanager
def open_store(named: str | None, redactor: Redactor | None = None, *, to_read: bool = False) -> Iterator[SqlStore]:
    """`to_read` makes no store where there is none: a look is no reason to leave files behind."""
    place = store_place(named)
    if to_read and place != MEMORY and not Path(place).exists():
        if named:
            raise UsageError(f"there is no store {place}")
        place = MEMORY
    store = SqlStore(
        place,
        redactor=Redactor(settings.secrets()) if redactor is None else redactor,
        timeout_s=settings.Settings.from_environment().store_timeout_s,
    )
    try:
        yield store
    finally:
        store.close()
