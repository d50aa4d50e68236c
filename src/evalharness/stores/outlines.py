"""Runs read without building their suites case by case: outlines, plans, gates, and what past runs asked."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pydantic_core import from_json

from evalharness.domain.case_result import CaseOutlines
from evalharness.domain.gate import Gate
from evalharness.domain.run import CaseLock
from evalharness.domain.stored import PastRun, RunOutline, RunPlan
from evalharness.errors import StoreError
from evalharness.stores.encoding import cases_from, report_from, unpack

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, zlib.error)


def outline_from(columns: dict[str, Any], report: bytes | None, cases: bytes | None) -> RunOutline:
    if not report:
        return RunOutline(**columns, report=None)
    with _readable(columns["name"]):
        kept = cases_from(cases) if cases else ()
        return RunOutline(**columns, report=report_from(report, columns["name"]).model_copy(update={"cases": kept}))


def plan_from(name: str, body: bytes) -> RunPlan:
    with _readable(name):
        run = _parsed(unpack(body))
        suite, lock = run["suite"], run["lock"]
        return RunPlan(
            variant=run.get("variant", ""),
            trials=lock["trials"],
            case_threshold=suite.get("case_threshold", 1.0),
            cases=_cases(suite, lock["cases"]),
        )


def gate_from(name: str, body: bytes) -> Gate | None:
    """What a run has to reach, where that was said."""
    with _readable(name):
        text = unpack(body)
        # Most suites have none, and reading a large one takes long.
        gate = _parsed(text)["suite"].get("gate") if b'"gate":' in text else None
        return None if gate is None else Gate.model_validate(gate)


def past_run_from(run_id: str, name: str, planned: int, body: bytes) -> PastRun | None:
    """None where it is damaged, or another version wrote it: no new run may break because of it."""
    with suppress(*_UNREADABLE):
        run = from_json(unpack(body))
        lock, is_sequential = run["lock"], bool(run.get("options", {}).get("sequential"))
        variant, kind = run.get("variant", ""), run["target"]["kind"]
        return PastRun(run_id, name, planned, variant, kind, lock["target"], is_sequential, lock["cases"])
    return None


def _parsed(body: bytes) -> Any:
    return from_json(body, cache_strings="keys")  # hardly a value comes twice


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
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
