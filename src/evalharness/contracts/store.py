"""The store: runs with their trials, baselines, suites, verdicts of judges, spending, and reviews by people.

It consists of small protocols, so that a part can name what it needs, and of `Store`, which combines them; a store
inherits from `Store`. Every method may be called from several threads at once. `evalharness.testing.store.FakeStore` is
the smallest implementation; `evalharness.testing.store_contract.StoreContract` tests this contract.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol, get_args

from evalharness.contracts.review_store import ReviewStore
from evalharness.contracts.run_pages import RunPages
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory
from evalharness.domain.exchange import Exchange
from evalharness.domain.gate import Gate
from evalharness.domain.job import Job, JobState
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.selftest import CaseMark
from evalharness.domain.stored import (
    Baseline,
    CacheLine,
    PastRun,
    RegisteredSuite,
    RunEnd,
    RunLine,
    RunLink,
    RunOutline,
    SuiteLine,
)
from evalharness.domain.trial import Outcome, Trial
from evalharness.redaction import Redactor
from evalharness.settings import Settings
from evalharness.values.json_value import Json

FEWEST_WHOLE = 2
"""Of so many runs at least, `outlines` reads the cases: it takes two to see what moved."""
MEMORY = ":memory:"
"""The place of a store that is lost when its process ends."""


class RunStore(Protocol):
    """Runs. A `reference` is the id or the name of a run. Every method raises UnknownName if there is no such run."""

    @abstractmethod
    def add_runs(self, runs: Iterable[Run], suites: Iterable[RegisteredSuite] = ()) -> list[Run]:
        """Store new runs together, each with a new id and name, and register the suites they came from.

        A run that has an id or a name keeps it. All of them or none. Raises UsageError for an id or a name that another
        run has, and for a case id with a secret in it: rows are found by case id, so an id is stored as it is or not at
        all.
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
        """While entered, no other process can run this run; raises RunBusy if one does.

        A claim ends when its process ends for any reason.
        """
        ...

    @property
    @abstractmethod
    def identity(self) -> str:
        """A random id that only this store has, wherever its file is moved."""
        ...

    @abstractmethod
    def is_claimed(self, run_id: str) -> bool:
        """Whether a process is running this run, which need not be in the store any more."""
        ...

    @abstractmethod
    def finish(
        self, run_id: str, report: Report, *, stopped: str, elapsed_s: float, judged: Iterable[tuple[Case, bool]] = ()
    ) -> str | None:
        """Store the report, which is derived from the trials, and why the run stopped early, if it did.

        Returns when the run was finished, or None while trials are pending.

        `judged` (each case that passed or failed) is added to the histories when the run is finished for the first
        time.
        """
        ...

    @abstractmethod
    def progress(self, run_id: str) -> tuple[str, float]:
        """Why the run stopped last time, and how many seconds it has run in total."""
        ...

    @abstractmethod
    def remove_run(self, run: Run) -> None:
        """Remove a run with its trials. Raises RunBusy, and UsageError for a baseline, which later runs need."""
        ...

    @abstractmethod
    def find_run(self, reference: str) -> Run: ...

    @abstractmethod
    def newest_run(self, *, suite_name: str | None = None, unfinished: bool = False) -> Run | None:
        """The newest run. `unfinished` means that planned trials have no row yet; a regrade never is unfinished."""
        ...

    @abstractmethod
    def nth_newest(self, position: int, suite_name: str | None = None) -> str | None:
        """The id of the newest run (1), of the one started before it (2), …; regrades do not count."""
        ...

    @abstractmethod
    def newest_runs(self, suite_name: str, limit: int) -> list[Run]:
        """The newest runs, newest first."""
        ...

    @abstractmethod
    def runs_before(self, moment: str) -> list[Run]:
        """The runs created earlier, oldest first."""
        ...

    @abstractmethod
    def matrix(self, matrix_id: str) -> list[Run]:
        """The runs that one command started together, in order."""
        ...

    @abstractmethod
    def ends(self, matrix_id: str) -> list[RunEnd]:
        """How each run of a matrix last came to a stop, in order; fast even for a hundred thousand cases."""
        ...

    @abstractmethod
    def list_runs(self, limit: int, suite_name: str | None = None, before: str = "") -> list[RunLine]:
        """The newest runs, of one suite or of all, newest first; `before` is the id of a run that they are older than.

        Raises UnknownName if there is no such run.
        """
        ...

    @abstractmethod
    def count_runs(self, suite_name: str | None = None) -> int:
        """How many runs `list_runs` would list without a limit."""
        ...

    @abstractmethod
    def outline(self, reference: str) -> RunOutline:
        """A run without its suite, which is fast even for a hundred thousand cases."""
        ...

    @abstractmethod
    def outlines(self, suite_name: str, most_cases: int | None = None) -> Iterator[RunOutline]:
        """The runs of a suite, finished or not; newest first.

        Once `most_cases` have been read, but of two runs at least, the reports of the others come without theirs.

        Regrades and replays are left out: they look at old answers again.

        Read as they are asked for: whoever wants the newest ones does not pay for the others.
        """
        ...

    @abstractmethod
    def gate_of(self, run_id: str) -> Gate | None: ...

    @abstractmethod
    def runs_since(self, suite_name: str, run_id: str = "") -> list[RunLink]:
        """The runs of a suite after a run, newest first, without regrades; all if that run is not in this store."""
        ...

    @abstractmethod
    def past_run(self, run_id: str) -> PastRun | None:
        """A run by its id, quickly; None for a regrade, and for one that is unreadable or not there."""
        ...

    @abstractmethod
    def past_runs(self, suite_name: str, before: str = "") -> Iterator[PastRun]:
        """Finished runs of a suite, newest first, without regrades and replays: those before a run, or all.

        Unreadable runs are left out.
        """
        ...

    @abstractmethod
    def variants(self, suite_name: str, most: int) -> set[str]:
        """The variants of the newest such runs, at most `most` runs; fast even for large suites.

        An unreadable run counts as an empty text.
        """
        ...

    @abstractmethod
    def recorded_runs(self, suite_name: str) -> list[tuple[str, str]]:
        """The id and the variant of the newest runs that recorded their exchanges, newest first."""
        ...

    @abstractmethod
    def suite_names(self) -> list[str]:
        """The names of the suites of all runs."""
        ...


