"""The store in SQL. Totals are never stored as truth: they are recomputed from trial rows."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from copy import copy
from datetime import datetime
from itertools import count, groupby
from operator import itemgetter
from pathlib import Path
from random import Random
from sqlite3 import Connection
from typing import Any

from evalharness.contracts.store import FEWEST_WHOLE, MEMORY, Store
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory
from evalharness.domain.exchange import Exchange
from evalharness.domain.gate import Gate
from evalharness.domain.report import Report
from evalharness.domain.run import Run, generate_run_id, generate_run_name, name_taken
from evalharness.domain.selftest import CaseMark
from evalharness.domain.stored import (
    PastRun,
    RegisteredSuite,
    RunEnd,
    RunLink,
    RunOutline,
    SuiteLine,
)
from evalharness.domain.trial import Outcome, Trial
from evalharness.errors import Hint, RunBusy, StoreError, UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.settings import Settings, now, timestamp
from evalharness.stores import statements
from evalharness.stores.case_statements import REMOVE_PAGES
from evalharness.stores.claims import FileClaims, LocalClaims
from evalharness.stores.cleaning import clean_text
from evalharness.stores.decoding import Decoder, past_run_from, variant_from
from evalharness.stores.dialect import AFTER_ALL_ROWS, BEFORE_ALL_ROWS
from evalharness.stores.encoding import (
    brief_body,
    cases_body,
    check_case_ids,
    mark_body,
    report_body,
    run_body,
    suite_body,
    trial_row,
)
from evalharness.stores.exchanges import StoredExchanges, exchange_rows
from evalharness.stores.histories import add_to_histories
from evalharness.stores.jobs import StoredJobs
from evalharness.stores.judge_cache import StoredJudgeCache, Verdicts
from evalharness.stores.review_book import SqlReviews, remove_reviews
from evalharness.stores.spending import Spending
from evalharness.stores.sql_baselines import SqlBaselines
from evalharness.stores.sql_pages import SqlRunPages, add_parts, keep_lines
from evalharness.stores.sqlite import Database
from evalharness.stores.writing import GroupWriter

_TRIES = 1000
_PAGE_OF_BODIES = 100
_PAGE_OF_OUTLINES = 20
_PAGE = 500


class SqlStore(SqlRunPages, SqlBaselines, Store):
    """Views (`redacting`) share everything but the redactor."""

    def __init__(
        self,
        place: str,
        *,
        redactor: Redactor,
        timeout_s: float = 30.0,
        rng: Random | None = None,
        clock: Callable[[], datetime] = now,
        lazily: bool = False,
    ) -> None:
        """With `lazily`, a file that does not exist is made when something is stored."""
        self._redactor = redactor
        self._place = place
        self._rng = rng or Random()
        self._clock = clock
        self._database = Database(place, timeout_s, lazily=lazily)
        self._decoder = Decoder(place)
        self._exchanges = StoredExchanges(self._database, place)
        self._claims = LocalClaims() if place == MEMORY else FileClaims(Path(place))
        self._new_identity = secrets.token_hex(16)  # for a store that has none yet
        self._trials = GroupWriter(self._commit_trials)
        self._spending = Spending(self._database)
        self._verdicts = Verdicts(self._database, self._now)
        self._seqs_of_writers: dict[str, int] = {}

    @classmethod
    def open(cls, place: str, settings: Settings, clock: Callable[[], datetime]) -> SqlStore:
        return cls(place, redactor=settings.redactor(), timeout_s=settings.store_timeout_s, clock=clock, lazily=True)

    @property
    def redactor(self) -> Redactor:
        return self._redactor

    def redacting(self, redactor: Redactor) -> SqlStore:
        view = copy(self)
        view._redactor = redactor
        return view

    @property
    def identity(self) -> str:
        stored = self._database.read(statements.READ_IDENTITY)
        return str(stored[0][0]) if stored else self._new_identity

    @property
    def judge_cache(self) -> StoredJudgeCache:
        return StoredJudgeCache(self._verdicts, self._redactor)

    @property
    def jobs(self) -> StoredJobs:
        return StoredJobs(self._database, self._decoder, self._redactor)

    @property
    def reviews(self) -> SqlReviews:
        return SqlReviews(self._database, self._decoder, self._redactor)

    def compact(self) -> None:
        self._remove_incomplete_regrades()
        self._database.compact()

    def close(self) -> None:
        with ExitStack() as closing:
            for part in (self._database, self._spending, self._verdicts, self._trials):
                closing.callback(part.close)

    def _clean(self, text: str) -> str:
        return clean_text(text, self._redactor)

    def _now(self) -> str:
        return timestamp(self._clock())

    # Runs

    def add_runs(self, runs: Iterable[Run], suites: Iterable[RegisteredSuite] = ()) -> list[Run]:
        planned = list(runs)
        for run in planned:
            check_case_ids(run, self._redactor)
        with self._database.transaction() as connection:
            added = self._add_runs(connection, planned)
            for suite in suites:
                self._register(connection, suite, added)
        return added

    @contextmanager
    def regrading(self, regrades: Iterable[Run]) -> Iterator[list[Run]]:
        self._remove_incomplete_regrades()
        planned = list(regrades)
        for run in planned:
            check_case_ids(run, self._redactor)
        with ExitStack() as claims:
            with self._database.transaction() as connection:  # claimed before anybody can take them for leftovers
                added = self._add_runs(connection, planned)
                for run in added:
                    claims.enter_context(self.claim(run))
            undo = claims.enter_context(ExitStack())
            undo.callback(self._remove_regrades, added)
            yield added
            undo.pop_all()

    def _remove_regrades(self, added: Iterable[Run]) -> None:
        with suppress(StoreError):  # a store that cannot be written has been reported already
            self.flush()
            with self._database.transaction() as connection:
                for run in added:
                    self._remove(connection, run.id, run.name)

    def _remove_incomplete_regrades(self) -> None:
        """Those of processes that are gone. What others are regrading is claimed, or complete by now."""
        for run_id, name in self._database.read(statements.INCOMPLETE_REGRADES):
            claim = self._claims.claimed(run_id, name)
            with suppress(RunBusy, UsageError), claim, self._database.transaction() as connection:
                if (run_id, name) in connection.execute(statements.INCOMPLETE_REGRADES).fetchall():
                    self._remove(connection, run_id, name)

    def _add_runs(self, connection: Connection, runs: Iterable[Run]) -> list[Run]:
        connection.execute(statements.SET_IDENTITY, (self._new_identity,))
        added: list[Run] = []
        for run in runs:
            run_id, name = self._free_names(connection, run.id, run.name)
            matrix_id = added[0].id if added else run_id
            named = run.model_copy(update={"id": run_id, "name": name, "matrix_id": matrix_id})
            clean, body = run_body(named, self._redactor)
            about = (named.created_at, named.planned_trials, named.regrade_of, body)
            stored = connection.execute(
                statements.ADD_RUN, (run_id, name, matrix_id, self._clean(named.suite.name), named.options.mode, *about)
            )
            add_parts(connection, int(stored.lastrowid or 0), clean)
            added.append(named)
        return added

    def _free_names(self, connection: Connection, *given: str) -> tuple[str, str]:
        """Inside the transaction that stores the run, so that nobody else takes them."""
        for name in filter(None, given):
            if connection.execute(statements.FIND_NAMES, (name, name)).fetchone():
                raise name_taken(name)
        run_id, run_name = given
        moment = self._clock()
        for _ in range(_TRIES):
            names = run_id or generate_run_id(moment, self._rng), run_name or generate_run_name(self._rng)
            if not connection.execute(statements.FIND_NAMES, names).fetchone():
                return names
        raise StoreError("no free run name was found", hint=Hint("hint.prune_store"))

    def claim(self, run: Run) -> AbstractContextManager[None]:
        return self._claims.claimed(run.id, run.name)

    def is_claimed(self, run_id: str) -> bool:
        return self._claims.has(run_id)

    def finish(
        self, run_id: str, report: Report, *, stopped: str, elapsed_s: float, judged: Iterable[tuple[Case, bool]] = ()
    ) -> str | None:
        self.flush()
        bodies = (report_body(report, self._redactor), brief_body(report, self._redactor))
        cases = cases_body(report.cases, self._redactor)
        finished_at = self._now() if report.is_finished else None
        with self._database.transaction() as connection:
            if finished_at:
                target = self._clean(report.metadata.variant)
                add_to_histories(connection, run_id, target, judged, finished_at, self._clean)
            values = (finished_at, *bodies, cases, stopped, elapsed_s, run_id)
            if not connection.execute(statements.FINISH_RUN, values).rowcount:
                raise UnknownName("run", run_id, [])
            keep_lines(connection, run_id)
        return finished_at

    def progress(self, run_id: str) -> tuple[str, float]:
        return self._of_run(statements.PROGRESS, run_id)

    def remove_run(self, run: Run) -> None:
        with self.claim(run), self._database.transaction() as connection:
            self._remove(connection, run.id, run.name)

    def _remove(self, connection: Connection, run_id: str, name: str) -> None:
        if kept := self.baseline_of(run_id):
            hint = Hint("hint.remove_baseline", name=kept.name, suite=kept.suite_name)
            raise UsageError(f"{name} belongs to the baseline '{kept.name}' of {kept.suite_name}", hint=hint)
        remove_reviews(connection, self._seq(run_id))
        for statement in (*statements.REMOVE_ROWS_OF_RUN, *REMOVE_PAGES):
            connection.execute(statement, (self._seq(run_id),))
        connection.execute(statements.REMOVE_RUN, (run_id,))
        connection.execute(statements.REMOVE_JOB, (run_id,))
        connection.execute(statements.REMOVE_UNUSED_BUDGETS)
        self._seqs_of_writers.pop(run_id, None)  # the next run may get this number

    def find_run(self, reference: str) -> Run:
        return self._decoder.run(self._of_run(statements.READ_RUN, self._run_id(reference)))

    def newest_run(self, *, suite_name: str | None = None, unfinished: bool = False) -> Run | None:
        sql = statements.newest_run(of_suite=suite_name is not None, unfinished=unfinished)
        rows = self._database.read(sql, () if suite_name is None else (self._clean(suite_name),))
        return self._decoder.run(rows[0]) if rows else None

    def nth_newest(self, position: int, suite_name: str | None = None) -> str | None:
        wanted = None if suite_name is None else self._clean(suite_name)
        for (run_id,) in self._database.read(statements.NTH_NEWEST, (wanted, wanted, position - 1)):
            return str(run_id)
        return None

    def newest_runs(self, suite_name: str, limit: int) -> list[Run]:
        return self._runs(statements.NEWEST_RUNS, self._clean(suite_name), limit)

    def runs_before(self, moment: str) -> list[Run]:
        return self._runs(statements.RUNS_BEFORE, moment)

    def matrix(self, matrix_id: str) -> list[Run]:
        return self._runs(statements.MATRIX, matrix_id)

    def ends(self, matrix_id: str) -> list[RunEnd]:
        rows = self._database.read(statements.ENDS, (matrix_id,))
        return [RunEnd(id_, name, bool(is_finished), stopped) for id_, name, is_finished, stopped in rows]

    def count_runs(self, suite_name: str | None = None) -> int:
        name = None if suite_name is None else self._clean(suite_name)
        return int(self._database.read(statements.COUNT_RUNS, (name, name))[0][0])

    def outline(self, reference: str) -> RunOutline:
        return self._outline(self._of_run(statements.READ_OUTLINE, self._run_id(reference)))

    def outlines(self, suite_name: str, most_cases: int | None = None) -> Iterator[RunOutline]:
        name, seq = self._clean(suite_name), AFTER_ALL_ROWS
        whole, read = 0, 0
        while True:
            is_whole = most_cases is None or whole < FEWEST_WHOLE or read < most_cases
            sql = statements.OUTLINES_BEFORE if is_whole else statements.BRIEF_OUTLINES_BEFORE
            rows = self._database.read(sql, (name, seq, 1 if is_whole else _PAGE_OF_OUTLINES))
            for found_seq, *row in rows:
                outline = self._outline(row)
                yield outline
                seq, number = found_seq, len(outline.report.cases) if outline.report else 0
                whole, read = whole + (number > 0), read + number
            if not rows:
                return

    def _outline(self, row: Sequence[Any]) -> RunOutline:
        *about, head, report, cases = row
        return self._decoder.outline(dict(zip(statements.OUTLINE_COLUMNS, about, strict=True)), head, report, cases)

    def gate_of(self, run_id: str) -> Gate | None:
        return self._decoder.gate(*self._of_run(statements.READ_BODY, run_id))

    def runs_since(self, suite_name: str, run_id: str = "") -> list[RunLink]:
        rows = self._database.read(statements.LINKS_SINCE, (self._clean(suite_name), run_id))
        return [RunLink(id_, name, matrix_id, bool(is_finished)) for id_, name, matrix_id, is_finished in rows]

    def past_run(self, run_id: str) -> PastRun | None:
        for row in self._database.read(statements.READ_PAST_RUN, (run_id,)):
            return past_run_from(*row)
        return None

    def past_runs(self, suite_name: str, before: str = "") -> Iterator[PastRun]:
        """Read one by one, since whoever asks stops when they know enough."""
        name = self._clean(suite_name)
        known = self._database.read(statements.FIND_SEQ, (before,))
        seq = known[0][0] if known else AFTER_ALL_ROWS
        while rows := self._database.read(statements.PAST_RUN_BEFORE, (name, seq)):
            seq, *about = rows[0]
            if past := past_run_from(*about):
                yield past

    def variants(self, suite_name: str, most: int) -> set[str]:
        heads = self._database.read(statements.PAST_RUN_HEADS, (self._clean(suite_name), most))
        return {variant_from(head) for (head,) in heads}

    def suite_names(self) -> list[str]:
        return [name for (name,) in self._database.read(statements.SUITE_NAMES)]

    def _runs(self, sql: str, *values: Any) -> list[Run]:
        return [self._decoder.run(row) for row in self._database.read(sql, values)]

    def _of_run(self, sql: str, run_id: str) -> tuple[Any, ...]:
        """The row of one run."""
        for row in self._database.read(sql, (run_id,)):
            return tuple(row)
        raise UnknownName("run", run_id, [])

    def _run_id(self, reference: str) -> str:
        wanted = self._clean(reference)
        for (run_id,) in self._database.read(statements.FIND_ID, (wanted, wanted)):
            return str(run_id)
        known = self._database.read(statements.NEWEST_NAMES)
        raise UnknownName("run", reference, [name for (name,) in known])

    def _seq(self, run_id: str) -> int:
        return int(self._of_run(statements.FIND_SEQ, run_id)[0])

    # Trials

    def put(self, run_id: str, trial: Trial) -> None:
        self._queue(statements.ADD_TRIAL, run_id, trial)

    def replace_unfinished(self, run_id: str, trial: Trial) -> None:
        self._queue(statements.REPLACE_UNFINISHED, run_id, trial)

    def put_reviewed(self, run_id: str, trial: Trial) -> None:
        self._queue(statements.REPLACE_REVIEWED, run_id, trial)

    def _queue(self, statement: str, run_id: str, trial: Trial) -> None:
        """The number of a run is remembered while it is written: its claim keeps others from removing it."""
        seq = self._seqs_of_writers.get(run_id)
        if seq is None:
            seq = self._seqs_of_writers[run_id] = self._seq(run_id)
        self._trials.put((statement, seq, trial, self._redactor))

    def flush(self) -> None:
        self._trials.flush()

    @property
    def backlog(self) -> int:
        return self._trials.backlog

    def _commit_trials(self, group: Sequence[tuple[str, int, Trial, Redactor]]) -> None:
        """On the writing thread: trials of any run, each with the redactor of whoever put it."""
        rows = [(statement, trial_row(seq, trial, redactor)) for statement, seq, trial, redactor in group]
        recorded = exchange_rows(group)
        with self._database.transaction() as connection:
            changes = {seq: count(_last_change(connection, seq) + 1) for seq in {seq for _, seq, _, _ in group}}
            for statement, stretch in groupby(rows, key=itemgetter(0)):
                connection.executemany(statement, ((*row, next(changes[row[0]])) for _, row in stretch))
            for seq in changes:
                connection.execute(statements.DROP_CASES, (seq,))
            for statement, recorded_rows in recorded.items():
                connection.executemany(statement, recorded_rows)

    def exchanges(self, run_id: str, case_ids: Sequence[str], index: int) -> dict[str, list[Exchange]]:
        return self._exchanges.of_trials(self._seq(run_id), case_ids, index)

    def recorded_runs(self, suite_name: str) -> list[tuple[str, str]]:
        return self._exchanges.runs(self._clean(suite_name))

    def trials(self, run_id: str, case_id: str | None = None) -> Iterator[Trial]:
        seq, name = self._of_run(statements.FIND_SEQ, run_id)
        pages = self._pages(statements.BODY_COLUMNS, seq, name, case_id, _PAGE_OF_BODIES)
        return (self._decoder.trial(row, name) for row in pages)

    def outcomes(self, run_id: str) -> Iterator[Outcome]:
        seq, name = self._of_run(statements.FIND_SEQ, run_id)
        return map(self._decoder.outcome, self._pages(statements.OUTCOME_COLUMNS, seq, name, None, _PAGE))

    def judged(self, run_id: str) -> dict[str, tuple[int, int]]:
        seq, name = self._of_run(statements.FIND_SEQ, run_id)
        rows = self._database.read(statements.JUDGED, (seq,), whose=f"run {name}")
        return {case_id: (judged, passed) for case_id, judged, passed in rows}

    def _pages(
        self, columns: str, seq: int, run_name: str, case_id: str | None, size: int
    ) -> Iterator[tuple[Any, ...]]:
        sql = statements.page_of_trials(columns, of_case=case_id is not None)
        last: tuple[str, int] = (case_id or "", BEFORE_ALL_ROWS)
        while True:
            rows = self._database.read(sql, (seq, *last, size), whose=f"run {run_name}")
            yield from rows
            if len(rows) < size:
                return
            last = rows[-1][:2]

    # Suites, and what budgets have paid

    def register_suites(self, suites: Iterable[RegisteredSuite]) -> None:
        self.add_runs((), suites)

    def _register(self, connection: Connection, registered: RegisteredSuite, stored: Iterable[Run]) -> None:
        suite = registered.suite
        values = (
            self._clean(suite.name),
            suite_body(suite, self._redactor, stored),
            self._clean(registered.path),
            self._clean(registered.root),
            registered.format,
            self._now(),
            len(suite.cases),
        )
        connection.execute(statements.REGISTER_SUITE, values)

    def registered_suites(self) -> list[SuiteLine]:
        return [SuiteLine(*row) for row in self._database.read(statements.LINES_OF_SUITES)]

    def registered_suite(self, name: str) -> RegisteredSuite | None:
        wanted = self._clean(name)
        for body, *rest in self._database.read(statements.READ_SUITE, (wanted,), whose=f"the suite {wanted}"):
            return RegisteredSuite(self._decoder.suite(body, wanted), *rest)
        return None

    def case_histories(self, suite_name: str, target: str) -> dict[str, CaseHistory]:
        rows = self._database.read(statements.HISTORIES, (self._clean(suite_name), self._clean(target)))
        return {case_id: CaseHistory(*rest) for case_id, *rest in rows}

    def mark_cases(self, suite_name: str, marks: Iterable[CaseMark]) -> None:
        name = self._clean(suite_name)
        rows = [
            (name, self._clean(mark.case_id), mark.key, mark.tested_at, mark_body(mark, self._redactor))
            for mark in marks
        ]
        with self._database.transaction() as connection:
            connection.executemany(statements.MARK_CASE, rows)

    def case_marks(self, suite_name: str) -> list[CaseMark]:
        rows = self._database.read(statements.CASE_MARKS, (self._clean(suite_name),))
        return [self._decoder.mark(body) for (body,) in rows]

    def record_spent(self, budget_id: str, cost_usd: float, tokens: int) -> None:
        self._spending.record(budget_id, cost_usd, tokens)

    def spent(self, budget_id: str) -> tuple[float, int]:
        return self._spending.spent(budget_id)


def _last_change(connection: Connection, seq: int) -> int:
    return int(connection.execute(statements.LAST_CHANGE, (seq,)).fetchone()[0])
