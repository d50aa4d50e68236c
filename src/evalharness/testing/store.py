"""A store in dictionaries: the whole contract, redaction included. It commits at once, and nothing outlives it."""

from __future__ import annotations

import secrets
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import itemgetter
from random import Random

from evalharness.contracts.store import FEWEST_WHOLE, MEMORY, Store
from evalharness.domain.case import Case
from evalharness.domain.case_result import CaseHistory, written_history
from evalharness.domain.exchange import Exchange
from evalharness.domain.gate import Gate
from evalharness.domain.report import Report
from evalharness.domain.review import EVIDENCE
from evalharness.domain.run import Run, generate_run_id, generate_run_name, name_taken
from evalharness.domain.selftest import CaseMark
from evalharness.domain.stored import (
    Baseline,
    BaselineRun,
    PastRun,
    RegisteredSuite,
    RunEnd,
    RunLine,
    RunLink,
    RunOutline,
    SuiteLine,
)
from evalharness.domain.trial import GRADED, TRIAL_STATES, Outcome, Trial
from evalharness.errors import Hint, StoreError, UnknownName, UsageError
from evalharness.redaction import Redactor
from evalharness.settings import Settings, now, timestamp
from evalharness.stores import encoding
from evalharness.stores.claims import LocalClaims
from evalharness.stores.cleaning import clean_text
from evalharness.stores.decoding import past_run_from, variant_from
from evalharness.stores.exchanges import decoded, exchange_row
from evalharness.stores.statements import TRIAL_COLUMNS
from evalharness.testing.review_book import FakeReviews, ReviewRows
from evalharness.testing.store_pages import PagesOfRuns
from evalharness.testing.store_parts import FakeJobs, FakeJudgeCache
from evalharness.testing.stored_run import DECODER, StoredRun, run_outcome

_TRIAL_FIELDS = TRIAL_COLUMNS.replace("idx", "trial_index").split(", ")


@dataclass(slots=True)
class _Kept:
    """What all views of a store share."""

    runs: dict[str, StoredRun] = field(default_factory=dict)
    baselines: list[Baseline] = field(default_factory=list)
    suites: dict[str, RegisteredSuite] = field(default_factory=dict)
    histories: dict[tuple[str, str], dict[str, CaseHistory]] = field(default_factory=lambda: defaultdict(dict))
    marks: dict[tuple[str, str, str], CaseMark] = field(default_factory=dict)
    verdicts: dict[str, tuple[str, str]] = field(default_factory=dict)
    spent: dict[str, tuple[float, int]] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)
    reviews: ReviewRows = field(default_factory=ReviewRows)
    identity: str = field(default_factory=lambda: secrets.token_hex(16))
    claims: LocalClaims = field(default_factory=LocalClaims)
    lock: threading.RLock = field(default_factory=threading.RLock)
    is_closed: bool = False


