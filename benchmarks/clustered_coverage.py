"""How often 95 % intervals over cases contain the true rate if tasks differ, and how wide they are.

Ours is compared with Student's t, a bootstrap over tasks, and clustered Wilson, which reports used before. There are
48 settings: four agents, 10 to 100 tasks, and pass^1 of one trial, pass^1 of four, pass^4 of four. In ten more, a few
tasks always fail (or pass rates follow Beta(½, ½)): there clustered Wilson fails. Five have equal rates, for the
widths. If a task's estimate is 0 or 1, the coverage is exact; otherwise it is drawn. The bootstrap is the one over
tasks with infinitely many resamples, whose distribution is known. A true rate exactly at an interval's end counts as
contained.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.agents import AGENTS, FEW_TASKS_FAIL, SAME_RATE, SIZES, Law
from benchmarks.coverage import Bounds, chance
from benchmarks.findings import Finding, rate_error
from benchmarks.options import BenchmarkOptions
from evalharness.stats.intervals import bootstrap_plus_one_case
from evalharness.stats.means import weighted_mean
from evalharness.stats.student import student_t_quantile

DRAWS = 10_000
DRAWS_FOR_WIDTHS = 1_000
SEED = 5
ON_THE_EDGE = 1e-9
TOUCH_MATTERS = 0.005
"""A simulation in floating point loses such ties, so the published figure is compared with the share without them."""
METHODS = ("t", "bootstrap", "clustered Wilson", "ours")
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
PROMISED = 0.938
"""What ours must reach in each of the 58 settings."""


@dataclass(frozen=True, slots=True)
class Setting:
    agent: Law
    tasks: int
    trials: int
    k: int

    @property
    def is_exact(self) -> bool:
        """A task's estimate is 0 or 1."""
        return self.trials == self.k

    @property
    def key(self) -> tuple[str, int, int, int]:
        return self.agent.name, self.tasks, self.trials, self.k

    def __str__(self) -> str:
        return f"{self.agent.name}, {self.tasks} tasks × {self.trials}, pass^{self.k}"


@dataclass(frozen=True, slots=True)
class Held:
    """The share of runs whose interval contained the truth, by method; `without_touch` if its ends did not count.

    `widths` has each method's mean width, and the mean of its square. `draws` is None if all of it is exact.
    """

    shares: dict[str, float]
    without_touch: dict[str, float]
    widths: dict[str, tuple[float, float]]
    draws: int | None


def measure(options: BenchmarkOptions) -> Iterator[Finding]:
    draws = options.scaled(DRAWS)
    settings = [Setting(agent, tasks, *kind) for agent in AGENTS for tasks in SIZES for kind in KINDS]
    found = {setting.key: (setting, held(setting, draws)) for setting in settings}
    for key, published in PUBLISHED.items():
        setting, shares = found[key]
        for method, figure in zip(METHODS[:3], published, strict=True):
            what, share = f"{setting}: {method}", shares.shares[method]
            if abs(share - shares.without_touch[method]) > TOUCH_MATTERS:
                yield _finding(what, share, shares.draws, None)
                what, share = f"{what}, a true rate on an interval's end not counted", shares.without_touch[method]
            yield _finding(what, share, shares.draws, figure)
    for method, figure in zip(METHODS[:3], WORST, strict=True):
        yield _extreme("least", method, found.values(), figure)
    yield _extreme("most", "clustered Wilson", found.values(), BEST)
    hard = [(setting, held(setting, draws)) for setting in (Setting(*each, 1) for each in FEW_TASKS_FAIL)]
    everywhere = [*found.values(), *hard]
    for setting, shares in everywhere:
        yield _finding(f"{setting}: ours{_drawn(shares)}", shares.shares["ours"], shares.draws)
    for setting, shares in hard:
        yield _finding(f"{setting}: clustered Wilson{_drawn(shares)}", shares.shares["clustered Wilson"], shares.draws)
    yield _extreme("least", "ours", everywhere)
    yield _extreme("most", "ours", everywhere)
    below = sum(shares.shares["ours"] < PROMISED for _, shares in everywhere)
    yield Finding(f"settings of {len(everywhere)} in which ours covers less than {PROMISED}", below, None)
    for setting in (Setting(*each, 1) for each in SAME_RATE):
        shares = held(setting, options.scaled(DRAWS_FOR_WIDTHS))
        for method in ("clustered Wilson", "ours"):
            width, square = shares.widths[method]
            error = math.sqrt(max(0.0, square - width * width) / (shares.draws or math.inf))
            yield Finding(f"{setting}: {method}, mean width{_drawn(shares)}", width, None, error)


