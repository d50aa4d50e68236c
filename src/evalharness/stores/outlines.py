"""Runs read without building their suites case by case: outlines, gates, and what past runs asked."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pydantic_core import from_json

from evalharness.domain.gate import Gate
from evalharness.domain.stored import PastRun, RunOutline
from evalharness.errors import StoreError
from evalharness.stores.encoding import cases_from, report_from, unpack

_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, zlib.error)


def outline_from(columns: dict[str, Any], report: bytes | None, cases: bytes | None) -> RunOutline:
    if not report:
        return RunOutline(**columns, report=None)
    with _readable(columns["name"]):
        kept = cases_from(cases) if cases else ()
        return RunOutline(**columns, report=report_from(report, columns["name"]).model_copy(update={"cases": kept}))


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


def variant_from(head: bytes) -> str:
    """From the beginning of what is stored of a run: the variant stands there, before the suite, which may be long."""
    with suppress(*_UNREADABLE):
        text = zlib.decompressobj().decompress(head) if head[:1] == b"x" else head
        return str(from_json(text, allow_partial=True).get("variant", ""))
    return ""


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
