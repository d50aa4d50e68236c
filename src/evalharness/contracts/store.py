"""The store: runs with their trials, baselines, suites, verdicts of judges and what budgets have paid.

A few small protocols, so that a part names what it needs, and `Store`, which is all of them; a store inherits from
`Store`. Every method may be called from several threads at once. `evalharness.testing.store.FakeStore` is the smallest
implementation, `evalharness.testing.store_contract.StoreContract` tests what is promised here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory
from evalharness.domain.gate import Gate
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.selftest import CaseMark
from evalharness.domain.stored import (
    Baseline,
    CacheLine,
    PastRun,
    RegisteredSuite,
    RunLine,
    RunLink,
    RunOutline,
    SuiteLine,
)
from evalharness.domain.trial import Outcome, Trial
from evalharness.redaction import Redactor
from evalharness.settings import Settings
from evalharness.values.json_value import Json

MEMORY = ":memory:"
"""The place of a store that ends with its process."""


class RunStore(Protocol):
    """Runs. A `reference` is the id or the name of one. Where there is none, every method raises UnknownName."""

    @abstractmethod
    def add_runs(self, runs: Iterable[Run], suites: Iterable[RegisteredSuite] = ()) -> list[Run]:
        """Store new runs together, each under an id and a name of its own, and register the suites they came from.

        A run that has a name keeps it. All of them or none. Raises UsageError for a name that another run has, and for
        a case id with a secret in it: rows are found by case id, so an id is stored as it is or not at all.
        """
        ...

    @abstractmethod
    def regrading(self, regrades: Iterable[Run]) -> AbstractContextManager[list[Run]]:
        """Store regrades together and claim them while it is entered: all of them or none, however the process ends.

        They are found only once each has been finished. Where an exception leaves the context they are removed; what
        a killed process left is removed by the next regrade.
        """
        ...

    @abstractmethod
    def claim(self, run: Run) -> AbstractContextManager[None]:
        """While it is entered, nobody else runs this run; raises RunBusy when somebody does.

        A claim ends with its process, however that ends.
        """
        ...

    @abstractmethod
    def finish(
        self, run_id: str, report: Report, *, stopped: str, elapsed_s: float, judged: Iterable[tuple[Case, bool]] = ()
    ) -> None:
        """Keep the report, which is derived from the trials, and why the run stopped before its end, if it did.

        `judged` (each case that passed or failed) enters the histories when the run is finished for the first time.
        """
        ...

    @abstractmethod
    def progress(self, run_id: str) -> tuple[str, float]:
        """Why the run stopped last time, and for how many seconds it has run in all."""
        ...

    @abstractmethod
    def remove_run(self, run: Run) -> None:
        """With its trials. Raises RunBusy, and UsageError for a baseline: later runs could not be compared with it."""
        ...

    @abstractmethod
    def find_run(self, reference: str) -> Run: ...

    @abstractmethod
    def newest_run(self, *, suite_name: str | None = None, unfinished: bool = False) -> Run | None:
        """`unfinished` means that planned trials have no row yet; a regrade has nothing that could be run."""
        ...

    @abstractmethod
    def newest_runs(self, suite_name: str, limit: int) -> list[Run]:
        """Newest first."""
        ...

    @abstractmethod
    def runs_before(self, moment: str) -> list[Run]:
        """Those created earlier, oldest first."""
        ...

    @abstractmethod
    def matrix(self, matrix_id: str) -> list[Run]:
        """The runs that one command started together, in order."""
        ...

    @abstractmethod
    def list_runs(self, limit: int) -> list[RunLine]:
        """Newest first."""
        ...

    @abstractmethod
    def outline(self, reference: str) -> RunOutline:
        """A run without building its suite: quick, also where that has a hundred thousand cases."""
        ...

    @abstractmethod
    def gate_of(self, run_id: str) -> Gate | None: ...

    @abstractmethod
    def runs_since(self, suite_name: str, run_id: str = "") -> list[RunLink]:
        """Of a suite, newest first, without regrades: those after a run; all, where that is not in this store."""
        ...

    @abstractmethod
    def past_runs(self, suite_name: str, before: str = "") -> Iterator[PastRun]:
        """Finished runs of a suite, newest first, without regrades: those before a run, or all.

        Those that cannot be read are left out.
        """
        ...

    @abstractmethod
    def variants(self, suite_name: str, most: int) -> set[str]:
        """What the newest of those runs were tried on, at most so many of them: quick, however large their suites are.

        Of a run that cannot be read, an empty text.
        """
        ...

    @abstractmethod
    def suite_names(self) -> list[str]:
        """Of all runs."""
        ...


class TrialStore(Protocol):
    """Trials. One is finished when it is committed. All are read in the order of case and index."""

    @abstractmethod
    def put(self, run_id: str, trial: Trial) -> None:
        """Queue a finished trial; it is committed within about 20 ms. One that already has a row keeps that row."""
        ...

    @abstractmethod
    def replace_unfinished(self, run_id: str, trial: Trial) -> None:
        """Queue a trial like `put`; it takes the place of one that ended in `error` or awaits a grade."""
        ...

    @abstractmethod
    def flush(self) -> None:
        """Return once everything queued before is committed; raises StoreError where that failed."""
        ...

    @property
    @abstractmethod
    def backlog(self) -> int:
        """How many trials wait to be committed."""
        ...

    @abstractmethod
    def trials(self, run_id: str, case_id: str | None = None) -> Iterator[Trial]:
        """With all their attempts: of a run, or of one of its cases."""
        ...

    @abstractmethod
    def outcomes(self, run_id: str) -> Iterator[Outcome]:
        """Without their transcripts."""
        ...

    @abstractmethod
    def judged(self, run_id: str) -> dict[str, tuple[int, int]]:
        """By case: how many first answers were judged, and how many of them passed."""
        ...


class BaselineStore(Protocol):
    @abstractmethod
    def set_baseline(self, run_id: str, name: str, added: Sequence[str] = ()) -> Baseline:
        """Later runs of its suite are compared with this one, in place of what had this name before.

        `added` are further runs of the suite that belong to it.
        """
        ...

    @abstractmethod
    def add_to_baseline(self, suite_name: str, name: str, run_id: str) -> Baseline:
        """One run more; the same where it belongs to it already. Raises UnknownName where there is no such baseline."""
        ...

    @abstractmethod
    def baselines(self, suite_name: str | None = None) -> list[Baseline]:
        """The last one set comes first: of one suite, or of all."""
        ...

    @abstractmethod
    def baseline(self, suite_name: str, name: str) -> Baseline | None: ...

    @abstractmethod
    def baseline_of(self, run_id: str) -> Baseline | None:
        """The last one set to which this run belongs."""
        ...

    @abstractmethod
    def remove_baseline(self, suite_name: str, name: str) -> bool:
        """The name only: the run stays. False where there was none."""
        ...


class SuiteStore(Protocol):
    @abstractmethod
    def register_suites(self, suites: Iterable[RegisteredSuite]) -> None:
        """Keep each under its name, in place of the one that had this name before."""
        ...

    @abstractmethod
    def registered_suites(self) -> list[SuiteLine]:
        """By name."""
        ...

    @abstractmethod
    def registered_suite(self, name: str) -> RegisteredSuite | None: ...

    @abstractmethod
    def case_histories(self, suite_name: str) -> dict[str, CaseHistory]:
        """By case id, for the cases of a suite that have been judged at least once."""
        ...

    @abstractmethod
    def mark_cases(self, suite_name: str, marks: Iterable[CaseMark]) -> None:
        """Keep what a selftest found, in place of what an earlier one found about the same cases and graders."""
        ...

    @abstractmethod
    def case_marks(self, suite_name: str) -> list[CaseMark]:
        """Of all versions of the suite's cases, in the order of case and key."""
        ...