class FakeStore(PagesOfRuns, Store):
    """For tests and for plug-in authors. Views (`redacting`) share what is kept."""

    def __init__(
        self, *, redactor: Redactor | None = None, rng: Random | None = None, clock: Callable[[], datetime] = now
    ) -> None:
        self._redactor = Redactor.none() if redactor is None else redactor
        self._rng = rng or Random()
        self._clock = clock
        self._all = _Kept()

    @classmethod
    def open(cls, place: str, settings: Settings, clock: Callable[[], datetime]) -> FakeStore:  # noqa: ARG003
        """Empty, whatever the place."""
        return cls(redactor=settings.redactor(), clock=clock)

    @property
    def redactor(self) -> Redactor:
        return self._redactor

    def redacting(self, redactor: Redactor) -> FakeStore:
        view = copy(self)
        view._redactor = redactor
        return view

    @property
    def judge_cache(self) -> FakeJudgeCache:
        return FakeJudgeCache(self._kept.verdicts, self._clean, self._now)

    @property
    def jobs(self) -> FakeJobs:
        return FakeJobs(self._kept.jobs, self._kept.lock, self._clean)

    @property
    def reviews(self) -> FakeReviews:
        kept = self._kept
        return FakeReviews(
            kept.reviews, self._redactor, kept.lock, self._finished_name, lambda: list(kept.runs), self._asking_trials
        )

    def _asking_trials(self, run_id: str) -> list[tuple[str, int]]:
        """Those that ask people, stored since the run last came to a stop; none of a regrade."""
        run = self._run(run_id)
        new = (
            {}
            if run.regrade_of
            else {key: row for key, row in run.trials.items() if row["change"] > (run.kept_at or 0)}
        )
        return [key for key, row in new.items() if f'"{EVIDENCE}":' in row["grades"]]

    def _finished_name(self, run_id: str) -> str | None:
        run = self._run(run_id)
        return run.name if run.finished_at is not None else None

    def compact(self) -> None: ...

    def close(self) -> None:
        self._all.is_closed = True

    @property
    def _kept(self) -> _Kept:
        if self._all.is_closed:
            raise StoreError("the store is closed")
        return self._all

    def _clean(self, text: str) -> str:
        return clean_text(text, self._redactor)

    def _now(self) -> str:
        return timestamp(self._clock())

    # Runs

    def add_runs(self, runs: Iterable[Run], suites: Iterable[RegisteredSuite] = ()) -> list[Run]:
        planned, added, stored = list(runs), list[Run](), dict[str, StoredRun]()
        for run in planned:
            encoding.check_case_ids(run, self._redactor)
        with self._kept.lock:
            for run in planned:
                run_id, name = self._free_names(run.id, run.name, stored)
                matrix_id = added[0].id if added else run_id
                named = run.model_copy(update={"id": run_id, "name": name, "matrix_id": matrix_id})
                about = (self._clean(run.suite.name), run.created_at, run.planned_trials, run.regrade_of)
                _, body = encoding.run_body(named, self._redactor)
                stored[run_id] = StoredRun(run_id, name, matrix_id, *about, body, mode=run.options.mode)
                added.append(named)
            self._kept.runs.update(stored)
            self.register_suites(suites)
        return added

    @contextmanager
    def regrading(self, regrades: Iterable[Run]) -> Iterator[list[Run]]:
        with ExitStack() as undo:
            added = self.add_runs(regrades)
            for run in added:
                undo.callback(self.remove_run, run)
            with ExitStack() as claims:
                for run in added:
                    claims.enter_context(self.claim(run))
                yield added
            undo.pop_all()

    def _free_names(self, run_id: str, given: str, together_with: Mapping[str, StoredRun]) -> tuple[str, str]:
        runs = (*self._kept.runs.values(), *together_with.values())
        taken = {name for run in runs for name in (run.id, run.name)}
        for name in (run_id, given):
            if name in taken:
                raise name_taken(name)
        while True:
            names = run_id or generate_run_id(self._clock(), self._rng), given or generate_run_name(self._rng)
            if taken.isdisjoint(names):
                return names

    @property
    def identity(self) -> str:
        return self._kept.identity

    def is_claimed(self, run_id: str) -> bool:
        return self._kept.claims.has(run_id)

    def claim(self, run: Run) -> AbstractContextManager[None]:
        return self._kept.claims.claimed(run.id, run.name)

    def finish(
        self, run_id: str, report: Report, *, stopped: str, elapsed_s: float, judged: Iterable[tuple[Case, bool]] = ()
    ) -> str | None:
        run, moment = self._run(run_id), self._now()
        is_finished = report.is_finished
        with self._kept.lock:
            if is_finished and run.finished_at is None:
                for case, has_passed in judged:
                    place = (run.suite_name, self._clean(report.metadata.variant))
                    self._add_to_history(place, case, moment if has_passed else None)
            run.finished_at = moment if is_finished else None
            run.report = encoding.report_body(report, self._redactor)
            run.brief_body = encoding.brief_body(report, self._redactor)
            run.cases = encoding.cases_body(report.cases, self._redactor)
            run.kept_at = run.changed
            run.stopped, run.elapsed_s = stopped, run.elapsed_s + elapsed_s
            return run.finished_at

    def _add_to_history(self, place: tuple[str, str], case: Case, passed_at: str | None) -> None:
        histories = self._kept.histories[place]
        count, last_passed = histories.get(case.id) or written_history(case)
        last_passed = None if last_passed is None else self._clean(last_passed)
        histories[case.id] = CaseHistory(count, passed_at) if passed_at else CaseHistory(count + 1, last_passed)

    def progress(self, run_id: str) -> tuple[str, float]:
        run = self._run(run_id)
        return run.stopped, run.elapsed_s

    def remove_run(self, run: Run) -> None:
        with self.claim(run), self._kept.lock:
            if kept := self.baseline_of(run.id):
                hint = Hint("hint.remove_baseline", name=kept.name, suite=kept.suite_name)
                raise UsageError(f"{run.name} belongs to the baseline '{kept.name}' of {kept.suite_name}", hint=hint)
            del self._kept.runs[self._run(run.id).id]
            self.jobs.remove(run.id)
            self._kept.reviews.remove(run.id)
            used = {budget_id for left in self._kept.runs.values() for budget_id in (left.id, left.matrix_id)}
            for budget_id in set(self._kept.spent) - used:
                del self._kept.spent[budget_id]

    def find_run(self, reference: str) -> Run:
        return self._meant_by(reference).whole()

    def newest_run(self, *, suite_name: str | None = None, unfinished: bool = False) -> Run | None:
        for run in self._newest_first(suite_name):
            if not unfinished or (not run.regrade_of and run.planned > len(run.trials)):
                return run.whole()
        return None

    def nth_newest(self, position: int, suite_name: str | None = None) -> str | None:
        started = [run.id for run in self._newest_first(suite_name) if not run.regrade_of]
        return started[position - 1] if position <= len(started) else None

    def newest_runs(self, suite_name: str, limit: int) -> list[Run]:
        return [run.whole() for run in self._newest_first(suite_name)[:limit]]

    def runs_before(self, moment: str) -> list[Run]:
        return [run.whole() for run in reversed(self._newest_first()) if run.created_at < moment]

    def matrix(self, matrix_id: str) -> list[Run]:
        return [run.whole() for run in reversed(self._newest_first()) if run.matrix_id == matrix_id]

    def ends(self, matrix_id: str) -> list[RunEnd]:
        runs = [run for run in self._kept.runs.values() if run.matrix_id == matrix_id]
        return [RunEnd(run.id, run.name, run.finished_at is not None, run.stopped) for run in runs]

    def list_runs(self, limit: int, suite_name: str | None = None, before: str = "") -> list[RunLine]:
        runs = self._newest_first(suite_name)
        if before:
            ids = list(self._kept.runs)
            older = set(ids[: ids.index(self._run(before).id)])
            runs = [run for run in runs if run.id in older]
        return [run.line() for run in runs[:limit]]

    def count_runs(self, suite_name: str | None = None) -> int:
        return len(self._newest_first(suite_name))

    def outline(self, reference: str) -> RunOutline:
        return self._meant_by(reference).outline()

    def outlines(self, suite_name: str, most_cases: int | None = None) -> Iterator[RunOutline]:
        whole: list[int] = []
        for run in self._newest_first(suite_name):
            if run.is_fresh:
                is_whole = most_cases is None or len(whole) < FEWEST_WHOLE or sum(whole) < most_cases
                found = run.outline() if is_whole else run.brief_outline()
                whole += [len(found.report.cases)] if found.report and found.report.cases else []
                yield found

    def gate_of(self, run_id: str) -> Gate | None:
        run = self._run(run_id)
        return DECODER.gate(run.name, run.body)

    def runs_since(self, suite_name: str, run_id: str = "") -> list[RunLink]:
        ids = list(self._kept.runs)
        after = ids[ids.index(run_id) + 1 :] if run_id in ids else ids
        asked = [run for run in self._newest_first(suite_name) if not run.regrade_of and run.id in after]
        return [RunLink(run.id, run.name, run.matrix_id, run.finished_at is not None) for run in asked]

    def past_run(self, run_id: str) -> PastRun | None:
        run = self._kept.runs.get(run_id)
        return past_run_from(run.id, run.name, run.planned, run.body) if run and not run.regrade_of else None

    def past_runs(self, suite_name: str, before: str = "") -> Iterator[PastRun]:
        ids = list(self._kept.runs)
        earlier = ids[: ids.index(before)] if before in ids else ids
        for run in self._newest_first(suite_name):
            is_meant = run.id in earlier and run.finished_at is not None and run.is_fresh
            if is_meant and (past := past_run_from(run.id, run.name, run.planned, run.body)):
                yield past

    def variants(self, suite_name: str, most: int) -> set[str]:
        finished = [run for run in self._newest_first(suite_name) if run.finished_at is not None and run.is_fresh]
        return {variant_from(run.body) for run in finished[:most]}

    def recorded_runs(self, suite_name: str) -> list[tuple[str, str]]:
        recorded = [run for run in self._newest_first(suite_name) if run.mode in ("record", "auto")]
        return [(run.id, variant_from(run.body)) for run in recorded]

    def suite_names(self) -> list[str]:
        return sorted({run.suite_name for run in self._newest_first()})

    def _newest_first(self, suite_name: str | None = None) -> list[StoredRun]:
        wanted = None if suite_name is None else self._clean(suite_name)
        runs = list(self._kept.runs.values())
        incomplete = {run.matrix_id for run in runs if run.regrade_of and run.report is None}
        return [run for run in reversed(runs) if wanted in (None, run.suite_name) and run.matrix_id not in incomplete]

    def _meant_by(self, reference: str) -> StoredRun:
        wanted = self._clean(reference)
        for run in self._newest_first():
            if wanted in (run.id, run.name):
                return run
        raise UnknownName("run", reference, [run.name for run in self._newest_first()])

    def _run(self, run_id: str) -> StoredRun:
        if run_id not in self._kept.runs:
            raise UnknownName("run", run_id, [])
        return self._kept.runs[run_id]

    # Trials

    def put(self, run_id: str, trial: Trial) -> None:
        self._add_trial(run_id, trial, replaced=())

    def replace_unfinished(self, run_id: str, trial: Trial) -> None:
        self._add_trial(run_id, trial, replaced=("error", "awaiting"))

    def _add_trial(self, run_id: str, trial: Trial, replaced: Sequence[str]) -> None:
        run, key = self._run(run_id), (trial.case_id, trial.index)
        row = dict(zip(_TRIAL_FIELDS, encoding.trial_row(0, trial, self._redactor), strict=True))
        with self._kept.lock:
            if key not in run.trials or run.trials[key]["state"] in replaced:
                run.changed += 1
                run.trials[key] = {**row, "change": run.changed}
                run.cases = None
                for exchange in trial.tape.exchanges if trial.tape is not None else ():
                    about = (0, trial.case_id, trial.index, exchange, self._redactor, run.parts)
                    run.exchanges[key][exchange.key] = exchange_row(*about)[1:]

    def exchanges(self, run_id: str, case_ids: Sequence[str], index: int) -> dict[str, list[Exchange]]:
        run = self._run(run_id)
        rows = [row for case_id in case_ids for row in run.exchanges.get((case_id, index), {}).values()]
        return decoded(sorted(rows, key=itemgetter(0, 2, 7)), lambda _: run.parts, MEMORY)

    def put_reviewed(self, run_id: str, trial: Trial) -> None:
        self._add_trial(run_id, trial, replaced=TRIAL_STATES)

    def flush(self) -> None: ...

    @property
    def backlog(self) -> int:
        return 0

    def trials(self, run_id: str, case_id: str | None = None) -> Iterator[Trial]:
        run, body_columns = self._run(run_id), ("case_id", "trial_index", "seed", "body", "cause")
        return (DECODER.trial([row[name] for name in body_columns], run.name) for row in run.rows(case_id))

    def outcomes(self, run_id: str) -> Iterator[Outcome]:
        return (run_outcome(row) for row in self._run(run_id).rows())

    def judged(self, run_id: str) -> dict[str, tuple[int, int]]:
        first = [(row["case_id"], row["first_state"]) for row in self._run(run_id).rows()]
        judged = Counter(case_id for case_id, state in first if state in GRADED)
        passed = Counter(case_id for case_id, state in first if state == "passed")
        return {case_id: (count, passed[case_id]) for case_id, count in judged.items()}

    # Baselines

    def set_baseline(self, run_id: str, name: str, added: Sequence[str] = ()) -> Baseline:
        run = self._run(run_id)
        baseline = Baseline(run.suite_name, self._clean(name), run.id, run.name, self._now())
        for more in added:
            baseline = self._with_run(baseline, more)
        with self._kept.lock:
            self.remove_baseline(run.suite_name, name)
            self._kept.baselines.insert(0, baseline)
        return baseline

    def add_to_baseline(self, suite_name: str, name: str, run_id: str) -> Baseline:
        with self._kept.lock:
            found = self.baseline(suite_name, name)
            if found is None:
                raise UnknownName("baseline", name, [known.name for known in self.baselines(suite_name)])
            place = self._kept.baselines.index(found)
            self._kept.baselines[place] = self._with_run(found, run_id)
            return self._kept.baselines[place]

    def _with_run(self, baseline: Baseline, run_id: str) -> Baseline:
        run = self._run(run_id)
        if run.suite_name != baseline.suite_name:
            raise UnknownName(f"run of {baseline.suite_name}", run_id, [])
        if run.id in baseline.run_ids:
            return baseline
        return replace(baseline, added=(*baseline.added, BaselineRun(run.id, run.name)))

    def baselines(self, suite_name: str | None = None) -> list[Baseline]:
        wanted = None if suite_name is None else self._clean(suite_name)
        return [baseline for baseline in list(self._kept.baselines) if wanted in (None, baseline.suite_name)]

    def baseline(self, suite_name: str, name: str) -> Baseline | None:
        wanted = self._clean(name)
        return next((known for known in self.baselines(suite_name) if known.name == wanted), None)

    def baseline_of(self, run_id: str) -> Baseline | None:
        return next((known for known in self.baselines() if run_id in known.run_ids), None)

    def remove_baseline(self, suite_name: str, name: str) -> bool:
        with self._kept.lock:
            if found := self.baseline(suite_name, name):
                self._kept.baselines.remove(found)
            return found is not None

    # Suites

    def register_suites(self, suites: Iterable[RegisteredSuite]) -> None:
        for each in suites:
            suite = DECODER.suite(encoding.suite_body(each.suite, self._redactor), each.suite.name)
            about = (self._clean(each.root), self._clean(each.path), each.format, self._now())
            self._kept.suites[suite.name] = RegisteredSuite(suite, *about)

    def registered_suites(self) -> list[SuiteLine]:
        return [
            SuiteLine(name, len(each.suite.cases), each.path, each.format, each.registered_at)
            for name, each in sorted(self._kept.suites.items())
        ]

    def registered_suite(self, name: str) -> RegisteredSuite | None:
        return self._kept.suites.get(self._clean(name))

    def case_histories(self, suite_name: str, target: str) -> dict[str, CaseHistory]:
        return dict(self._kept.histories.get((self._clean(suite_name), self._clean(target)), {}))

    def mark_cases(self, suite_name: str, marks: Iterable[CaseMark]) -> None:
        for mark in marks:
            kept = DECODER.mark(encoding.mark_body(mark, self._redactor))
            self._kept.marks[self._clean(suite_name), kept.case_id, kept.key] = kept

    def case_marks(self, suite_name: str) -> list[CaseMark]:
        wanted = self._clean(suite_name)
        return [mark for (name, _, _), mark in sorted(self._kept.marks.items(), key=itemgetter(0)) if name == wanted]

    # What budgets have paid

    def record_spent(self, budget_id: str, cost_usd: float, tokens: int) -> None:
        self._kept.spent[budget_id] = cost_usd, tokens

    def spent(self, budget_id: str) -> tuple[float, int]:
        return self._kept.spent.get(budget_id, (0.0, 0))
