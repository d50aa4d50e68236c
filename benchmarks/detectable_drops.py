"""How often the smallest drop that a comparison or a plan names is really found: it promises four times out of five.

Each draw makes true pass rates, a baseline, a run of an unchanged agent, and the drop that these two name (for a
plan: that the baseline alone names). Then pairs of new runs are drawn. Every rate of the second is lowered by the drop,
but not below 0, and the exact test judges the pair. Errors are those of the mean over draws. Some draws name no drop,
because not even failing everything is found so often. They are left out and counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from benchmarks.agents import SIZES
from benchmarks.findings import Finding
from benchmarks.options import BenchmarkOptions
from evalharness.stats.exact_power import smallest_shift
from evalharness.stats.rate_laws import CaseLaw, laws_of_history, laws_of_rows
from evalharness.stats.stratified import stratified_exact

ALPHA, POWER = 0.05, 0.8
TRIALS = (1, 4, 8)
DRAWS = 300
PAIRS = 20
SEED = 23
Rates = NDArray[np.float64]
Counts = NDArray[np.int64]
LawsOf = Callable[[Counts, Counts, int], list[CaseLaw]]
Sizes = dict[tuple[CaseLaw, ...], float | None]
# The first four were used to choose the method, the last two were not.
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
                    found, error, none = power_at_named_drop(name, cases, trials, draws, laws_of)
                    unnamed = f", none named in {none} of {draws}" if none else ""
                    yield Finding(f"{what}, {cases} × {trials}, {name}{unnamed}", found, None, error)


def power_at_named_drop(name: str, cases: int, trials: int, draws: int, laws_of: LawsOf) -> tuple[float, float, int]:
    """The share found, its standard error, and in how many draws no drop was named."""
    random = np.random.default_rng([SEED, cases, trials, *map(ord, name)])
    shares: list[float] = []
    sizes: Sizes = {}
    for _ in range(draws):
        rates = TRUTHS[name](random, cases)
        old, new = random.binomial(trials, rates), random.binomial(trials, rates)
        laws = laws_of(old, new, trials)
        known = tuple(laws)
        if known not in sizes:
            sizes[known] = smallest_shift(laws, ALPHA, POWER)
        shift = sizes[known]
        if shift is not None:
            lowered = np.clip(rates - shift, 0, 1)
            befores, nows = (
                random.binomial(trials, rates, (PAIRS, cases)),
                random.binomial(trials, lowered, (PAIRS, cases)),
            )
            shares.append(fmean(_is_found(*pair, trials) for pair in zip(befores, nows, strict=True)))
    if len(shares) < 2:
        return math.nan, math.nan, draws - len(shares)
    return fmean(shares), stdev(shares) / math.sqrt(len(shares)), draws - len(shares)


def _compared(old: Counts, new: Counts, trials: int) -> list[CaseLaw]:
    return laws_of_rows((trials, int(before), trials, int(now)) for before, now in zip(old, new, strict=True))


def _planned(old: Counts, _: Counts, trials: int) -> list[CaseLaw]:
    return laws_of_history([(trials, int(passed)) for passed in old], len(old), trials)


def _is_found(before: Counts, now: Counts, trials: int) -> bool:
    kinds = Counter(zip(before.tolist(), now.tolist(), strict=True))
    rows = ((trials, c_old, trials, c_new) for (c_old, c_new), number in kinds.items() for _ in range(number))
    return stratified_exact(rows).p_less <= ALPHA
