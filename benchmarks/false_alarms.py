"""How often the usual rules for "it got worse" give false alarms, and how often they see a real drop: 50 tasks × 4
trials.

Before and after are drawn from agents like gpt-4o on tau-bench airline. How the published drops were made is not
stated; here every task's pass rate falls by the same share.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.agents import AGENTS, AIRLINE
from benchmarks.findings import Finding, against_simulation, simulated
from benchmarks.options import BenchmarkOptions
from evalharness.stats.intervals import bootstrap_plus_one_case
from evalharness.stats.stratified import stratified_exact
from evalharness.stats.student import normal_quantile

TASKS, TRIALS = 50, 4
ALPHA = 0.05
DRAWS = 4_000
SEED = 11
DROPS = (0.0, 0.05, 0.10, 0.18)
Passes = Sequence[int]
"""Of each task."""


def drops_by(points: int) -> Callable[[Passes, Passes], bool]:
    """In whole trials, so that rounding never causes a drop of exactly this many points."""
    return lambda old, new: 100 * (sum(old) - sum(new)) > points * TASKS * TRIALS


def any_flip(old: Passes, new: Passes) -> bool:
    return any(before == TRIALS and after < TRIALS for before, after in zip(old, new, strict=True))


def unpaired_z(old: Passes, new: Passes) -> bool:
    n = TASKS * TRIALS
    before, after = sum(old) / n, sum(new) / n
    pooled = (before + after) / 2
    error = math.sqrt(2 * pooled * (1 - pooled) / n)
    return before - after > normal_quantile(1 - ALPHA) * error > 0


def intervals_apart(old: Passes, new: Passes) -> bool:
    before, after = (bootstrap_plus_one_case([c / TRIALS for c in passes], TASKS * TRIALS) for passes in (old, new))
    assert before is not None and after is not None
    return after.high < before.low


def exact_test(old: Passes, new: Passes) -> bool:
    rows = ((TRIALS, before, TRIALS, after) for before, after in zip(old, new, strict=True))
    return stratified_exact(rows).p_less <= ALPHA


RULES: dict[str, tuple[Callable[[Passes, Passes], bool], Sequence[str | None]]] = {
    "new mean below old mean": (drops_by(0), (".454", ".88", ".99", "1")),
    "drop of more than 2 points": (drops_by(2), (".303", ".79", ".98", "1")),
    "drop of more than 5 points": (drops_by(5), (".083", ".50", ".88", "1")),
    "any case that always passed fails once": (any_flip, (".969", ".99", "1", "1")),
    "unpaired z on trials": (unpaired_z, (".017", ".22", ".68", "1")),
    "intervals do not overlap": (intervals_apart, (None,) * 4),  # the published ones belong to another interval
    "**exact stratified test, 5 %**": (exact_test, (".039", ".34", ".79", "1")),
}


def measure(options: BenchmarkOptions) -> Iterator[Finding]:
    draws = options.scaled(DRAWS)
    alarms = {drop: alarm_rates(drop, draws) for drop in DROPS}
    for rule, (_, published) in RULES.items():
        for drop, figure in zip(DROPS, published, strict=True):
            what = f"{rule}, {f'true drop of {drop * 100:.0f} points' if drop else 'nothing changed'}"
            yield simulated(what, alarms[drop][rule], draws, figure)
    # Two trials of a task disagree in this order with chance p(1 - p).
    flip = AGENTS[2].pass_hat(1) - AGENTS[2].pass_hat(2)
    what = "any case that always passed fails once, nothing changed, 100 tasks × 1 at 90 %"
    yield against_simulation(what, 1 - (1 - flip) ** 100, ".998")


def alarm_rates(drop: float, draws: int) -> dict[str, float]:
    random = np.random.default_rng([SEED, round(100 * drop)])
    rates = AIRLINE.rates(random, (draws, TASKS))
    old = random.binomial(TRIALS, rates).tolist()
    new = random.binomial(TRIALS, rates * (1 - drop / AIRLINE.pass_hat(1))).tolist()
    return {name: sum(map(rule, old, new)) / draws for name, (rule, _) in RULES.items()}