class TrialStore(Protocol):
    """Trials. A trial is finished when it is committed. They are always read in the order of case and index."""

    @abstractmethod
    def put(self, run_id: str, trial: Trial) -> None:
        """Queue a finished trial; it is committed within about 20 ms. An existing row is kept."""
        ...

    @abstractmethod
    def replace_unfinished(self, run_id: str, trial: Trial) -> None:
        """Queue a trial like `put`; it replaces one that ended in `error` or awaits a grade."""
        ...

    @abstractmethod
    def put_reviewed(self, run_id: str, trial: Trial) -> None:
        """Queue a trial in place of the one that is there: the same, with other grades by people."""
        ...

    @abstractmethod
    def flush(self) -> None:
        """Return once everything queued so far is committed; raises StoreError if that failed."""
        ...

    @property
    @abstractmethod
    def backlog(self) -> int:
        """The number of trials that are not committed yet."""
        ...

    @abstractmethod
    def trials(self, run_id: str, case_id: str | None = None) -> Iterator[Trial]:
        """The trials of a run, or of one of its cases, with all their attempts."""
        ...

    @abstractmethod
    def exchanges(self, run_id: str, case_ids: Sequence[str], index: int) -> dict[str, list[Exchange]]:
        """By case: what was recorded of the trial with this index, in order; cases without any are left out.

        A trial and its exchanges are committed together.
        """
        ...

    @abstractmethod
    def outcomes(self, run_id: str) -> Iterator[Outcome]:
        """The trials without their transcripts."""
        ...

    @abstractmethod
    def judged(self, run_id: str) -> dict[str, tuple[int, int]]:
        """By case: how many first answers were judged, and how many of them passed."""
        ...


class BaselineStore(Protocol):
    @abstractmethod
    def set_baseline(self, run_id: str, name: str, added: Sequence[str] = ()) -> Baseline:
        """Make this run a baseline of its suite, which replaces an earlier one with this name.

        `added` are further runs of the suite that belong to it.
        """
        ...

    @abstractmethod
    def add_to_baseline(self, suite_name: str, name: str, run_id: str) -> Baseline:
        """Add a run, unless it already belongs to the baseline. Raises UnknownName if there is no such baseline."""
        ...

    @abstractmethod
    def baselines(self, suite_name: str | None = None) -> list[Baseline]:
        """The baselines of one suite or of all, the last one set first."""
        ...

    @abstractmethod
    def baseline(self, suite_name: str, name: str) -> Baseline | None: ...

    @abstractmethod
    def baseline_of(self, run_id: str) -> Baseline | None:
        """The last baseline set that contains this run."""
        ...

    @abstractmethod
    def remove_baseline(self, suite_name: str, name: str) -> bool:
        """Remove the name but not the run; False if there was none."""
        ...


