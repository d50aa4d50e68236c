"""Comparing runs: the exact test on many trials, and the whole comparison of two large runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import hypergeom  # type: ignore[import-untyped]

from benchmarks.agents import AIRLINE
from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row
from benchmarks.timing import Cost, cost_of, cost_of_command, typical
from evalharness.domain.case import Case
from evalharness.domain.grade import Grade
from evalharness.domain.run import CaseLock, Run, RunLock
from evalharness.domain.specification import TargetSpec
from evalharness.domain.suite import Suite
from evalharness.domain.transcript import Transcript
from evalharness.domain.trial import Attempt, Trial
from evalharness.redaction import Redactor
from evalharness.stats.stratified import stratified_exact
from evalharness.steps.make_report import finish_run
from evalharness.stores.sql_store import SqlStore

SEED = 13
TEST_BUDGET_S = 0.5
COMPARE_BUDGET_S = 3.0
TASKS, TRIALS = 1_000, 16
SHAPES = ((100_000, 1), (1_000, 100))
"""Cases and trials of two runs of 100,000 trials."""
CaseRow = tuple[int, int, int, int]


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    yield _exact_test(options)
    for cases, trials in SHAPES:
        yield _comparison(options.scaled(cases), trials, options)


def _exact_test(options: BenchmarkOptions) -> Row:
    old, new = passes(TASKS, TRIALS)
    rows = [(TRIALS, before, TRIALS, after) for before, after in zip(old, new, strict=True)]
    ours, plain, found = [], [], set()
    for _ in range(options.rounds):
        plain.append(cost_of(lambda: found.add(round(convolved(rows), 9))))
        ours.append(cost_of(lambda: found.add(round(stratified_exact(rows).p_less, 9))))
    if len(found) > 1:
        raise SystemExit(f"the two ways of computing one p-value disagree: {found}")
    return _row(f"exact stratified test, {TASKS:,} cases × {TRIALS}+{TRIALS} trials", ours, plain,
                "scipy, one hypergeometric law and one convolution per case", TEST_BUDGET_S)  # fmt: skip


def _comparison(cases: int, trials: int, options: BenchmarkOptions) -> Row:
    """The command as people call it: a process that finds two runs in their store and prints the comparison."""
    with TemporaryDirectory() as folder:
        place = f"{folder}/store.db"
        names, reports = stored_runs(place, cases, trials)
        ours, reading = [], []
        for _ in range(options.rounds):
            reading.append(cost_of(lambda: [json.loads(each) for each in reports]))
            ours.append(cost_of_command(["compare", *names, "--store", place]))
    return _row(f"`eval-harness compare` of two runs of {cases:,} cases × {trials:,}", ours, reading,
                "`json.loads` of both reports", COMPARE_BUDGET_S)  # fmt: skip


def _row(what: str, ours: Sequence[Cost], yardstick: Sequence[Cost], name: str, budget_s: float) -> Row:
    taken, other = typical(ours), typical(yardstick)
    return Row(
        what,
        f"{taken.cpu_s:.3f} s CPU, {taken.wall_s:.3f} s wall",
        f"{taken.cpu_s / other.cpu_s:.2f} × {name} ({other.cpu_s:.3f} s)",
        f"≤ {budget_s:g} s",
        taken.wall_s <= budget_s,
    )


def passes(cases: int, trials: int) -> tuple[list[int], list[int]]:
    """For each case, before and after an agent like gpt-4o/airline lost a twentieth of its passes."""
    random = np.random.default_rng([SEED, cases, trials])
    rates = AIRLINE.rates(random, (1, cases))[0]
    return random.binomial(trials, rates).tolist(), random.binomial(trials, 0.95 * rates).tolist()


def stored_runs(place: str, cases: int, trials: int) -> tuple[list[str], list[str]]:
    """Two runs of one suite, trial by trial: their names, and their reports as JSON."""
    ids = [f"case-{number}" for number in range(cases)]
    suite = Suite(name="large", trials=trials, cases=tuple(Case(id=id_, input="?", expected="x") for id_ in ids))
    keys = {id_: CaseLock(case=sha256(id_.encode()).hexdigest()[:16], graders="0" * 16) for id_ in ids}
    lock = RunLock(
        harness_version="1", python_version="3", platform="any", target="t", seed=0, trials=trials, cases=keys
    )
    names, reports = [], []
    with closing(SqlStore(place, redactor=Redactor.none())) as store:
        for passed_by_case in passes(cases, trials):
            planned = Run(id="", name="", matrix_id="", root="/", created_at="2026-01-02T03:04:05Z", suite=suite,
                          target=TargetSpec(kind="echo"), lock=lock)  # fmt: skip
            [run] = store.add_runs([planned])
            for number, (id_, passed) in enumerate(zip(ids, passed_by_case, strict=True)):
                for index in range(trials):
                    store.put(run.id, _trial(id_, index, index < passed, 1 + number % 7 / 10))
            store.flush()
            report = finish_run(store, run, stopped="", took_s=1.0).report
            assert report is not None, "just made"
            names.append(run.name)
            reports.append(report.model_dump_json())
    return names, reports


def _trial(case_id: str, index: int, passed: bool, duration_s: float) -> Trial:
    grade = Grade(state="pass" if passed else "fail", score=float(passed), grader="exact", kind="exact")
    state, output = ("passed", "x") if passed else ("failed", "y")
    attempt = Attempt(
        state=state, score=grade.score, duration_s=duration_s, grades=(grade,), transcript=Transcript(output=output)
    )
    return Trial(case_id=case_id, index=index, seed=5, attempts=(attempt,))


def convolved(rows: Sequence[CaseRow]) -> float:
    """P(as few new passes or fewer), as one would write it with scipy."""
    law, observed, lowest = np.ones(1), 0, 0
    for n_old, c_old, n_new, c_new in rows:
        passed = c_old + c_new
        least, most = max(0, passed - n_old), min(passed, n_new)
        law = np.convolve(law, hypergeom.pmf(range(least, most + 1), n_old + n_new, passed, n_new))
        observed, lowest = observed + c_new, lowest + least
    return float(law[: observed - lowest + 1].sum())
