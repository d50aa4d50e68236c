"""How often the smallest drop that a comparison or a plan names is really found: it promises four times out of five.

Each draw makes true pass rates, a baseline, a run of an unchanged agent, and the drop that these two name (for a
plan: that the baseline alone names). Then pairs of new runs are drawn. Every rate of the second is lowered by the drop,
but not below 0, and the exact test judges the pair. Errors are those of the mean over draws.

Some draws name no drop, because not even failing everything is found so often between two new runs. They promise
nothing, so they are left out and counted. Where that is true of the rates themselves, the row says how often failing
everything is found: no drop can keep the promise there, and naming none is the right answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.agents import SIZES
from benchmarks.findings import Finding
from benchmarks.options import BenchmarkOptions
from evalharness.stats.exact_power import smallest_shift
from evalharness.stats.rate_laws import CaseLaw, laws_of_history, laws_of_rows
from evalharness.stats.thresholds import SAME

ALPHA, POWER = 0.05, 0.8
TRIALS = (1, 4, 8)
DRAWS = 300
PAIRS = 50
SEED = 23
Rates = NDArray[np.float64]
Counts = NDArray[np.int64]
LawsOf = Callable[[Counts, Counts, int], list[CaseLaw]]
Sizes = dict[tuple[CaseLaw, ...], float | None]
# All of them were looked at while the method was chosen; docs/statistics.md has others, measured afterwards.
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


def measure(options: BenchmarkOptions) -> Iterator[Finding]:
    draws = options.scaled(DRAWS)
    for what, laws_of in (("compared", _compared), ("planned", _planned)):
        for cases in SIZES:
            for trials in TRIALS:
                for name in TRUTHS:
                    found = power_at_named_drop(name, cases, trials, draws, laws_of)
                    unnamed = f", none named in {found.unnamed} of {draws}" if found.unnamed else ""
                    most = f" (failing everything is found in {found.most:.2f})" if found.most < POWER else ""
                    yield Finding(f"{what}, {cases} × {trials}, {name}{unnamed}{most}", found.share, None, found.error)


class Found(NamedTuple):
    """The share found, its standard error, the draws without a named drop, and the share found if all trials fail."""

    share: float
    error: float
    unnamed: int
    most: float


def power_at_named_drop(name: str, cases: int, trials: int, draws: int, laws_of: LawsOf) -> Found:
    random = np.random.default_rng([SEED, cases, trials, *map(ord, name)])
    test = ExactTest(cases, trials)
    shares: list[float] = []
    most: list[float] = []
    sizes: Sizes = {}
    for _ in range(draws):
        rates = TRUTHS[name](random, cases)
        old, new = random.binomial(trials, rates), random.binomial(trials, rates)
        laws = laws_of(old, new, trials)
        known = tuple(laws)
        if known not in sizes:
            sizes[known] = smallest_shift(laws, ALPHA, POWER)
        shift = sizes[known]
        befores = random.binomial(trials, rates, (PAIRS, cases))
        most.append(test.share_found(befores, np.zeros_like(befores)))
        if shift is not None:
            nows = random.binomial(trials, np.clip(rates - shift, 0, 1), (PAIRS, cases))
            shares.append(test.share_found(befores, nows))
    if len(shares) < 2:
        return Found(math.nan, math.nan, draws - len(shares), fmean(most))
    return Found(fmean(shares), stdev(shares) / math.sqrt(len(shares)), draws - len(shares), fmean(most))


def _compared(old: Counts, new: Counts, trials: int) -> list[CaseLaw]:
    return laws_of_rows((trials, int(before), trials, int(now)) for before, now in zip(old, new, strict=True))


def _planned(old: Counts, _: Counts, trials: int) -> list[CaseLaw]:
    return laws_of_history([(trials, int(passed)) for passed in old], len(old), trials)


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
