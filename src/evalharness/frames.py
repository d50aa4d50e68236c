"""Stored runs, trials and grades as data frames, in pandas or polars, whichever is installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from evalharness.errors import UsageError
from evalharness.harness import Harness, WrittenStore
from evalharness.reports.table_rows import TABLES, Row, What

__all__ = ["runs_frame", "trials_frame"]

Library = Literal["pandas", "polars"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars")


def runs_frame(
    suite: str | None = None,
    *,
    limit: int | None = None,
    store: WrittenStore | None = None,
    library: Library | None = None,
) -> Any:
    """One row per run, the newest first: verdict, counts, pass rate with its interval, metrics, cost.

    Of one suite or of all; at most `limit` runs. `library` is `pandas` or `polars`; by default the one installed.
    """
    from evalharness.actions.collect_rows import run_rows  # here and below: only when it is called

    chosen = _library(library)
    with Harness.open(store, to_read=True) as harness:
        return _frame(chosen, harness.call(run_rows, suite, limit))


def trials_frame(
    *runs: str,
    suite: str | None = None,
    limit: int | None = None,
    what: What = "trials",
    store: WrittenStore | None = None,
    library: Library | None = None,
) -> Any:
    """One row per trial, or, with `what="grades"`, per grade: the columns of `eval-harness export`.

    Of the named runs (`latest`, a name, a baseline, a JSON report file); without any, of all runs of a suite, or of all
    runs: the newest first, at most `limit` of them. Outputs are texts; other values are written as JSON.
    """
    from evalharness.actions.collect_rows import table_rows

    chosen = _library(library)
    if what not in TABLES:
        raise UsageError(f"what must be one of {', '.join(TABLES)}, not {what!r}")
    with Harness.open(store, to_read=True) as harness:
        return _frame(chosen, harness.call(table_rows, runs, what, suite, limit), TABLES[what].columns)


def _library(named: str | None) -> str:
    if named is not None and named not in LIBRARIES:
        raise UsageError(f"library must be one of {', '.join(LIBRARIES)}, not {named!r}")
    wanted = LIBRARIES if named is None else (named,)
    found = next((name for name in wanted if find_spec(name) is not None), None)
    if found is None:
        raise UsageError(
            f"{' and '.join(wanted)} {'is' if len(wanted) == 1 else 'are'} not installed",
            hint=f"pip install {' or pip install '.join(wanted)}",
        )
    return found


def _frame(library: str, rows: Sequence[Row], columns: Sequence[str] | None = None) -> Any:
    frames = import_module(library)
    if library == "polars":
        if not rows:
            return frames.DataFrame(schema=list(columns or ()))
        return frames.from_dicts(rows, infer_schema_length=None)
    return frames.DataFrame(rows, columns=None if columns is None else list(columns))
