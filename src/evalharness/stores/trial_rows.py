"""The rows of trials: how one is written, and how they are read.

They are read by pages, so that a run of any size takes little memory. Each page is a query of its own: a cursor left
open would keep the connection from writing once another process has written, and the log from being folded into the
file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalharness.domain.trial import Outcome, Trial, TrialFigures
from evalharness.stores.encoding import TRIAL_COLUMNS, trial_from
from evalharness.stores.sqlite import Database

_ONCE = (
    f"INSERT INTO trials ({TRIAL_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (run_seq, case_id, idx) DO "
)
INSERT_TRIAL = f"{_ONCE} NOTHING"
MEND_TRIAL = (
    f"{_ONCE} UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in TRIAL_COLUMNS.split(", ")[3:])
    + " WHERE trials.state IN ('error', 'awaiting')"
)
"""A trial that already has a row keeps it, unless that one ended in error or awaits a grade, and is mended."""
_PAGE_OF_BODIES = 100
_PAGE = 500
_PAGE_OF_FIGURES = 10_000


def read_trials(database: Database, seq: int, case_id: str | None) -> Iterator[Trial]:
    for row in _pages(database, "case_id, idx, seed, body", seq, case_id, _PAGE_OF_BODIES):
        yield trial_from(*row)


def read_outcomes(database: Database, seq: int) -> Iterator[Outcome]:
    return map(Outcome._make, _pages(database, _columns(Outcome._fields), seq, None, _PAGE))


def read_figures(database: Database, seq: int) -> Iterator[TrialFigures]:
    return map(TrialFigures._make, _pages(database, _columns(TrialFigures._fields), seq, None, _PAGE_OF_FIGURES))


def _columns(fields: tuple[str, ...]) -> str:
    return ", ".join(fields).replace("trial_index", "idx")


def _pages(database: Database, columns: str, seq: int, case_id: str | None, size: int) -> Iterator[tuple[Any, ...]]:
    """`columns` begin with case_id and idx, by which the next page is found."""
    # Of one case alone the index is only used up to its end if the case is named by itself.
    after = "(case_id, idx) > (?, ?)" if case_id is None else "case_id = ? AND idx > ?"
    sql = f"SELECT {columns} FROM trials WHERE run_seq = ? AND {after} ORDER BY case_id, idx LIMIT ?"
    last: tuple[str, int] = (case_id or "", -1)
    while True:
        rows = database.read(sql, (seq, *last, size))
        yield from rows
        if len(rows) < size:
            return
        last = rows[-1][:2]
