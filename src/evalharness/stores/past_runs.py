"""Past runs of a suite: which targets they tried, what they asked, and how it went, in counts. No suite is built."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from evalharness.domain.run import CaseLock
from evalharness.stores.encoding import unpack
from evalharness.stores.sqlite import Database

_AFTER_ALL = 2**62


@dataclass(frozen=True, slots=True)
class PastRun:
    """`kind` is its target's, `target` its digest.

    `locks` says of each case what was asked, who judged, and which target of its own it has, by digest, as it is
    stored: without what is empty.
    """

    id: str
    name: str
    planned: int
    variant: str
    kind: str
    target: str
    is_sequential: bool
    locks: dict[str, Any]

    def key(self, case_id: str) -> str:
        lock = self.locks.get(case_id)
        return CaseLock.joined(lock["case"], lock["graders"]) if lock else ""


def read_past_runs(database: Database, suite_name: str, before: str) -> Iterator[PastRun]:
    """Newest first: those of a suite that asked anew and came to their end, before a run; all, where that is not here.

    Read one by one, since whoever asks stops when they know enough.
    """
    sql = (
        "SELECT seq, id, name, planned, body FROM runs WHERE suite_name = ? AND seq < ? "
        "AND regrade_of = '' AND finished_at IS NOT NULL ORDER BY seq DESC LIMIT 1"
    )
    known = database.read("SELECT seq FROM runs WHERE id = ?", (before,))
    seq = known[0][0] if known else _AFTER_ALL
    while rows := database.read(sql, (suite_name, seq)):
        seq, *about = rows[0]
        yield from _past_run(*about)


def read_judged(database: Database, seq: int) -> dict[str, tuple[int, int]]:
    """By case: how many first answers were judged, and how many of them passed."""
    rows = database.read(
        "SELECT case_id, COUNT(*), SUM(CASE WHEN first_state = 'passed' THEN 1 ELSE 0 END) FROM trials "
        "WHERE run_seq = ? AND first_state IN ('passed', 'failed') GROUP BY case_id",
        (seq,),
    )
    return {case_id: (judged, passed) for case_id, judged, passed in rows}


def _past_run(run_id: str, name: str, planned: int, body: bytes) -> Iterator[PastRun]:
    """One that is damaged, or that another version wrote, has nothing to say: no new run may break because of it."""
    with suppress(ValueError, LookupError, TypeError, AttributeError, zlib.error):
        run = from_json(unpack(body))
        lock, is_sequential = run["lock"], bool(run.get("options", {}).get("sequential"))
        variant, kind = run.get("variant", ""), run["target"]["kind"]
        yield PastRun(run_id, name, planned, variant, kind, lock["target"], is_sequential, lock["cases"])
