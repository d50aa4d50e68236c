"""The store: runs and trials in SQL. Totals are never stored as truth; they are recomputed from trial rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from random import Random

from evalharness.domain.case import Case
from evalharness.domain.gate import Gate
from evalharness.domain.history import CaseHistory
from evalharness.domain.report import Report
from evalharness.domain.run import Run
from evalharness.domain.trial import Outcome, Trial, TrialFigures
from evalharness.errors import UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.stores.baselines import Baseline, delete_baseline, read_baselines, write_baseline
from evalharness.stores.case_columns import cases_body
from evalharness.stores.claims import claimed
from evalharness.stores.encoding import RUN_COLUMNS, report_body, run_body, run_from, trial_row
from evalharness.stores.histories import add_verdicts, read_histories
from evalharness.stores.judge_cache import StoredJudgeCache
from evalharness.stores.naming import free_names
from evalharness.stores.outlines import RunOutline, RunPlan, read_gate, read_outline, read_plan
from evalharness.stores.past_runs import PastRun, read_judged, read_past_runs
from evalharness.stores.run_lines import RunLine, RunLink, read_links, read_run_lines
from evalharness.stores.spending import StoredSpending, delete_unused
from evalharness.stores.sqlite import MEMORY, Database
from evalharness.stores.suites import RegisteredSuite, SuiteLine, read_suite, read_suites, write_suite
from evalharness.stores.trial_rows import INSERT_TRIAL, MEND_TRIAL, read_figures, read_outcomes, read_trials
from evalharness.stores.writing import GroupWriter

_RUN = f"SELECT {RUN_COLUMNS} FROM runs"


class SqlStore:
    def __init__(self, place: str, *, redactor: Redactor, timeout_s: float = 30.0, rng: Random | None = None) -> None:
        self.place = place
        self.redactor = redactor
        self._rng = rng or Random()
        self._database = Database(place, timeout_s)
        self._writer = GroupWriter(self._commit_trials)
        self.judge_cache = StoredJudgeCache(self._database, self._clean, timestamp)
        self.spending = StoredSpending(self._database)
        self._seqs: dict[str, int] = {}

    def close(self) -> None:
        with ExitStack() as closing:
            for part in (self._database, self.spending, self.judge_cache, self._writer):
                closing.callback(part.close)

    # Runs

    def add_runs(self, runs: Iterable[Run], suites: Iterable[RegisteredSuite] = ()) -> list[Run]:
        """Store new runs together, each under an id and a name of its own, and register the suites they came from."""
        planned = list(runs)
        for run in planned:
            self._check_case_ids(run)
        added: list[Run] = []
        with self._database.transaction() as connection:
            for run in planned:
                run_id, name = free_names(connection, self._rng)
                matrix_id = added[0].id if added else run_id
                named = run.model_copy(update={"id": run_id, "name": name, "matrix_id": matrix_id})
                about = (named.created_at, named.planned_trials, named.regrade_of, run_body(named, self.redactor))
                connection.execute(
                    "INSERT INTO runs (id, name, matrix_id, suite_name, created_at, planned, regrade_of, body) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (run_id, name, matrix_id, self._clean(named.suite.name), *about),
                )
                added.append(named)
            for suite in suites:
                write_suite(connection, suite, timestamp(), self.redactor)
        return added

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
        return run_from(self._database.read(f"{_RUN} WHERE id = ?", (self._run_id(reference),))[0])

    def _run_id(self, reference: str) -> str:
        wanted = self._clean(reference)
        rows = self._database.read("SELECT id FROM runs WHERE id = ? OR name = ?", (wanted, wanted))
        if not rows:
            known = self._database.read("SELECT name FROM runs ORDER BY seq DESC LIMIT 50")
            raise UnknownName("run", reference, [name for (name,) in known])
        return str(rows[0][0])

    def newest_run(self, *, suite_name: str | None = None, unfinished: bool = False) -> Run | None:
        """`unfinished` means that planned trials have no row yet; a regrade has nothing that could be run."""
        conditions, values = ["1 = 1"], []
        if suite_name is not None:
            conditions.append("suite_name = ?")
            values.append(self._clean(suite_name))
        if unfinished:
            conditions.append("regrade_of = '' AND planned > (SELECT COUNT(*) FROM trials WHERE run_seq = runs.seq)")
        rows = self._database.read(f"{_RUN} WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT 1", values)
        return run_from(rows[0]) if rows else None

    def newest_runs(self, suite_name: str, limit: int) -> list[Run]:
        """Newest first."""
        sql = f"{_RUN} WHERE suite_name = ? ORDER BY seq DESC LIMIT ?"
        return [run_from(row) for row in self._database.read(sql, (self._clean(suite_name), limit))]

    def matrix(self, matrix_id: str) -> list[Run]:
        """The runs that one command started together, in order."""
        return [run_from(row) for row in self._database.read(f"{_RUN} WHERE matrix_id = ? ORDER BY seq", (matrix_id,))]

    def outline(self, reference: str) -> RunOutline:
        """A run by id or name without building its suite: quick, also where that has a hundred thousand cases."""
        return read_outline(self._database, self._run_id(reference))

    def plan_of(self, run_id: str) -> RunPlan:
        return read_plan(self._database, run_id)

    def gate_of(self, run_id: str) -> Gate | None:
        return read_gate(self._database, run_id)

    def runs_since(self, suite_name: str, run_id: str = "") -> list[RunLink]:
        """Of a suite, newest first: all that tried its cases anew after a run; after any, where that is not here."""
        return read_links(self._database, self._clean(suite_name), run_id)

    def past_runs(self, suite_name: str, before: str = "") -> Iterator[PastRun]:
        """Finished runs of a suite that tried its cases anew, newest first: those before a run, or all."""
        return read_past_runs(self._database, self._clean(suite_name), before)

    def suite_names(self) -> list[str]:
        """Of all runs."""
        return [name for (name,) in self._database.read("SELECT DISTINCT suite_name FROM runs ORDER BY suite_name")]

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
        body, cases = report_body(report, self.redactor), cases_body(report.cases, self.redactor)
        finished_at = None if report.summary.trials.pending else timestamp()
        with self._database.transaction() as connection:
            if finished_at:
                add_verdicts(connection, run_id, judged, finished_at, self._clean)
            changed = connection.execute(
                "UPDATE runs SET finished_at = ?, report = ?, cases = ?, stopped = ?, elapsed_s = elapsed_s + ? "
                "WHERE id = ?",
                (finished_at, body, cases, stopped, elapsed_s, run_id),
            )
            if not changed.rowcount:
                raise UnknownName("run", run_id, [])

    def progress(self, run_id: str) -> tuple[str, float]:
        """Why the run stopped last time, and how long it has been run in all."""
        rows = self._database.read("SELECT stopped, elapsed_s FROM runs WHERE id = ?", (run_id,))
        if not rows:
            raise UnknownName("run", run_id, [])
        return rows[0][0], rows[0][1]

    def remove_run(self, run: Run) -> None:
        """Raises UsageError for a baseline: later runs could not be compared with it any more."""
        with self.claim(run), self._database.transaction() as connection:
            if kept := self.baseline_of(run.id):
                raise UsageError(f"{kept.told} and is kept", hint=f"give that up first: {kept.removal}")
            connection.execute("DELETE FROM trials WHERE run_seq = ?", (self._seq(run.id),))
            connection.execute("DELETE FROM runs WHERE id = ?", (run.id,))
            delete_unused(connection)
            # SQLite gives the number of the newest run to the next one when that run is gone.
            del self._seqs[run.id]

    def runs_before(self, moment: str) -> list[Run]:
        return [run_from(row) for row in self._database.read(f"{_RUN} WHERE created_at < ? ORDER BY seq", (moment,))]

    def compact(self) -> None:
        self._database.compact()

    # Baselines

    def set_baseline(self, run_id: str, name: str) -> Baseline:
        """Later runs of its suite are compared with this one, in place of the run that had this name before."""
        wanted = self._clean(name)
        with self._database.transaction() as connection:
            if not write_baseline(connection, run_id, wanted, timestamp()):
                raise UnknownName("run", run_id, [])
        return next(known for known in self.baselines() if (known.run_id, known.name) == (run_id, wanted))

    def baselines(self, suite_name: str | None = None) -> list[Baseline]:
        """Newest first: of one suite, or of all."""
        wanted = None if suite_name is None else self._clean(suite_name)
        return [known for known in read_baselines(self._database) if wanted in (None, known.suite_name)]

    def baseline(self, suite_name: str, name: str) -> Baseline | None:
        return next((known for known in self.baselines(suite_name) if known.name == self._clean(name)), None)

    def baseline_of(self, run_id: str) -> Baseline | None:
        """The newest one that is this run."""
        return next((known for known in self.baselines() if known.run_id == run_id), None)

    def remove_baseline(self, suite_name: str, name: str) -> bool:
        """The name only: the run stays. False where there was none."""
        with self._database.transaction() as connection:
            return delete_baseline(connection, self._clean(suite_name), self._clean(name))

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
        self._writer.put((INSERT_TRIAL, self._seq(run_id), trial))

    def mend(self, run_id: str, trial: Trial) -> None:
        """Queue a trial that replaces one that ended in `error`, with its attempts, or that awaited a grade."""
        self._writer.put((MEND_TRIAL, self._seq(run_id), trial))

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
            for seq in {seq for _, seq, _ in group}:
                connection.execute("UPDATE runs SET cases = NULL WHERE seq = ? AND cases IS NOT NULL", (seq,))

    def trials(self, run_id: str, case_id: str | None = None) -> Iterator[Trial]:
        """Every finished trial with all its attempts, in the order of case and index."""
        return read_trials(self._database, self._seq(run_id), case_id)

    def outcomes(self, run_id: str) -> Iterator[Outcome]:
        """Every finished trial without its transcript, in the order of case and index."""
        return read_outcomes(self._database, self._seq(run_id))

    def figures(self, run_id: str) -> Iterator[TrialFigures]:
        """Every finished trial in figures alone, in the order of case and index."""
        return read_figures(self._database, self._seq(run_id))

    def judged(self, run_id: str) -> dict[str, tuple[int, int]]:
        """By case: how many first answers were judged, and how many of them passed."""
        return read_judged(self._database, self._seq(run_id))

    def _seq(self, run_id: str) -> int:
        if run_id not in self._seqs:
            rows = self._database.read("SELECT seq FROM runs WHERE id = ?", (run_id,))
            if not rows:
                raise UnknownName("run", run_id, [])
            self._seqs[run_id] = rows[0][0]
        return self._seqs[run_id]


def timestamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
