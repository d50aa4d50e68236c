"""How often the smallest drop that a comparison or a plan names is really found: it promises four times out of five.

Each draw makes true pass rates, a baseline, a run of an unchanged agent, and the drop that these two name (for a
plan: that the baseline alone names, or a run of one trial per case). Then pairs of new runs are drawn. Every rate of
the second is lowered by the same amount, but not below 0, so that the mean rate falls by the drop as it is printed, and
the exact test judges the pair. Where a range is named, at most four times out of five are promised for its lower end,
and at least as many for its upper end. Errors are those of the mean over draws.

Some draws name no drop, or no upper end, because between two new runs not even failing every trial is found that often.
They promise nothing, so they are left out and counted. Where that is true of the rates themselves, the row says how
often failing everything is found: no drop can keep the promise there, and naming none is the right answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from statistics import fmean, median, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.agents import SIZES
from benchmarks.findings import Finding
from benchmarks.options import BenchmarkOptions
from evalharness.stats.drop_range import DropRange, drops_of_history, drops_of_rows
from evalharness.stats.rate_laws import Row
from evalharness.stats.thresholds import SAME

ALPHA, POWER = 0.05, 0.8
TRIALS = (1, 4, 8)
DRAWS = {1: 600, 4: 100, 8: 100}
"""By trials per case: drops of single trials are quickly named."""
PAIRS = 100
SEED = 23
Rates = NDArray[np.float64]
Counts = NDArray[np.int64]
Named = Callable[[Rates, Counts, Counts, int, np.random.Generator], DropRange]
TRUTHS: dict[str, Callable[[np.random.Generator, int], Rates]] = {
    "Beta(2, 2)": lambda random, cases: random.beta(2, 2, cases),
    "Beta(8, 2)": lambda random, cases: random.beta(8, 2, cases),
    "all .9": lambda _, cases: np.full(cases, 0.9),
    "70 % at 1, others .3 to .9": lambda random, cases: np.where(
        random.random(cases) < 0.7, 1.0, random.uniform(0.3, 0.9, cases)
    ),
    "Beta(.5, .5)": lambda random, cases: random.beta(0.5, 0.5, cases),
    "all .97": lambda _, cases: np.full(cases, 0.97),
}
# These and the ones above were looked at while the method was chosen, the last four only afterwards.
FURTHER_TRUTHS: dict[str, Callable[[np.random.Generator, int], Rates]] = {
    "half .95, half .4": lambda _, cases: np.where(np.arange(cases) % 2, 0.4, 0.95),
    "all .5": lambda _, cases: np.full(cases, 0.5),
    "all .7": lambda _, cases: np.full(cases, 0.7),
    "10 % at 0, others .95": lambda random, cases: np.where(random.random(cases) < 0.1, 0.0, 0.95),
    "10 % at 0, others .8": lambda random, cases: np.where(random.random(cases) < 0.1, 0.0, 0.8),
    "a third each 0, .5, 1": lambda _, cases: (np.arange(cases) % 3) / 2,
    "half 1, half .8": lambda _, cases: np.where(np.arange(cases) % 2, 0.8, 1.0),
    "Beta(1, 2)": lambda random, cases: random.beta(1, 2, cases),
}


def measure(options: BenchmarkOptions) -> Iterator[Finding]:
    for what, named, trials_of_run in (
        ("compared", _compared, TRIALS),
        ("planned", _planned, TRIALS),
        ("planned from one trial", _planned_from_one, TRIALS[1:]),
    ):
        for trials in trials_of_run:
            for cases in SIZES:
                for truth in (TRUTHS | FURTHER_TRUTHS).items():
                    yield from _findings(what, cases, trials, truth, options.scaled(DRAWS[trials]), named)


def _findings(what: str, cases: int, trials: int, truth: Truth, draws: int, named: Named) -> Iterator[Finding]:
    low, high, most = power_at_named_drops(truth, cases, trials, draws, named)
    impossible = f" (failing everything is found in {most:.2f})" if most < POWER else ""
    ends = ((", lower end", low), (", upper end", high)) if low.values != high.values else (("", high),)
    for end, found in ends:
        size = f", {100 * median(found.values):.1f} points" if found.values else ""
        unnamed = f", none named in {draws - len(found.values)} of {draws}" if len(found.values) < draws else ""
        text = f"{what}, {cases} × {trials}, {truth[0]}{end}{size}{unnamed}{impossible}"
        yield Finding(text, found.share, None, found.error)


class Found(NamedTuple):
    """The drops that were named, and how often each was found."""

    values: list[float]
    shares: list[float]

    @property
    def share(self) -> float:
        return fmean(self.shares) if self.shares else math.nan

    @property
    def error(self) -> float:
        return stdev(self.shares) / math.sqrt(len(self.shares)) if len(self.shares) > 1 else math.nan


Truth = tuple[str, Callable[[np.random.Generator, int], Rates]]


def power_at_named_drops(truth: Truth, cases: int, trials: int, draws: int, named: Named) -> tuple[Found, Found, float]:
    """At the lower and the upper end, and the share found if all trials fail."""
    name, rates_of = truth
    random = np.random.default_rng([SEED, cases, trials, *map(ord, name)])
    test = ExactTest(cases, trials)
    low, high = Found([], []), Found([], [])
    most: list[float] = []
    for _ in range(draws):
        rates = rates_of(random, cases)
        old, new = random.binomial(trials, rates), random.binomial(trials, rates)
        drop = named(rates, old, new, trials, random)
        befores = random.binomial(trials, rates, (PAIRS, cases))
        most.append(test.share_found(befores, np.zeros_like(befores)))
        for end, found in ((drop.low, low), (drop.high, high)):
            if end is not None:
                nows = random.binomial(trials, np.clip(rates - shift_for(rates, end), 0, 1), (PAIRS, cases))
                found.values.append(end)
                found.shares.append(test.share_found(befores, nows))
    return low, high, fmean(most)


def shift_for(rates: Rates, drop: float) -> float:
    """How far every rate falls, or to 0, so that their mean falls by the drop; 1 where it cannot fall so far."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if np.minimum(rates, middle).mean() >= drop else (middle, high)
    return high


