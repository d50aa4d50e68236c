"""The histories of cases: how often each failed, and when it last passed, counted when a run is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from sqlite3 import Connection
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory, written_history
from evalharness.stores import statements


def add_to_histories(
    connection: Connection,
    run_id: str,
    target: str,
    judged: Iterable[tuple[Case, bool]],
    moment: str,
    clean: Callable[[str], str],
) -> None:
    """In the transaction in which a run is finished: one that was finished before has been counted before."""
    for (suite_name,) in connection.execute(statements.UNFINISHED_SUITE, (run_id,)).fetchall():
        passed: list[tuple[Any, ...]] = []
        failed: list[tuple[Any, ...]] = []
        rows = connection.execute(statements.HISTORIES, (suite_name, "")).fetchall()
        known = {case_id: CaseHistory(*rest) for case_id, *rest in rows}
        for case, has_passed in judged:
            count, last_passed = known.get(case.id) or written_history(case)
            if has_passed:
                passed.append((suite_name, target, case.id, count, moment))
            else:
                before = None if last_passed is None else clean(last_passed)
                failed.append((suite_name, target, case.id, count + 1, before))
        connection.executemany(statements.CASE_PASSED, passed)
        connection.executemany(statements.CASE_FAILED, failed)
