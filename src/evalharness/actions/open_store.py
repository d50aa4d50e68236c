"""Open the store: the one named, else `.evalharness/store.db` of the project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalharness import settings
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
def open_store(named: str | None, redactor: Redactor | None = None) -> Iterator[SqlStore]:
    store = SqlStore(
        store_place(named),
        redactor=redactor or Redactor(settings.secrets()),
        timeout_s=settings.Settings.from_environment().store_timeout_s,
    )
    try:
        yield store
    finally:
        store.close()
