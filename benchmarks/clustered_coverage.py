"""How often 95 % intervals hold the true pass^k when tasks differ: clustered Wilson beside Student's t and a bootstrap.

48 settings: four agents, 10 to 100 tasks, and pass^1 of one trial, pass^1 of four, pass^4 of four. Where a task's
estimate is 0 or 1 the coverage is exact; only pass^1 of four trials is drawn. The bootstrap is the one over tasks with
endless resamples, whose law is known. A true rate that lies exactly on an interval's end counts as held.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.agents import AGENTS, SIZES, Agent
from benchmarks.coverage import Bounds, chance
from benchmarks.findings import Finding, rate_error
from benchmarks.options import BenchmarkOptions
from evalharness.stats.intervals import clustered_wilson
from evalharness.stats.means import weighted_mean
from evalharness.stats.student import student_t_quantile

DRAWS = 10_000
SEED = 5
ON_THE_EDGE = 1e-9
TOUCH_MATTERS = 0.005
"""A simulation in floating point loses such ties, so the published figure stands beside the share without them."""
METHODS = ("t", "bootstrap", "clustered Wilson")
KINDS = ((1, 1), (4, 1), (4, 4))
"""Trials per task and k."""
PUBLISHED = {
    ("mean .97", 10, 1, 1): (".248", ".246", ".968"),
    ("mean .97", 20, 4, 1): (".808", ".804", ".972"),
    ("mean .97", 50, 1, 1): (".760", ".756", ".948"),
    ("mean .90", 50, 4, 1): (".921", ".916", ".944"),
    ("mean .90", 20, 4, 4): (".903", ".905", ".982"),
    ("mean .50", 100, 4, 1): (".949", ".944", ".952"),
}
WORST = (".248", ".246", ".938")
BEST = ".993"


@dataclass(frozen=True, slots=True)
class Setting:
    agent: Agent
    tasks: int
    trials: int
    k: int

    @property
    def is_exact(self) -> bool:
        return self.trials == self.k

    @property
    def key(self) -> tuple[str, int, int, int]:
        return self.agent.name, self.tasks, self.trials, self.k

    def __str__(self) -> str:
        return f"{self.agent.name}, {self.tasks} tasks × {self.trials}, pass^{self.k}"


@dataclass(frozen=True, slots=True)
class Held:
    """The share of runs whose interval held the truth, by method; `without_touch`, if its ends did not count.

    `draws` is None where the shares are exact.
    """

    shares: dict[str, float]
    without_touch: dict[str, float]
    draws: int | None


def measure(options: BenchmarkOptions) -> Iterator[Finding]:
    draws = options.scaled(DRAWS)
    settings = [Setting(agent, tasks, *kind) for agent in AGENTS for tasks in SIZES for kind in KINDS]
    found = {setting.key: (setting, held(setting, draws)) for setting in settings}
    for key, published in PUBLISHED.items():
        setting, shares = found[key]
        for method, figure in zip(METHODS, published, strict=True):
            what, share = f"{setting}: {method}", shares.shares[method]
            if abs(share - shares.without_touch[method]) > TOUCH_MATTERS:
                yield _finding(what, share, shares.draws, None)
                what, share = f"{what}, a true rate on an interval's end not counted", shares.without_touch[method]
            yield _finding(what, share, shares.draws, figure)
    for method, figure in zip(METHODS, WORST, strict=True):
        yield _extreme("least", method, found.values(), figure)
    yield _extreme("most", "clustered Wilson", found.values(), BEST)


def _extreme(word: str, method: str, found: Collection[tuple[Setting, Held]], published: str) -> Finding:
    ordered = sorted(found, key=lambda each: each[1].shares[method], reverse=word == "most")
    setting, shares = ordered[0]
    what = f"{word} of {len(found)} settings ({setting}): {method}"
    return _finding(what, shares.shares[method], shares.draws, published)


def _finding(what: str, share: float, draws: int | None, published: str | None) -> Finding:
    return Finding(what, share, published, rate_error(share, draws) if draws else 0.0, rate_error(share))


def held(setting: Setting, draws: int) -> Held:
    truth = setting.agent.pass_hat(setting.k)
    shares, strict = dict.fromkeys(METHODS, 0.0), dict.fromkeys(METHODS, 0.0)
    for counts, weight in outcomes(setting, draws):
        for method, (low, high) in zip(METHODS, bounds(counts, setting.tasks * setting.trials), strict=True):
            shares[method] += weight * (low - ON_THE_EDGE <= truth <= high + ON_THE_EDGE)
            strict[method] += weight * (low + ON_THE_EDGE < truth < high - ON_THE_EDGE)
    return Held(shares, strict, None if setting.is_exact else draws)


def outcomes(setting: Setting, draws: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """How many tasks have each possible estimate (0, …, 1 in equal steps), and how likely that is."""
    if setting.is_exact:  # all k trials of a task pass, or not
        rate, tasks = setting.agent.pass_hat(setting.k), setting.tasks
        yield from (((tasks - passed, passed), chance(tasks, passed, rate)) for passed in range(tasks + 1))
        return
    random = np.random.default_rng([SEED, *map(ord, setting.agent.name), setting.tasks])
    drawn = random.multinomial(setting.tasks, setting.agent.passes(setting.trials), size=draws)
    for counts, times in zip(*np.unique(drawn, axis=0, return_counts=True), strict=True):
        yield tuple(counts.tolist()), float(times) / draws


@cache
def bounds(counts: tuple[int, ...], total_trials: int) -> Sequence[Bounds]:
    """Of the three methods, for so many tasks with each estimate."""
    steps, tasks = len(counts) - 1, sum(counts)
    estimates = [step / steps for step, times in enumerate(counts) for _ in range(times)]
    mean = weighted_mean((step / steps, times) for step, times in enumerate(counts))
    squares = math.fsum(times * (step / steps - mean) ** 2 for step, times in enumerate(counts))
    half = student_t_quantile(0.975, tasks - 1) * math.sqrt(squares / (tasks - 1) / tasks)
    ours = clustered_wilson(estimates, total_trials)
    assert ours is not None
    return (mean - half, mean + half), _bootstrap(counts, steps, tasks), (ours.low, ours.high)


def _bootstrap(counts: tuple[int, ...], steps: int, tasks: int) -> Bounds:
    """The middle 95 % of the mean of as many tasks drawn with replacement: the law of one draw, convolved."""
    width = steps * tasks + 1
    law = np.fft.irfft(np.fft.rfft(np.array(counts) / tasks, 2 * width) ** tasks, 2 * width)[:width]
    low, high = np.searchsorted(np.cumsum(law), [0.025, 0.975])
    return float(low) / (width - 1), float(high) / (width - 1)
