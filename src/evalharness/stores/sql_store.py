"""The store: runs and trials in SQL. Totals are never stored as truth; they are recomputed from trial rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

from evalharness.domain.case import Case
from evalharness.domain.history import CaseHistory
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.run_names import generate_run_id, generate_run_name
from evalharness.domain.trial import Outcome, Trial
from evalharness.errors import StoreError, UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.stores.claims import claimed
from evalharness.stores.encoding import (
    RUN_COLUMNS,
    TRIAL_COLUMNS,
    report_body,
    run_body,
    run_from,
    trial_from,
    trial_row,
)
from evalharness.stores.histories import add_verdicts, read_histories
from evalharness.stores.run_lines import RunLine, read_run_lines
from evalharness.stores.sqlite import MEMORY, Database
from evalharness.stores.suites import RegisteredSuite, SuiteLine, read_suite, read_suites, write_suite
from evalharness.stores.writing import GroupWriter

_RUN = f"SELECT {RUN_COLUMNS} FROM runs"
_ONCE = (
    f"INSERT INTO trials ({TRIAL_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (run_seq, case_id, idx) DO "
)
_INSERT = f"{_ONCE} NOTHING"
_MEND = (
    f"{_ONCE} UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in TRIAL_COLUMNS.split(", ")[3:])
    + " WHERE trials.state = 'error'"
)
_PAGE = 500
_PAGE_OF_BODIES = 20


class SqlStore:
    def __init__(self, place: str, *, redactor: Redactor, timeout_s: float = 30.0, rng: Random | None = None) -> None:
        self.place = place
        self.redactor = redactor
        self._rng = rng or Random()
        self._database = Database(place, timeout_s)
        self._writer = GroupWriter(self._commit_trials)
        self._seqs: dict[str, int] = {}

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._database.close()

    # Runs

    def add_runs(self, runs: Iterable[Run], suites: Iterable[RegisteredSuite] = ()) -> list[Run]:
        """Store new runs together, each under an id and a name of its own, and register the suites they came from."""
        planned = list(runs)
        for run in planned:
            self._check_case_ids(run)
        added: list[Run] = []
        matrix_id = ""
        with self._database.transaction() as connection:
            for run in planned:
                named = self._named(connection, run)
                matrix_id = matrix_id or named.id
                named = named.model_copy(update={"matrix_id": matrix_id})
                connection.execute(
                    "INSERT INTO runs (id, name, matrix_id, suite_name, created_at, planned, regrade_of, body) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        named.id,
                        named.name,
                        matrix_id,
                        self._clean(named.suite.name),
                        named.created_at,
                        named.planned_trials,
                        named.regrade_of,
                        run_body(named, self.redactor),
                    ),
                )
                added.append(named)
            for suite in suites:
                write_suite(connection, suite, timestamp(), self.redactor)
        return added

    def _named(self, connection: Any, run: Run) -> Run:
        now = datetime.now(UTC)
        for _ in range(1000):
            run_id, name = generate_run_id(now, self._rng), generate_run_name(self._rng)
            if not connection.execute("SELECT 1 FROM runs WHERE id = ? OR name = ?", (run_id, name)).fetchone():
                return run.model_copy(update={"id": run_id, "name": name})
        raise StoreError("no free run name was found", hint="remove old runs: eval-harness store prune")

    def _check_case_ids(self, run: Run) -> None:
        """Rows are found by case id, so an id is stored as it is or not at all."""
        for case in run.suite.cases:
            clean = self._clean(case.id)
            if clean != case.id:
                raise UsageError(
                    f"the case id '{clean}' holds the value of a secret, or half a character",
                    hint="rename the case, or unset the variable if its value is no secret",
                )

    def _clean(self, text: str) -> str:
        return self.redactor.redact(text.encode(errors="replace").decode())

    def find_run(self, reference: str) -> Run:
        """By id or name."""
        wanted = self._clean(reference)
        rows = self._database.read(f"{_RUN} WHERE id = ? OR name = ?", (wanted, wanted))
        if not rows:
            known = self._database.read("SELECT name FROM runs ORDER BY seq DESC LIMIT 50")
            raise UnknownName("run", reference, [name for (name,) in known])
        return run_from(rows[0])

    def newest_run(self, *, suite_name: str | None = None, unfinished: bool = False) -> Run | None:
        """`unfinished` means that planned trials have no row yet; a regrade has nothing that could be run."""
        conditions, values = ["1 = 1"], []
        if suite_name is not None:
            conditions.append("suite_name = ?")
            values.append(self._clean(suite_name))
        if unfinished:
            conditions.append("regrade_of = '' AND planned > (SELECT COUNT(*) FROM trials WHERE run_seq = runs.seq)")
        sql = f"{_RUN} WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT 1"
        rows = self._database.read(sql, values)
        return run_from(rows[0]) if rows else None

    def newest_runs(self, suite_name: str, limit: int) -> list[Run]:
        """Newest first."""
        sql = f"{_RUN} WHERE suite_name = ? ORDER BY seq DESC LIMIT ?"
        return [run_from(row) for row in self._database.read(sql, (self._clean(suite_name), limit))]

    def matrix(self, matrix_id: str) -> list[Run]:
        """The runs that one command started together, in order."""
        return [run_from(row) for row in self._database.read(f"{_RUN} WHERE matrix_id = ? ORDER BY seq", (matrix_id,))]

    def list_runs(self, limit: int) -> list[RunLine]:
        return read_run_lines(self._database, limit)

    def claim(self, run: Run) -> AbstractContextManager[None]:
        """While held, no other process runs this run; raises RunBusy when one does."""
        if self.place == MEMORY:
            return nullcontext()
        store = Path(self.place).resolve()
        return claimed(store.with_name(f"{store.name}-{run.id}.lock"), run.name)

    def finish(
        self, run_id: str, report: Report, *, stopped: str, elapsed_s: float, judged: Iterable[tuple[Case, bool]] = ()
    ) -> None:
        """Keep the report as a derived row, and why the run stopped before its end, if it did.

        `judged` (each case that passed or failed) enters the histories when the run is finished for the first time.
        """
        self.flush()
        body = report_body(report, self.redactor)
        finished_at = None if report.summary.trials.pending else timestamp()
        with self._database.transaction() as connection:
            if finished_at:
                add_verdicts(connection, run_id, judged, finished_at, self._clean)
            changed = connection.execute(
                "UPDATE runs SET finished_at = ?, report = ?, stopped = ?, elapsed_s = elapsed_s + ? WHERE id = ?",
                (finished_at, body, stopped, elapsed_s, run_id),
            )
            if not changed.rowcount:
                raise UnknownName("run", run_id, [])

    def progress(self, run_id: str) -> tuple[str, float]:
        """Why the run stopped last time, and how long it has been run in all."""
        rows = self._database.read("SELECT stopped, elapsed_s FROM runs WHERE id = ?", (run_id,))
        if not rows:
            raise UnknownName("run", run_id, [])
        stopped, elapsed_s = rows[0]
        return stopped, elapsed_s

    def remove_run(self, run: Run) -> None:
        with self.claim(run), self._database.transaction() as connection:
            connection.execute("DELETE FROM trials WHERE run_seq = ?", (self._seq(run.id),))
            connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
            # SQLite gives the number of the newest run to the next one when that run is gone.
            del self._seqs[run.id]

    def runs_before(self, moment: str) -> list[Run]:
        return [run_from(row) for row in self._database.read(f"{_RUN} WHERE created_at < ? ORDER BY seq", (moment,))]

    def compact(self) -> None:
        self._database.compact()

    # Suites

    def register_suites(self, suites: Iterable[RegisteredSuite]) -> None:
        """Keep each under its name, in place of the one that had this name before."""
        self.add_runs((), suites)

    def registered_suites(self) -> list[SuiteLine]:
        return read_suites(self._database)

    def registered_suite(self, name: str) -> RegisteredSuite | None:
        return read_suite(self._database, self._clean(name))

    def case_histories(self, suite_name: str) -> dict[str, CaseHistory]:
        return read_histories(self._database, self._clean(suite_name))

    # Trials

    def put(self, run_id: str, trial: Trial) -> None:
        """Queue a finished trial; it is committed within about 20 ms, together with others."""
        self._writer.put((_INSERT, self._seq(run_id), trial))

    def mend(self, run_id: str, trial: Trial) -> None:
        """Queue a trial that replaces one that ended in `error`; its attempts include the earlier ones."""
        self._writer.put((_MEND, self._seq(run_id), trial))

    def flush(self) -> None:
        self._writer.flush()

    @property
    def backlog(self) -> int:
        return self._writer.backlog

    def _commit_trials(self, group: Sequence[tuple[str, int, Trial]]) -> None:
        """A trial that already has a row keeps it: whoever was first counts, and counts once."""
        rows = [(statement, trial_row(seq, trial, self.redactor)) for statement, seq, trial in group]
        with self._database.transaction() as connection:
            for statement, stretch in groupby(rows, key=itemgetter(0)):
                connection.executemany(statement, (row for _, row in stretch))

    def trials(self, run_id: str, case_id: str | None = None) -> Iterator[Trial]:
        """Every finished trial with all its attempts, in the order of case and index."""
        for row in self._pages("case_id, idx, seed, body", run_id, case_id, _PAGE_OF_BODIES):
            yield trial_from(*row)

    def outcomes(self, run_id: str) -> Iterator[Outcome]:
        """Every finished trial without its transcript, in the order of case and index."""
        columns = ", ".join(Outcome._fields).replace("trial_index", "idx")
        return map(Outcome._make, self._pages(columns, run_id, None, _PAGE))

    def _pages(self, columns: str, run_id: str, case_id: str | None, size: int) -> Iterator[tuple[Any, ...]]:
        """Rows by pages, so that a run of any size is read in little memory.

        Each page is a query of its own: a cursor left open would keep this connection from writing once another
        process has written, and the log from being folded into the file.
        """
        seq = self._seq(run_id)
        only = "" if case_id is None else "AND case_id = ? "
        sql = (
            f"SELECT {columns} FROM trials WHERE run_seq = ? {only}AND (case_id, idx) > (?, ?) "
            "ORDER BY case_id, idx LIMIT ?"
        )
        last: tuple[str, int] = ("", -1)
        while True:
            rows = self._database.read(sql, (seq, *([] if case_id is None else [case_id]), *last, size))
            yield from rows
            if len(rows) < size:
                return
            last = rows[-1][:2]

    def _seq(self, run_id: str) -> int:
        if run_id not in self._seqs:
            rows = self._database.read("SELECT seq FROM runs WHERE id = ?", (run_id,))
            if not rows:
                raise UnknownName("run", run_id, [])
            self._seqs[run_id] = rows[0][0]
        return self._seqs[run_id]


def timestamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