class JudgeCache(Protocol):
    """Verdicts by key, so that nobody pays twice for the same one. Faults are never kept."""

    async def get(self, key: str) -> Json: ...

    async def set(self, key: str, value: Json) -> None: ...

    async def has(self, key: str) -> bool: ...

    async def clear(self) -> None: ...


class VerdictStore(JudgeCache, Protocol):
    """The judge cache of a store. A verdict that waits to be committed is found as well."""

    @abstractmethod
    def remove(self, before: str = "") -> int:
        """All verdicts, or those kept before a moment; returns how many."""
        ...

    @abstractmethod
    def line(self) -> CacheLine: ...


class BudgetStore(Protocol):
    """What capped runs have spent, kept while they spend it: a cap that was reached stays reached, whatever ends a
    process. The trials say less: what a trial cost that was never finished is in no row of theirs.

    A budget has the id of its run, or of all runs that one command started; it goes with the last of them.
    """

    @abstractmethod
    def record_spent(self, budget_id: str, cost_usd: float, tokens: int) -> None:
        """Queue a new sum, in place of the former one."""
        ...

    @abstractmethod
    def spent(self, budget_id: str) -> tuple[float, int]:
        """Dollars and tokens; nothing where nothing was recorded."""
        ...


class Store(RunStore, TrialStore, BaselineStore, SuiteStore, BudgetStore, Protocol):
    """Everything, seen with one redactor: whatever is written, and every name that is looked up, goes through it.

    A store is shared, and the secrets of its runs are not: each command gets a view of its own from `redacting`.
    """

    @classmethod
    @abstractmethod
    def open(cls, place: str, settings: Settings, clock: Callable[[], datetime]) -> Store:
        """The store that `NAME:PLACE` names. One that is not there yet is made by the first run."""
        ...

    @property
    @abstractmethod
    def redactor(self) -> Redactor: ...

    @property
    @abstractmethod
    def judge_cache(self) -> VerdictStore: ...

    @abstractmethod
    def redacting(self, redactor: Redactor) -> Store:
        """The same store, seen with another redactor. It is closed when this one is."""
        ...

    @abstractmethod
    def compact(self) -> None:
        """Give space back that removed runs have left."""
        ...

    @abstractmethod
    def close(self) -> None:
        """Commit what waits. Nothing can be read or written afterwards, in any view."""
        ...
