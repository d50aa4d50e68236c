"""The pages of the fake store: everything is read, and what is asked for is picked out."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter
from statistics import median
from typing import Any

from evalharness.contracts.run_pages import RunPages
from evalharness.domain.case_line import CaseLabels, CaseLine, CasePage, CaseQuery, ChangeKey, TrialChange
from evalharness.domain.run import Run
from evalharness.domain.stored import RunLine, RunOverview, RunRevision
from evalharness.domain.trial import GRADED, Outcome, Trial
from evalharness.testing.case_lines import line_of, page_of, tallies_of
from evalharness.testing.stored_run import StoredRun, run_outcome


class PagesOfRuns(RunPages):
    @abstractmethod
    def list_runs(self, limit: int, suite_name: str | None = None, before: str = "") -> list[RunLine]: ...

    @abstractmethod
    def trials(self, run_id: str, case_id: str | None = None) -> Iterator[Trial]: ...

    @abstractmethod
    def _run(self, run_id: str) -> StoredRun: ...

    @abstractmethod
    def _newest_first(self, suite_name: str | None = None) -> list[StoredRun]: ...

    @abstractmethod
    def _meant_by(self, reference: str) -> StoredRun: ...

    def overview(self, reference: str) -> RunOverview:
        return self._overview(self._meant_by(reference))

    def overview_page(self, limit: int, suite_name: str | None = None, before: str = "") -> list[RunOverview]:
        return [self._overview(self._run(line.id)) for line in self.list_runs(limit, suite_name, before)]

    def _overview(self, run: StoredRun) -> RunOverview:
        about = (run.line(), run.matrix_id, run.stopped, run.elapsed_s, run.brief, run.changed)
        return RunOverview(*about, run.kept_at == run.changed, tallies_of(self._case_lines(run.id)))

    def revisions(self, suite_name: str) -> tuple[RunRevision, ...]:
        return tuple(run.revision() for run in reversed(self._newest_first(suite_name)))

    def median_latencies(self, run_id: str, case_ids: Sequence[str]) -> dict[str, float]:
        durations: dict[str, list[float]] = defaultdict(list)
        for row in self._run(run_id).rows():
            if row["state"] in GRADED and row["case_id"] in case_ids:
                durations[row["case_id"]].append(row["duration_s"])
        return {case_id: median(found) for case_id, found in durations.items()}

    def part_of(self, run_id: str, case_ids: Collection[str] = ()) -> Run:
        run = self._run(run_id).whole()
        cases = tuple(case for case in run.suite.cases if case.id in case_ids)
        suite, lock = (run.suite.model_copy(update={"cases": cases}), run.lock.model_copy(update={"cases": {}}))
        return run.model_copy(update={"suite": suite, "lock": lock, "report": None})

    def case_page(self, run_id: str, query: CaseQuery) -> CasePage:
        return page_of(self._case_lines(run_id), query)

    def case_line(self, run_id: str, case_id: str) -> CaseLine | None:
        return next((line for line in self._case_lines(run_id) if line.case_id == case_id), None)

    def case_labels(self, run_id: str) -> CaseLabels:
        lines = self._case_lines(run_id)
        categories, tags = {line.category for line in lines} - {""}, {tag for line in lines for tag in line.tags}
        return CaseLabels(tuple(sorted(categories)), tuple(sorted(tags)))

    def _case_lines(self, run_id: str) -> list[CaseLine]:
        stored = self._run(run_id)
        run = stored.whole()
        rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in stored.rows():
            rows[row["case_id"]].append(row)
        return [line_of(run, position, rows[case.id]) for position, case in enumerate(run.suite.cases)]

    def outcome_page(
        self, run_id: str, limit: int, after: tuple[str, int] = ("", -1), case_id: str | None = None
    ) -> list[Outcome]:
        first = after if case_id is None else (case_id, after[1])
        keys = sorted(key for key in self._run(run_id).trials if key > first and case_id in (None, key[0]))
        return [run_outcome(self._run(run_id).trials[key]) for key in keys[:limit]]

    def trial(self, run_id: str, case_id: str, index: int) -> Trial | None:
        return next((trial for trial in self.trials(run_id, case_id) if trial.index == index), None)

    def changes(self, run_id: str, after: ChangeKey, limit: int) -> list[TrialChange]:
        found = [TrialChange(row["change"], run_outcome(row)) for row in self._run(run_id).trials.values()]
        return sorted((each for each in found if each.key > after), key=attrgetter("key"))[:limit]
