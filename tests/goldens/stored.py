"""The store and the reports of an earlier day, copied into a folder of today."""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

STORED = Path(__file__).parent / "store-v6"
PROJECT = STORED / "project"
REPORTS = ("flaky-report.json", "gated-report.json", "baseline.json")
ANYWHERE = "/somewhere/project"
"""Where the stored runs were started, as the stored file has it. A store names folders in full."""


def bring(folder: Path) -> None:
    """As if all of it had been run in `folder`, which contains a copy of the project."""
    place = folder / ".evalharness"
    place.mkdir()
    shutil.copy(STORED / "store.db", place)
    for name in REPORTS:
        shutil.copy(STORED / name, folder)
    move_store(place / "store.db", Path(ANYWHERE), folder)


def move_store(store: Path, old: Path, new: Path = Path(ANYWHERE)) -> None:
    """Changes the folder's name wherever the store has it: in texts, and in blobs, which may be compressed."""
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.create_function("moved", 1, lambda value: moved(value, str(old), str(new)))
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [
                column for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({table})") if kind != "INTEGER"
            ]
            if columns:
                connection.execute(f"UPDATE {table} SET " + ", ".join(f"{each} = moved({each})" for each in columns))


def moved(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if not isinstance(value, bytes):
        return value
    is_compressed = value[:1] == b"x"
    text = zlib.decompress(value) if is_compressed else value
    if old.encode() not in text:
        return value
    text = text.replace(old.encode(), new.encode())
    return zlib.compress(text) if is_compressed else text
