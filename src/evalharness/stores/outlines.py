"""Outlines of runs: what comparing needs to know of a stored run, read without building its suite case by case."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from evalharness.domain.case_result import CaseOutline
from evalharness.domain.gate import Gate
from evalharness.domain.report import Report
from evalharness.domain.run import CaseLock
from evalharness.errors import StoreError
from evalharness.stores.encoding import report_from, unpack
from evalharness.stores.sqlite import Database

_COLUMNS = ("id", "name", "matrix_id", "suite_name", "created_at", "finished_at", "regrade_of")


@dataclass(frozen=True, slots=True)
class RunOutline:
    """`report` is the one kept when the run last came to a stop, without its cases; None where it never did."""

    id: str
    name: str
    matrix_id: str
    suite_name: str
    created_at: str
    finished_at: str | None
    regrade_of: str
    variant: str
    trials: int
    case_threshold: float
    gate: Gate | None
    cases: list[CaseOutline]
    report: Report | None


def read_outline(database: Database, run_id: str) -> RunOutline:
    """Of a run that is there."""
    [row] = database.read(f"SELECT {', '.join(_COLUMNS)}, body, report FROM runs WHERE id = ?", (run_id,))
    *_, body, report = row
    columns = dict(zip(_COLUMNS, row, strict=False))
    name = columns["name"]
    try:
        run = from_json(unpack(body))
        suite, lock = run["suite"], run["lock"]
        return RunOutline(
            **columns,
            variant=run.get("variant", ""),
            trials=lock["trials"],
            case_threshold=suite.get("case_threshold", 1.0),
            gate=None if suite.get("gate") is None else Gate.model_validate(suite["gate"]),
            cases=list(_cases(suite, lock["cases"])),
            report=report_from(report, name) if report else None,
        )
    except (ValueError, LookupError, TypeError, AttributeError, zlib.error) as error:
        raise StoreError(
            f"run {name} cannot be read from the store",
            hint="it is damaged, or was written by another version of evalharness",
        ) from error


def _cases(suite: dict[str, Any], locks: dict[str, Any]) -> Iterator[CaseOutline]:
    """As they were written: what has its default value is left out."""
    eval_type = suite.get("eval_type", "")
    for case in suite.get("test_cases", ()):
        case_id = case["id"]
        lock = locks.get(case_id)
        yield CaseOutline(
            case_id,
            CaseLock.joined(lock["case"], lock["graders"]) if lock else "",
            case.get("weight", 1.0),
            case.get("cluster", ""),
            case.get("eval_type", "") or eval_type or case.get("category", ""),
            case.get("criticality", ""),
            case.get("category", ""),
        )
