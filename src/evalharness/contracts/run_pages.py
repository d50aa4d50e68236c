"""RunPages: what a store says of a run page by page, as quickly of a hundred thousand cases as of ten."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Protocol

from evalharness.domain.case_line import CaseLabels, CaseLine, CasePage, CaseQuery, ChangeKey, TrialChange
from evalharness.domain.run import Run
from evalharness.domain.stored import RunOverview, RunRevision
from evalharness.domain.trial import Outcome, Trial


class RunPages(Protocol):
    """A run that is under way is read as it is now. Whatever names a run raises UnknownName if there is no such run."""

    @abstractmethod
    def overview(self, reference: str) -> RunOverview:
        """A run with the beginning of its report, by its id or its name."""
        ...

    @abstractmethod
    def overview_page(self, limit: int, suite_name: str | None = None, before: str = "") -> list[RunOverview]:
        """What `list_runs` lists, with the beginning of each report."""
        ...

    @abstractmethod
    def revisions(self, suite_name: str) -> tuple[RunRevision, ...]:
        """Of all runs of a suite, from the first on; empty where it has none."""
        ...

    @abstractmethod
    def part_of(self, run_id: str, case_ids: Collection[str] = ()) -> Run:
        """The run as if its suite had these cases alone, in the suite's order; without its report and its locks."""
        ...

    @abstractmethod
    def case_page(self, run_id: str, query: CaseQuery) -> CasePage: ...

    @abstractmethod
    def case_line(self, run_id: str, case_id: str) -> CaseLine | None: ...

    @abstractmethod
    def median_latencies(self, run_id: str, case_ids: Sequence[str]) -> dict[str, float]:
        """The median duration of the judged trials of each of these cases that has one."""
        ...

    @abstractmethod
    def case_labels(self, run_id: str) -> CaseLabels: ...

    @abstractmethod
    def outcome_page(
        self, run_id: str, limit: int, after: tuple[str, int] = ("", -1), case_id: str | None = None
    ) -> list[Outcome]:
        """The trials after a case and an index, of the run or of one case, without their transcripts."""
        ...

    @abstractmethod
    def trial(self, run_id: str, case_id: str, index: int) -> Trial | None:
        """One trial with all its attempts; None where it is not finished."""
        ...

    @abstractmethod
    def changes(self, run_id: str, after: ChangeKey, limit: int) -> list[TrialChange]:
        """Trials in the order in which their rows were last written."""
        ...
