"""Selftest: what became of answers whose verdict is known in advance, and the mark that this leaves on cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from evalharness.domain.finding import Finding
from evalharness.domain.grade import Judging
from evalharness.domain.record import Record

SelftestVerdict = Literal["SOUND", "UNSOUND", "NOT PROVABLE", "INVALID"]
"""NOT PROVABLE: nothing says what a right answer is. INVALID: not everything could be graded."""


class Selftest(Record):
    """`answers` is how many wrong answers were graded; `provable` how many cases a right answer is known for."""

    suite_name: str
    source: str = ""
    """How it is named on a command line: its file, or its own name."""
    tested_at: str
    verdict: SelftestVerdict
    exit_code: int
    cases: int
    provable: int
    answers: int
    unsound: tuple[Finding, ...] = ()
    """Each names its case, and the graders that let a wrong answer through or fail the right one."""
    notes: tuple[Finding, ...] = ()
    judging: tuple[Judging, ...] = ()
    """What judges took, by model."""


class CaseMark(Record):
    """What a selftest found about a case. `key` is that of its lock: it changes with the case and its graders."""

    case_id: str
    key: str
    tested_at: str
    unsound: tuple[Finding, ...] = ()


class SelftestMark(Record):
    """Of a run: how many of its cases were tested just as they are, when last, and what is unsound about them."""

    tested_at: str
    cases: int
    unsound: tuple[Finding, ...] = ()


def mark_of(keys: Mapping[str, str], marks: Iterable[CaseMark]) -> SelftestMark | None:
    """`keys` are those of a run's cases; None where none of them was tested as it is."""
    known = {mark.case_id: mark for mark in marks if keys.get(mark.case_id) == mark.key}
    if not known:
        return None
    return SelftestMark(
        tested_at=max(mark.tested_at for mark in known.values()),
        cases=len(known),
        unsound=tuple(found for case_id in keys if case_id in known for found in known[case_id].unsound),
    )
