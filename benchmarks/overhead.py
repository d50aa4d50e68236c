"""Overhead per trial: an instant target, one grader, every trial on disk; and whether it stays flat as runs grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.bare_loop import run_bare
from benchmarks.instant import CASES, answer_async, answer_sync, run_persisted, suite_of
from benchmarks.options import BenchmarkOptions
from benchmarks.table import Row
from benchmarks.timing import Cost, cost_of, typical

MAX_CONCURRENCY = 10
SMALLEST = 1_000
FLAT = 1.25
ONE_ROUND_FROM = 50_000
MANY_CASES = 10_000
BARE_US = 9
"""What a trial of the bare asyncio loop took where the budget was set: the budget is kept as this ratio."""


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    target: Callable[[str], Any]
    budget_us: float
    sizes: tuple[int, ...]


KINDS = (
    Kind("async function", answer_async, 100, (SMALLEST, 10_000, 100_000)),
    Kind("sync function", answer_sync, 150, (SMALLEST, 10_000, 20_000)),
)


def measure(options: BenchmarkOptions) -> Iterator[Row]:
    run_persisted(suite_of(answer_async, CASES, 1), MAX_CONCURRENCY)  # imports are not a cost of trials
    for kind in KINDS:
        yield from _measure_kind(kind, options)
    yield _many_cases(options)


def _measure_kind(kind: Kind, options: BenchmarkOptions) -> Iterator[Row]:
    per_trial_s: dict[int, float] = {}
    budget = kind.budget_us / BARE_US
    for trials in sorted({max(SMALLEST, options.scaled(size)) for size in kind.sizes}):
        ours, bare = _beside_bare(kind, trials, options)
        per_trial_s[trials] = ours.cpu_s / trials
        yield Row(
            f"{kind.name}, {trials:,} trials",
            ours.per_trial(trials),
            f"{ours.cpu_s / bare.cpu_s:.1f} × bare loop ({bare.cpu_s / trials * 1e6:.0f} µs)",
            f"≤ {budget:.1f} × ({kind.budget_us:.0f} µs where the bare loop takes {BARE_US})",
            ours.cpu_s / bare.cpu_s <= budget,
        )
    largest = max(per_trial_s)
    growth = per_trial_s[largest] / per_trial_s[SMALLEST]
    what = f"{kind.name}, flatness: a trial of {largest:,} beside one of {SMALLEST:,}"
    yield Row(what, "", f"{growth:.2f} ×", f"≤ {FLAT} ×", growth <= FLAT)


def _beside_bare(kind: Kind, trials: int, options: BenchmarkOptions) -> tuple[Cost, Cost]:
    """In turns, so that a busy moment of the machine affects both."""
    suite = suite_of(kind.target, CASES, trials // CASES)
    ours, bare = [], []
    for _ in range(1 if trials >= ONE_ROUND_FROM else options.rounds):
        bare.append(cost_of(lambda: run_bare(answer_async, trials, MAX_CONCURRENCY)))
        ours.append(cost_of(lambda: run_persisted(suite, MAX_CONCURRENCY)))
    return typical(ours), typical(bare)


def _many_cases(options: BenchmarkOptions) -> Row:
    """One trial each: planning, locking and counting cost time per case."""
    cases = max(SMALLEST, options.scaled(MANY_CASES))
    suite = suite_of(answer_async, cases, 1)
    cost = typical(cost_of(lambda: run_persisted(suite, MAX_CONCURRENCY)) for _ in range(options.rounds))
    return Row(f"async function, {cases:,} cases of one trial", cost.per_trial(cases))
