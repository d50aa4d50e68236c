"""The table of histories: updated in the transaction in which a run is finished for the first time, so once per run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from sqlite3 import Connection
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.history import CaseHistory, written_history
from evalharness.stores.sqlite import Database

_NEW = (
    "INSERT INTO case_history (suite_name, case_id, failure_count, last_passed) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (suite_name, case_id) DO UPDATE SET "
)
_FAILED = f"{_NEW} failure_count = case_history.failure_count + 1"
_PASSED = f"{_NEW} last_passed = excluded.last_passed"


def add_verdicts(
    connection: Connection,
    run_id: str,
    judged: Iterable[tuple[Case, bool]],
    moment: str,
    clean: Callable[[str], str],
) -> None:
    """Each judged case and whether it passed. A run that was finished before has been counted before."""
    unfinished = connection.execute("SELECT suite_name FROM runs WHERE id = ? AND finished_at IS NULL", (run_id,))
    for (suite_name,) in unfinished.fetchall():
        passed: list[tuple[Any, ...]] = []
        failed: list[tuple[Any, ...]] = []
        for case, has_passed in judged:
            count, last_passed = written_history(case)
            if has_passed:
                passed.append((suite_name, case.id, count, moment))
            else:
                before = None if last_passed is None else clean(last_passed)
                failed.append((suite_name, case.id, count + 1, before))
        connection.executemany(_PASSED, passed)
        connection.executemany(_FAILED, failed)


def read_histories(database: Database, suite_name: str) -> dict[str, CaseHistory]:
    """By case id, for the cases of a suite that have been judged at least once."""
    sql = "SELECT case_id, failure_count, last_passed FROM case_history WHERE suite_name = ?"
    return {case_id: CaseHistory(*rest) for case_id, *rest in database.read(sql, (suite_name,))}
