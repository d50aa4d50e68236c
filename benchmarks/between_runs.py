"""How often an unchanged agent is called worse if whole runs share noise, and how much power it costs to detect that.

A run's shock is normal on the scale of log-odds and shared by all its trials. The new run is compared with one run,
with the pool of several, and with several as the harness does it: the largest p of the test over cases and of the t
tests of runs. The distributions of the exact test are computed for all draws at once; they are those of
`stratified_exact`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom  # type: ignore[import-untyped]

from benchmarks.findings import Finding, simulated
from benchmarks.options import BenchmarkOptions
from evalharness.stats.between_runs import RunSpread, one_more_run

ALPHA = 0.05
DRAWS = 20_000
SEED = 17
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """If there are `clusters`, each shares its own shock, which no case declares."""

    shock: float
    runs: int
    drop: float = 0.0
    cases: int = 50
    trials: int = 4
    rate: float = 0.7
    clusters: int = 0

    @property
    def label(self) -> str:
        shared = f"shock {self.shock:g}" if self.shock else "no shock"
        if self.clusters:
            shared = f"{self.clusters} undeclared clusters, shock {self.shock:g}"
        what = f"true drop of {100 * self.drop:.0f} points" if self.drop else "nothing changed"
        return f"{shared}, {self.cases} × {self.trials} at {self.rate:g}, {self.runs} runs, {what}"


SETTINGS = (
    *(Setting(0.3, runs) for runs in (3, 5, 8)),
    *(Setting(0.0, runs) for runs in (3, 5, 8)),
    Setting(0.6, 5),
    Setting(0.6, 5, rate=0.95),
    Setting(0.3, 5, trials=1),
    Setting(0.3, 5, cases=10),
    Setting(0.6, 5, clusters=10),
    *(Setting(shock, runs, drop=0.1) for shock in (0.0, 0.3) for runs in (3, 5, 8)),
)


def measure(options: BenchmarkOptions) -> Iterator[Finding]:
    draws = options.scaled(DRAWS)
    for setting in SETTINGS:
        for rule, rate in alarm_rates(setting, draws).items():
            yield simulated(f"{setting.label}, {draws:,} draws: {rule}", rate, draws)
    for what, falling, drop in (
        ("nothing changed", 0, 0.0),
        ("all 10 points worse", 50, 0.1),
        ("the critical ones 30 points worse", 10, 0.3),
    ):
        for rule, rate in family_findings(draws, drop, falling).items():
            text = f"pass rate and 10 critical of 50 × 4 at 0.7, {what}, {draws:,} draws"
            yield simulated(f"{text}: {rule}", rate, draws)


def alarm_rates(setting: Setting, draws: int) -> dict[str, float]:
    random = np.random.default_rng([SEED, setting.runs, setting.trials, round(100 * setting.drop)])
    old, new = drawn(random, setting, draws)
    n = setting.trials
    one, pool = exact_p(old[:, 0], n, new, n), exact_p(old.sum(1), n * setting.runs, new, n)
    means, now = old.mean(2) / n, new.mean(1) / n
    by_runs = np.array([_p(tuple(each), float(mean), setting) for each, mean in zip(means, now, strict=True)])
    both = np.maximum(pool, by_runs)
    named = (("one run", one), ("pool of the runs, exact test alone", pool), ("**as the harness compares**", both))
    return {rule: float(np.mean(p <= ALPHA)) for rule, p in named}


def _p(before: tuple[float, ...], now: float, setting: Setting) -> float:
    return one_more_run(RunSpread(before, now, setting.cases, is_share=True)).p_less


def family_findings(draws: int, drop: float, falling: int) -> dict[str, float]:
    """How often something is found if the rates of the first `falling` cases are lower; the first ten are critical."""
    random, setting = np.random.default_rng([SEED, falling]), Setting(0.0, 1)
    old, new = drawn(random, setting, draws)
    new[:, :falling] = random.binomial(setting.trials, setting.rate - drop, (draws, falling))
    rate, critical = exact_p(old[:, 0], 4, new, 4), exact_p(old[:, 0, :10], 4, new[:, :10], 4)
    smallest = np.minimum(rate, critical)
    return {
        "the pass rate alone": float(np.mean(rate <= ALPHA)),
        "each with a level of its own": float(np.mean(smallest <= ALPHA)),
        "**Holm over both**": float(np.mean(2 * smallest <= ALPHA)),
    }


def drawn(random: np.random.Generator, setting: Setting, draws: int) -> tuple[Array, Array]:
    """Passes by draw, run and case, and those of the new run."""
    shape = (draws, setting.runs + 1)
    logit = np.log(setting.rate / (1 - setting.rate))
    if setting.clusters:
        shocks = setting.shock * random.standard_normal((*shape, setting.clusters))
        logits = logit + np.repeat(shocks, setting.cases // setting.clusters, axis=2)
    else:
        logits = logit + np.repeat(setting.shock * random.standard_normal((*shape, 1)), setting.cases, axis=2)
    rates = 1 / (1 + np.exp(-logits))
    rates[:, -1] = np.clip(rates[:, -1] - setting.drop, 0, 1)
    passes = random.binomial(setting.trials, rates)
    return passes[:, :-1], passes[:, -1]


@cache
def _log_characters(n_old: int, n_new: int, size: int) -> Array:
    """Logs of the hypergeometric characteristic functions, by the passes of both sides together."""
    angles = 2j * np.pi * np.arange(size) / size
    passes = np.arange(n_new + 1)
    waves = np.exp(np.outer(angles, passes))
    laws = [hypergeom.pmf(passes, n_old + n_new, total, n_new) for total in range(n_old + n_new + 1)]
    return np.array([np.log(waves @ law) for law in laws])


def exact_p(old: Array, n_old: int, new: Array, n_new: int) -> Array:
    """The one-sided p of a loss, for every draw: the sum's distribution over cases from its characteristic function."""
    size = old.shape[1] * n_new + 1
    size += 1 - size % 2  # odd, so that no zero of a characteristic function is hit
    totals = old + new
    kinds = np.stack([(totals == total).sum(1) for total in range(n_old + n_new + 1)], axis=1)
    law = np.clip(np.fft.fft(np.exp(kinds @ _log_characters(n_old, n_new, size)), axis=1).real / size, 0, None)
    return np.minimum(1, np.take_along_axis(np.cumsum(law, axis=1), new.sum(1)[:, None], 1)[:, 0])
