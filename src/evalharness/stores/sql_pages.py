"""A run in SQL, read page by page: its lines as they were kept when it came to a stop, else from its trials.

A run that an earlier version stored has no parts yet: they are made when it is first asked for, once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from sqlite3 import Connection
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from evalharness.contracts.run_pages import RunPages
from evalharness.domain.case_line import (
    CaseLabels,
    CaseLine,
    CasePage,
    CaseQuery,
    CaseTally,
    ChangeKey,
    TrialChange,
)
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.stored import RunLine, RunOverview, RunRevision
from evalharness.domain.trial import Outcome, Trial
from evalharness.stores import case_statements, statements
from evalharness.stores.case_statements import LineSource
from evalharness.stores.columns import TALLIES
from evalharness.stores.decoding import Decoder
from evalharness.stores.dialect import AFTER_ALL_ROWS, marks
from evalharness.stores.encoding import CASES_PER_PART, FRAME, asked_rows, run_parts
from evalharness.stores.sqlite import Database


class _Shape(NamedTuple):
    """How a run is laid out: the values of `case_statements.SHAPE`."""

    seq: int
    name: str
    planned: int
    trials: int
    threshold: float
    lines_change: int | None
    last_change: int

    @property
    def is_current(self) -> bool:
        return self.lines_change == self.last_change

    def from_trials(self, case_ids: Sequence[str] | None = None) -> LineSource:
        return LineSource.from_trials(
            self.seq, self.trials, self.threshold, None if case_ids is None else tuple(case_ids)
        )

    def sorting(self, query: CaseQuery) -> LineSource:
        return LineSource.sorting(self.seq, self.trials, self.threshold, query)


class SqlRunPages(RunPages):
    """The part of a store that reads pages. It has no state of its own."""

    _database: Database
    _decoder: Decoder

    @abstractmethod
    def find_run(self, reference: str) -> Run: ...

    @abstractmethod
    def _run_id(self, reference: str) -> str: ...

    @abstractmethod
    def _clean(self, text: str) -> str: ...

    @abstractmethod
    def _of_run(self, sql: str, run_id: str) -> tuple[Any, ...]: ...

    # Overviews

    def overview(self, reference: str) -> RunOverview:
        return self._overview(self._of_run(statements.OVERVIEW, self._run_id(reference)))

    def overview_page(self, limit: int, suite_name: str | None = None, before: str = "") -> list[RunOverview]:
        rows = self._database.read(statements.OVERVIEWS, (*self._listed(suite_name, before), limit))
        return list(map(self._overview, rows))

    def list_runs(self, limit: int, suite_name: str | None = None, before: str = "") -> list[RunLine]:
        rows = self._database.read(statements.LINES_OF_RUNS, (*self._listed(suite_name, before), limit))
        return [self._line(row)[0] for row in rows]

    def revisions(self, suite_name: str) -> tuple[RunRevision, ...]:
        rows = self._database.read(statements.REVISIONS, (self._clean(suite_name),))
        return tuple(
            RunRevision(run_id, finished_at, stopped, kept_change, bool(is_current))
            for run_id, finished_at, stopped, kept_change, is_current in rows
        )

    def _listed(self, suite_name: str | None, before: str) -> tuple[str | None, str | None, int]:
        name = None if suite_name is None else self._clean(suite_name)
        return name, name, int(self._of_run(statements.FIND_SEQ, before)[0]) if before else AFTER_ALL_ROWS

    def _overview(self, row: Sequence[Any]) -> RunOverview:
        matrix_id, stopped, elapsed_s, *of_line = row
        tallies, lines_change, last_change = of_line[-3:]
        line, report = self._line(of_line)
        is_current = lines_change == last_change
        known = TALLIES.validate_json(tallies) if tallies and is_current else self._tallies(line.id)
        return RunOverview(line, matrix_id, stopped, elapsed_s, report, last_change, is_current, known)

    def _tallies(self, run_id: str) -> tuple[CaseTally, ...]:
        shape = self._shape(run_id)
        source = shape.sorting(CaseQuery(sort="score")).tallies()
        return tuple(CaseTally(*row) for row in self._lines(source, shape))

    def _line(self, row: Sequence[Any]) -> tuple[RunLine, Report | None]:
        """The line of a run, with the beginning of its report."""
        seq, *about, head, brief, counts, _, lines_change, last_change = row
        name = about[1]
        report = self._decoder.report(brief, name) if brief else None
        is_counted = counts is not None and lines_change == last_change
        by_state = from_json(counts) if is_counted else self._states(seq, name)
        return self._decoder.line(about, head, report, by_state), report

    def _states(self, seq: int, run_name: str) -> dict[str, int]:
        return dict(self._database.read(statements.STATES, (seq,), whose=f"run {run_name}"))

    # Cases

    def part_of(self, run_id: str, case_ids: Collection[str] = ()) -> Run:
        shape = self._shape(run_id)
        starts = {FRAME}
        for case_id in case_ids:
            for (position,) in self._database.read(case_statements.POSITION, (shape.seq, case_id)):
                starts.add(position - position % CASES_PER_PART)
        frame, *cases = (self._part(shape, start) for start in sorted(starts))
        return self._decoder.part(shape.name, frame, cases, case_ids).model_copy(update=self._about(run_id))

    def _part(self, shape: _Shape, start: int) -> bytes:
        whose = f"run {shape.name}"
        for (body,) in self._database.read(case_statements.PART, (shape.seq, start), whose=whose):
            return bytes(body)
        raise self._decoder.damaged(f"{whose} lacks a part of its cases")

    def _about(self, run_id: str) -> dict[str, Any]:
        columns = ("id", "name", "matrix_id", "created_at", "finished_at")
        return dict(zip(columns, self._of_run(statements.ABOUT_RUN, run_id), strict=True))

    def case_page(self, run_id: str, query: CaseQuery) -> CasePage:
        shape = self._shape(run_id)
        if shape.is_current:
            kept = LineSource.kept(shape.seq)
            return CasePage(self._read_lines(kept.page(query), shape), self._total(kept, query, shape))
        source = shape.sorting(query) if query.asks_of_results else LineSource.asked(shape.seq)
        found = self._lines(source.page(query, case_statements.FOUND_COLUMNS), shape)
        total = found[0][1] if found else self._total(source, query, shape)
        ids = [case_id for case_id, _ in found]  # only of these all that their trials say is counted
        return CasePage(self._read_lines(shape.from_trials(ids).page(query.first_of_them), shape), total)

    def _total(self, source: LineSource, query: CaseQuery, shape: _Shape) -> int:
        if query.is_of_all:
            return shape.planned // shape.trials
        return int(self._lines(source.count(query), shape)[0][0])

    def _read_lines(self, source: LineSource, shape: _Shape) -> list[CaseLine]:
        return [self._decoder.case_line(row, shape.trials) for row in self._lines(source, shape)]

    def _lines(self, source: LineSource, shape: _Shape) -> list[Any]:
        return self._database.read(source.sql, source.values, whose=f"run {shape.name}")

    def case_line(self, run_id: str, case_id: str) -> CaseLine | None:
        shape = self._shape(run_id)
        for row in self._lines(shape.from_trials([case_id]).page(CaseQuery(limit=1)), shape):
            return self._decoder.case_line(row, shape.trials)
        return None

    def case_labels(self, run_id: str) -> CaseLabels:
        shape = self._shape(run_id)
        rows = self._database.read(case_statements.LABELS, (shape.seq,), whose=f"run {shape.name}")
        categories = {category for category, _ in rows} - {""}
        tags = {tag for written in {tags for _, tags in rows} for tag in from_json(written)}
        return CaseLabels(tuple(sorted(categories)), tuple(sorted(tags)))

    def _shape(self, run_id: str) -> _Shape:
        seq, name, planned, trials, threshold, *changes = self._of_run(case_statements.SHAPE, run_id)
        if trials is None or threshold is None:
            self._make_parts(run_id, seq)
            return self._shape(run_id)
        return _Shape(seq, name, planned, trials, threshold, *changes)

    def _make_parts(self, run_id: str, seq: int) -> None:
        """Of a run that an earlier version stored."""
        run = self.find_run(run_id)
        with self._database.transaction() as connection:
            if connection.execute(case_statements.SHAPE, (run_id,)).fetchone()[3] is None:
                add_parts(connection, seq, run)
                if run.finished_at:
                    keep_lines(connection, run_id)

    def median_latencies(self, run_id: str, case_ids: Sequence[str]) -> dict[str, float]:
        seq, name = self._of_run(statements.FIND_SEQ, run_id)
        sql = case_statements.MEDIANS.format(ids=marks(len(case_ids)))
        return dict(self._database.read(sql, (seq, *case_ids), whose=f"run {name}"))

    # Trials

    def outcome_page(
        self, run_id: str, limit: int, after: tuple[str, int] = ("", -1), case_id: str | None = None
    ) -> list[Outcome]:
        seq, name = self._of_run(statements.FIND_SEQ, run_id)
        sql = statements.page_of_trials(statements.OUTCOME_COLUMNS, of_case=case_id is not None)
        last = after if case_id is None else (case_id, after[1])
        return list(map(self._decoder.outcome, self._database.read(sql, (seq, *last, limit), whose=f"run {name}")))

    def trial(self, run_id: str, case_id: str, index: int) -> Trial | None:
        seq, name = self._of_run(statements.FIND_SEQ, run_id)
        for row in self._database.read(statements.READ_TRIAL, (seq, case_id, index), whose=f"run {name}"):
            return self._decoder.trial(row, name)
        return None

    def changes(self, run_id: str, after: ChangeKey, limit: int) -> list[TrialChange]:
        seq, name = self._of_run(statements.FIND_SEQ, run_id)
        rows = self._database.read(statements.CHANGES, (seq, *after, limit), whose=f"run {name}")
        return list(map(self._decoder.change, rows))


def add_parts(connection: Connection, seq: int, clean: Run) -> None:
    """What pages need of a run besides its trials."""
    connection.executemany(case_statements.ADD_PART, ((seq, *part) for part in run_parts(clean)))
    connection.executemany(case_statements.ADD_ASKED, asked_rows(seq, clean))
    connection.execute(case_statements.SET_SHAPE, (float(clean.suite.case_threshold), clean.lock.trials, seq))


def keep_lines(connection: Connection, run_id: str) -> None:
    """In the transaction in which a run comes to a stop. Does nothing for a run whose parts are not made yet."""
    shape = connection.execute(case_statements.SHAPE, (run_id,)).fetchone()
    if shape is None or shape[3] is None:
        return
    found = _Shape(*shape)
    lines = found.from_trials().insertion(found.seq)
    connection.execute(case_statements.REMOVE_LINES, (found.seq,))
    connection.execute(lines.sql, lines.values)
    counts = dict(connection.execute(statements.STATES, (found.seq,)).fetchall())
    summed = LineSource.kept(found.seq).tallies()
    tallies = connection.execute(summed.sql, summed.values).fetchall()
    values = (to_json(counts).decode(), to_json(tallies).decode(), found.seq)
    connection.execute(case_statements.LINES_ARE_CURRENT, values)