class SuiteStore(Protocol):
    @abstractmethod
    def register_suites(self, suites: Iterable[RegisteredSuite]) -> None:
        """Store each suite under its name; it replaces an earlier one with this name."""
        ...

    @abstractmethod
    def registered_suites(self) -> list[SuiteLine]:
        """The registered suites, by name."""
        ...

    @abstractmethod
    def registered_suite(self, name: str) -> RegisteredSuite | None: ...

    @abstractmethod
    def case_histories(self, suite_name: str, target: str) -> dict[str, CaseHistory]:
        """By case id, for the cases of a suite that have been judged at least once on this target.

        A target is known by the variant that its reports name.
        """
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
    """Verdicts by key, so that the same one is not paid for twice. Errors are never cached."""

    async def get(self, key: str) -> Json: ...

    async def set(self, key: str, value: Json) -> None: ...

    async def has(self, key: str) -> bool: ...

    async def clear(self) -> None: ...


class VerdictStore(JudgeCache, Protocol):
    """The judge cache of a store. It also finds verdicts that are not committed yet."""

    @abstractmethod
    def remove(self, before: str = "") -> int:
        """Remove all verdicts, or those stored before a moment; returns how many."""
        ...

    @abstractmethod
    def line(self) -> CacheLine: ...


class BudgetStore(Protocol):
    """The spending of capped runs, stored while they run, so that a cap stays reached even if the process ends.

    The trials are not enough, because unfinished trials have no row. A budget has the id of its run, or of all runs
    that one command started; it is removed with the last of them.
    """

    @abstractmethod
    def record_spent(self, budget_id: str, cost_usd: float, tokens: int) -> None:
        """Queue a new total, which replaces the earlier one."""
        ...

    @abstractmethod
    def spent(self, budget_id: str) -> tuple[float, int]:
        """Dollars and tokens; 0 if nothing was recorded."""
        ...


class JobStore(Protocol):
    """The jobs of servers, by the id of their (first) run. A job goes when its run is removed."""

    @abstractmethod
    def put(self, job: Job, was: JobState | None = None) -> bool:
        """Store a job whose stored state is still `was`; None for one that must not be there yet.

        Returns whether it was stored, so that two who change a job at the same time do not overwrite each other.
        """
        ...

    @abstractmethod
    def find(self, run_id: str) -> Job | None: ...

    @abstractmethod
    def listed(self, states: Collection[JobState] = get_args(JobState)) -> list[Job]:
        """The jobs in one of these states, in the order in which they were first stored."""
        ...

    @abstractmethod
    def remove(self, run_id: str) -> None:
        """Remove a job, if it is there."""
        ...


class Store(RunStore, TrialStore, RunPages, BaselineStore, SuiteStore, BudgetStore, Protocol):
    """The whole store, seen through one redactor: everything written, and every name looked up, is redacted.

    A store is shared, but the secrets of its runs are not, so each command gets its own view from `redacting`.
    """

    @classmethod
    @abstractmethod
    def open(cls, place: str, settings: Settings, clock: Callable[[], datetime]) -> Store:
        """The store named `NAME:PLACE`. The first run creates it if it does not exist."""
        ...

    @property
    @abstractmethod
    def redactor(self) -> Redactor: ...

    @property
    @abstractmethod
    def judge_cache(self) -> VerdictStore: ...

    @property
    @abstractmethod
    def jobs(self) -> JobStore: ...

    @property
    @abstractmethod
    def reviews(self) -> ReviewStore: ...

    @abstractmethod
    def redacting(self, redactor: Redactor) -> Store:
        """The same store with another redactor. It is closed together with this one."""
        ...

    @abstractmethod
    def compact(self) -> None:
        """Release the space of removed runs."""
        ...

    @abstractmethod
    def close(self) -> None:
        """Commit pending rows. Afterwards nothing can be read or written, in any view."""
        ...
