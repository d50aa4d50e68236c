"""Outlines of runs: what comparing needs to know of a stored run, read without building its suite case by case."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from evalharness.domain.case_result import CaseOutlines
from evalharness.domain.gate import Gate
from evalharness.domain.report import Report
from evalharness.domain.run import CaseLock
from evalharness.errors import StoreError
from evalharness.stores.case_columns import cases_from
from evalharness.stores.encoding import report_from, unpack
from evalharness.stores.sqlite import Database

_COLUMNS = ("id", "name", "matrix_id", "suite_name", "created_at", "finished_at", "regrade_of")


@dataclass(frozen=True, slots=True)
class RunOutline:
    """`report` is the one kept when the run last came to a stop; None where it never did.

    It has no cases where trials were written since, or by a version that did not keep them.
    """

    id: str
    name: str
    matrix_id: str
    suite_name: str
    created_at: str
    finished_at: str | None
    regrade_of: str
    report: Report | None


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run set out to do."""

    variant: str
    trials: int
    case_threshold: float
    cases: CaseOutlines


def read_outline(database: Database, run_id: str) -> RunOutline:
    """Of a run that is there."""
    [row] = database.read(f"SELECT {', '.join(_COLUMNS)}, report, cases FROM runs WHERE id = ?", (run_id,))
    *_, body, cases = row
    columns = dict(zip(_COLUMNS, row, strict=False))
    if not body:
        return RunOutline(**columns, report=None)
    with _readable(columns["name"]):
        kept = cases_from(cases) if cases else ()
        report = report_from(body, columns["name"]).model_copy(update={"cases": kept})
        return RunOutline(**columns, report=report)


def read_plan(database: Database, run_id: str) -> RunPlan:
    """Of a run that is there."""
    with _written(database, run_id) as body:
        run = _parsed(body)
        suite, lock = run["suite"], run["lock"]
        return RunPlan(
            variant=run.get("variant", ""),
            trials=lock["trials"],
            case_threshold=suite.get("case_threshold", 1.0),
            cases=_cases(suite, lock["cases"]),
        )


def read_gate(database: Database, run_id: str) -> Gate | None:
    """What a run that is there has to reach, where that was said."""
    with _written(database, run_id) as body:
        # Most suites have none, and reading a large one takes long.
        gate = _parsed(body)["suite"].get("gate") if b'"gate":' in body else None
        return None if gate is None else Gate.model_validate(gate)


@contextmanager
def _written(database: Database, run_id: str) -> Iterator[bytes]:
    [(name, body)] = database.read("SELECT name, body FROM runs WHERE id = ?", (run_id,))
    with _readable(name):
        yield unpack(body)


def _parsed(body: bytes) -> Any:
    return from_json(body, cache_strings="keys")  # hardly a value comes twice


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, zlib.error) as error:
        raise StoreError(
            f"run {name} cannot be read from the store",
            hint="it is damaged, or was written by another version of evalharness",
        ) from error


def _cases(suite: dict[str, Any], locks: dict[str, Any]) -> CaseOutlines:
    """As they were written: what has its default value is left out."""
    cases, eval_type = suite.get("test_cases", ()), suite.get("eval_type", "")
    joined = CaseLock.joined  # looked up once: that takes longer than the joining

    def column(key: str, default: Any) -> list[Any]:
        return [case.get(key, default) for case in cases]

    ids, topics = [case["id"] for case in cases], column("category", "")
    return CaseOutlines(
        ids,
        [joined(lock["case"], lock["graders"]) if (lock := locks.get(case_id)) else "" for case_id in ids],
        column("weight", 1.0),
        column("cluster", ""),
        [own or eval_type or topic for own, topic in zip(column("eval_type", ""), topics, strict=True)],
        column("criticality", ""),
        topics,
    )