def _compared(_: Rates, old: Counts, new: Counts, trials: int, __: np.random.Generator) -> DropRange:
    rows = sorted((trials, int(before), trials, int(now)) for before, now in zip(old, new, strict=True))
    return _printed(_of_rows(tuple(rows)), old.mean() / trials)


def _planned(_: Rates, old: Counts, __: Counts, trials: int, ___: np.random.Generator) -> DropRange:
    return _printed(_of_history(tuple(sorted(map(int, old))), trials, trials), old.mean() / trials)


def _planned_from_one(rates: Rates, _: Counts, __: Counts, trials: int, random: np.random.Generator) -> DropRange:
    once = random.binomial(1, rates)
    return _printed(_of_history(tuple(sorted(map(int, once))), 1, trials), once.mean())


@cache
def _of_rows(rows: tuple[Row, ...]) -> DropRange:
    return drops_of_rows(rows, ALPHA, POWER)


@cache
def _of_history(passes: tuple[int, ...], known_trials: int, trials: int) -> DropRange:
    return drops_of_history([(known_trials, passed) for passed in passes], len(passes), trials, ALPHA, POWER)


def _printed(drop: DropRange, rate: float) -> DropRange:
    """A drop to 0 or below is printed as every trial failing, or as none: it promises nothing of two new runs."""
    return drop.changed(lambda end: None if end is None or end >= rate else end)


class ExactTest:
    """`stratified_exact` for many pairs of runs at once: a product of characteristic functions, summed back."""

    def __init__(self, cases: int, trials: int) -> None:
        self._trials = trials
        size = cases * trials + 1
        turns = 2j * np.pi * np.arange(size) / size
        passes = np.arange(trials + 1)
        functions = [np.exp(np.outer(turns, passes)) @ _null_law(trials, both) for both in range(2 * trials + 1)]
        self._logs = np.log(np.array(functions) + 1e-300)
        self._at_most = np.cumsum(np.exp(-np.outer(np.arange(size), turns)), axis=0) / size

    def share_found(self, befores: Counts, nows: Counts) -> float:
        """Each row is a run: the passes of its cases."""
        both = befores + nows
        kinds = np.stack([(both == passes).sum(axis=1) for passes in range(2 * self._trials + 1)], axis=1)
        below = (np.exp(kinds @ self._logs) * self._at_most[nows.sum(axis=1)]).sum(axis=1).real
        return float((below <= ALPHA * (1 + SAME)).mean())


def _null_law(trials: int, both: int) -> Rates:
    ways = [math.comb(trials, c) * math.comb(trials, both - c) if c <= both else 0 for c in range(trials + 1)]
    return np.array(ways) / math.comb(2 * trials, both)
