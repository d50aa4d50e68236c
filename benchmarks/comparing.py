"""Comparing runs: the exact test on many trials, and the whole comparison of two large runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import hypergeom  # type: ignore[import-untyped]

from benchmarks.agents import AIRLINE
from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row
from benchmarks.timing import Cost, cost_of, typical
from evalharness.domain.case_result import CaseResult
from evalharness.domain.gate import RegressionRule
from evalharness.domain.report import Report, RunMetadata, Summary
from evalharness.engine.comparing import compare
from evalharness.stats.stratified import stratified_exact

SEED = 13
TEST_BUDGET_S = 0.5
COMPARE_BUDGET_S = 3.0
TASKS, TRIALS = 1_000, 16
SHAPES = ((100_000, 1), (6_250, 16))
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
    old, new = (report(name, each, trials) for name, each in zip(("old", "new"), passes(cases, trials), strict=True))
    written = [each.model_dump_json() for each in (old, new)]
    ours, reading = [], []
    for _ in range(options.rounds):
        reading.append(cost_of(lambda: [json.loads(each) for each in written]))
        ours.append(cost_of(lambda: compare(old, new, RegressionRule())))
    return _row(f"compare two runs of {cases:,} cases × {trials}", ours, reading,
                "`json.loads` of both reports", COMPARE_BUDGET_S)  # fmt: skip


def _row(what: str, ours: Sequence[Cost], yardstick: Sequence[Cost], name: str, budget_s: float) -> Row:
    taken, other = typical(ours), typical(yardstick)
    return Row(
        what,
        f"{taken.cpu_s:.3f} s CPU, {taken.wall_s:.3f} s wall",
        f"{taken.cpu_s / other.cpu_s:.2f} × {name} ({other.cpu_s:.3f} s)",
        f"≤ {budget_s:g} s",
        taken.cpu_s <= budget_s,
    )


def passes(cases: int, trials: int) -> tuple[list[int], list[int]]:
    """Of each case, before and after an agent like gpt-4o/airline lost a twentieth of its passes."""
    random = np.random.default_rng([SEED, cases, trials])
    rates = AIRLINE.rates(random, (1, cases))[0]
    return random.binomial(trials, rates).tolist(), random.binomial(trials, 0.95 * rates).tolist()


def report(name: str, passes: Sequence[int], trials: int) -> Report:
    results = tuple(
        CaseResult(
            case_id=f"case-{number}", key="same", trials=trials, passed=passed, state="passed", score=passed / trials,
            duration_s=1 + number % 7 / 10, cost_usd=0.01 + number % 5 / 1000,
        )
        for number, passed in enumerate(passes)
    )  # fmt: skip
    metadata = RunMetadata(suite_name="large", run_id=name, run_name=name, timestamp="", trials_per_case=trials)
    return Report(metadata=metadata, verdict="FAILED", exit_code=1, summary=Summary(), cases=results)


def convolved(rows: Sequence[CaseRow]) -> float:
    """P(as few new passes or fewer), as one would write it with scipy."""
    law, observed, lowest = np.ones(1), 0, 0
    for n_old, c_old, n_new, c_new in rows:
        passed = c_old + c_new
        least, most = max(0, passed - n_old), min(passed, n_new)
        law = np.convolve(law, hypergeom.pmf(range(least, most + 1), n_old + n_new, passed, n_new))
        observed, lowest = observed + c_new, lowest + least
    return float(law[: observed - lowest + 1].sum())