def _drawn(shares: Held) -> str:
    return f", {shares.draws:,} draws" if shares.draws else ""


def _extreme(word: str, method: str, found: Collection[tuple[Setting, Held]], published: str | None = None) -> Finding:
    ordered = sorted(found, key=lambda each: each[1].shares[method], reverse=word == "most")
    setting, shares = ordered[0]
    what = f"{word} of {len(found)} settings ({setting}): {method}"
    return _finding(what, shares.shares[method], shares.draws, published)


def _finding(what: str, share: float, draws: int | None, published: str | None = None) -> Finding:
    return Finding(what, share, published, rate_error(share, draws) if draws else 0.0, rate_error(share))


def held(setting: Setting, draws: int) -> Held:
    truth = setting.agent.pass_hat(setting.k)
    shares, strict = dict.fromkeys(METHODS, 0.0), dict.fromkeys(METHODS, 0.0)
    widths = dict.fromkeys(METHODS, (0.0, 0.0))
    for counts, weight in outcomes(setting, draws):
        for method, (low, high) in zip(METHODS, bounds(counts, setting.tasks * setting.trials), strict=True):
            shares[method] += weight * (low - ON_THE_EDGE <= truth <= high + ON_THE_EDGE)
            strict[method] += weight * (low + ON_THE_EDGE < truth < high - ON_THE_EDGE)
            width, square = widths[method]
            widths[method] = (width + weight * (high - low), square + weight * (high - low) ** 2)
    shares = {method: min(1.0, share) for method, share in shares.items()}  # sums of weights can end one bit too high
    return Held(shares, strict, widths, None if setting.is_exact else draws)


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
    """The intervals of the four methods, for this many tasks with each estimate."""
    steps, tasks = len(counts) - 1, sum(counts)
    estimates = [step / steps for step, times in enumerate(counts) for _ in range(times)]
    mean = weighted_mean((step / steps, times) for step, times in enumerate(counts))
    squares = math.fsum(times * (step / steps - mean) ** 2 for step, times in enumerate(counts))
    half = student_t_quantile(0.975, tasks - 1) * math.sqrt(squares / (tasks - 1) / tasks)
    ours = bootstrap_plus_one_case(estimates, total_trials)
    assert ours is not None
    before = clustered_wilson(mean, squares, tasks, total_trials)
    return (mean - half, mean + half), _bootstrap(counts, steps, tasks), before, (ours.low, ours.high)


def clustered_wilson(mean: float, squares: float, tasks: int, total_trials: int) -> Bounds:
    """Wilson's interval with Student's quantile, and the number of trials that follows from the spread between tasks.

    `squares` is the sum of squared deviations from the mean. If it is 0 the tasks count, else the trials can: one
    failure makes the interval narrower, which is why reports no longer use it.
    """
    n_eff = min(mean * (1 - mean) * tasks * (tasks - 1) / squares, total_trials) if squares > 1e-12 else float(tasks)
    q = student_t_quantile(0.975, tasks - 1) ** 2 / n_eff
    centre, half = mean + q / 2, math.sqrt(q * mean * (1 - mean) + q * q / 4)
    return (centre - half) / (1 + q), (centre + half) / (1 + q)


def _bootstrap(counts: tuple[int, ...], steps: int, tasks: int) -> Bounds:
    """The middle 95 % of the mean of as many tasks drawn with replacement: the distribution of one draw, convolved."""
    width = steps * tasks + 1
    law = np.fft.irfft(np.fft.rfft(np.array(counts) / tasks, 2 * width) ** tasks, 2 * width)[:width]
    low, high = np.searchsorted(np.cumsum(law), [0.025, 0.975])
    return float(low) / (width - 1), float(high) / (width - 1)
