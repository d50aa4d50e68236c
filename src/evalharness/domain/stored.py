"""What a store says of its runs, suites, baselines and verdicts without building them whole: lines, links, outlines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from evalharness.domain.case_line import CaseTally
from evalharness.domain.exchange import Mode
from evalharness.domain.measurement import Measurement
from evalharness.domain.report import Report
from evalharness.domain.run import CaseLock
from evalharness.domain.suite import Suite


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in a list; `counts` are its finished trials by state.

    `verdict` is empty, `pass_rate` and `cases` are None until it stops.
    """

    id: str
    name: str
    suite_name: str
    created_at: str
    finished_at: str | None
    planned: int
    regrade_of: str
    mode: Mode
    variant: str
    verdict: str
    pass_rate: Measurement | None
    counts: dict[str, int]
    cases: int | None = None

    @property
    def pending(self) -> int:
        return self.planned - sum(self.counts.values())

    def asked(self, names: Mapping[str, str]) -> str:
        """Who was asked: a target, unless this run grades or replays what another one got. `names`: of runs, by id."""
        if self.regrade_of:
            return f"regrade of {names.get(self.regrade_of, self.regrade_of)}"
        return f"{self.variant} ({self.mode})" if self.mode in ("replay", "auto") else self.variant


class RunLink(NamedTuple):
    """As much of a run as says which it is, and which others were started together with it."""

    id: str
    name: str
    matrix_id: str
    is_finished: bool


class RunEnd(NamedTuple):
    """Whether a run has come to an end: finished, or stopped early by something other than an interruption."""

    id: str
    name: str
    is_finished: bool
    stopped: str
    """Why it last stopped early; empty if it did not, or was killed."""

    @property
    def is_over(self) -> bool:
        return self.is_finished or self.stopped not in ("", "interrupted")


class RunRevision(NamedTuple):
    """As long as it stays the same, so does what was kept of a run when it last came to a stop.

    `is_current`: no trial has been written since, so that its trials are the same as well.
    """

    id: str
    finished_at: str | None
    stopped: str
    kept_change: int | None
    """The number of the trial written last, when it last came to a stop; None where it never did."""
    is_current: bool


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
    variant: str = ""


LONGEST_LIST = 100
"""In a report that is kept as a brief one: of each list that grows with the cases, its beginning."""


@dataclass(frozen=True, slots=True)
class RunOverview:
    """A run in a list with what its page begins with. `last_change` is the number of the trial written last.

    `report` is the one kept when the run last came to a stop, without its cases and with the beginning of each long
    list, or None where it never did. `is_current`: no trial has been written since.
    """

    line: RunLine
    matrix_id: str
    stopped: str
    elapsed_s: float
    report: Report | None
    last_change: int
    is_current: bool
    tallies: tuple[CaseTally, ...]


@dataclass(frozen=True, slots=True)
class PastRun:
    """A finished run: which target it tried and what it asked. `kind` is its target's, `target` its digest.

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

    @property
    def has_fresh_trials(self) -> bool:
        """Whether its target was asked; a run that grades stored artifacts looks at old answers again."""
        return self.kind != "artifact"

    def key(self, case_id: str) -> str:
        lock = self.locks.get(case_id)
        return CaseLock.joined(lock["case"], lock["graders"]) if lock else ""

    def own_target(self, case_id: str) -> str:
        """The digest of the case's own target; empty where it has none."""
        return str(self.locks.get(case_id, {}).get("target", ""))


@dataclass(frozen=True, slots=True)
class BaselineRun:
    run_id: str
    run_name: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run that later runs of its suite are compared with, under a name of its own in that suite.

    `added` are further runs of the same target that are compared with as well: together they show how runs vary.
    """

    suite_name: str
    name: str
    run_id: str
    run_name: str
    set_at: str
    added: tuple[BaselineRun, ...] = ()

    @property
    def runs(self) -> tuple[BaselineRun, ...]:
        """In the order in which they became part of it."""
        return BaselineRun(self.run_id, self.run_name), *self.added

    @property
    def run_ids(self) -> tuple[str, ...]:
        return tuple(run.run_id for run in self.runs)

    @property
    def run_names(self) -> str:
        return ", ".join(run.run_name for run in self.runs)


@dataclass(frozen=True, slots=True)
class RegisteredSuite:
    """`path` is empty for a suite that was built in Python; `format` is the one its file was recognised as."""

    suite: Suite
    root: str
    path: str = ""
    format: str = ""
    registered_at: str = ""


@dataclass(frozen=True, slots=True)
class SuiteLine:
    """A registered suite in a list, without its cases."""

    name: str
    cases: int
    path: str
    format: str
    registered_at: str


@dataclass(frozen=True, slots=True)
class CacheLine:
    """The cache of verdicts in one line; `oldest` is empty where there is none."""

    verdicts: int
    size_bytes: int
    oldest: str
